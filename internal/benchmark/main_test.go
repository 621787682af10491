package benchmark

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// TestMain silences the library: tests about failures would look like failures.
func TestMain(m *testing.M) {
	logging.Disable()
	os.Exit(m.Run())
}
