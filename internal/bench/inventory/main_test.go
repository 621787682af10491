package inventory

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockladder/lockladder/internal/locktest"
)

// TestMain silences the library: tests about failures would look like failures.
func TestMain(m *testing.M) {
	logging.Disable()
	locktest.CollectLess()
	os.Exit(m.Run())
}
