package fair_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest/rights"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	rights.AreEnough(t, build)
}

// Its waiters are told nothing, and ask when a lease should have ended.
func TestAUserWithoutTheChannelHasTheLock(t *testing.T) {
	assert.NoError(t, rights.WithoutTheChannel(t, build, "{stock}:turn"))
}

// It would hear of no turn, and might wait forever while other processes are busy.
func TestAUserWithoutTheChannelIsToldWhenItWaits(t *testing.T) {
	err := rights.WaitsWithoutTheChannel(t, build)
	assert.ErrorContains(t, err, "NOPERM")
}
