package fair_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	locktest.RightsAreEnough(t, build)
}

// Its waiters are told nothing, and ask when a lease should have ended.
func TestAUserWithoutTheChannelHasTheLock(t *testing.T) {
	assert.NoError(t, locktest.WithoutTheChannel(t, build, "{stock}:turn"))
}

// It would hear of no turn, and might wait forever while other processes are busy.
func TestAUserWithoutTheChannelIsToldWhenItWaits(t *testing.T) {
	err := locktest.WaitsWithoutTheChannel(t, build)
	assert.ErrorContains(t, err, "NOPERM")
}
