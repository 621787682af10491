package watchdog_test

import (
	"testing"

	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/internal/locktest/rights"
	"github.com/lockladder/lockladder/lock"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	rights.AreEnough(t, lock.On(watchdog.New))
}
