package cohort_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	locktest.RightsAreEnough(t, fenced)
}

// Its waiters hear of no turn, and its messages are not sent. It gets the lock, later.
func TestAUserWithoutTheChannelHasTheLock(t *testing.T) {
	assert.NoError(t, locktest.WithoutTheChannel(t, fenced, "{stock}:turn"))
}

// Where it has to wait for longer it is told that it would hear of no turn.
func TestAUserWithoutTheChannelIsToldWhenItWaits(t *testing.T) {
	err := locktest.WaitsWithoutTheChannel(t, fenced)
	assert.ErrorContains(t, err, "NOPERM")
}
