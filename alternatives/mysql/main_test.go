package mysql_test

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

type connection = net.Conn

// missing skips a test whose server is not installed, and fails it where stores
// are asked for.
func missing(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, servers.ErrMissing) {
		if os.Getenv("LOCKLADDER_STORES") == "" {
			t.Skip(err)
		}
		t.Fatalf("LOCKLADDER_STORES asks for stores: %v", err)
	}
	require.NoError(t, err)
}
