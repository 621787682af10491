package watchdog_test

import (
	"testing"

	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/lock"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	serverstest.AreEnough(t, lock.On(watchdog.New))
}
