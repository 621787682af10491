package serverstest

import (
	"os"
	"testing"

	"github.com/lockladder/lockladder/internal/servers"
)

// Need skips a test that starts Redis servers unless Variable asks for servers: such
// tests mostly wait, and go test ./... is to answer soon. A test that was asked for
// fails where redis-server is missing.
func Need(t testing.TB) {
	t.Helper()
	missing := servers.Installed()
	switch {
	case os.Getenv(Variable) == "":
		t.Skipf("it starts servers, which is asked for with %s=%s", Variable, Auto)
	case missing != nil:
		t.Fatalf("%s asks for servers: %v", Variable, missing)
	}
}
