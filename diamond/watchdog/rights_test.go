package watchdog_test

import (
	"testing"

	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	locktest.RightsAreEnough(t, lock.On(watchdog.New))
}
