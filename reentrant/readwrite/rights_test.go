package readwrite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest/rights"
	"github.com/lockladder/lockladder/lock"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	rights.AreEnough(t, build)
}

// It gets an error, and the lock is free.
func TestAUserWithoutTheChannelReleasesTheLock(t *testing.T) {
	err := rights.WithoutTheChannel(t, build, "{stock}:released")
	assert.Error(t, err)
	assert.NotErrorIs(t, err, lock.ErrNotHeld)
}
