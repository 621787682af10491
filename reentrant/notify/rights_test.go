package notify_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/notify"
)

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	locktest.RightsAreEnough(t, build)
}

var build = lock.On(notify.New)

// It gets an error, and the lock is free.
func TestAUserWithoutTheChannelReleasesTheLock(t *testing.T) {
	err := locktest.WithoutTheChannel(t, build, "{stock}:released")
	assert.Error(t, err)
	assert.NotErrorIs(t, err, lock.ErrNotHeld)
}
