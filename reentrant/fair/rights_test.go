package fair_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/servers/serverstest"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	serverstest.AreEnough(t, build)
}

// Its waiters are told nothing, and ask when a lease should have ended.
func TestAUserWithoutTheChannelHasTheLock(t *testing.T) {
	assert.NoError(t, serverstest.WithoutTheChannel(t, build, "{stock}:turn"))
}

// It would hear of no turn, and might wait forever while other processes are busy.
func TestAUserWithoutTheChannelIsToldWhenItWaits(t *testing.T) {
	err := serverstest.WaitsWithoutTheChannel(t, build)
	assert.ErrorContains(t, err, "NOPERM")
}
