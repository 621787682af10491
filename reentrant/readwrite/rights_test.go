package readwrite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	locktest.RightsAreEnough(t, build)
}

// It gets an error, and the lock is free.
func TestAUserWithoutTheChannelReleasesTheLock(t *testing.T) {
	err := locktest.WithoutTheChannel(t, build, "{stock}:released")
	assert.Error(t, err)
	assert.NotErrorIs(t, err, lock.ErrNotHeld)
}
