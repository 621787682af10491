package readwrite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/readwrite"
)

const lease = 600 * time.Millisecond

// used lets two owners take the lock, enter it again, renew it, give up waiting,
// read, and hand it over. It returns what the holder's Unlock and RUnlock say.
func used(t *testing.T, rdb *redis.Client) error {
	ctx := t.Context()
	a, err := readwrite.New(rdb, "stock", lease)
	require.NoError(t, err)
	b, err := readwrite.New(rdb, "stock", lease)
	require.NoError(t, err)
	require.NoError(t, a.Lock(ctx))
	short, cancel := context.WithTimeout(ctx, lease*2/3) // a renewal's time
	defer cancel()
	assert.ErrorIs(t, b.Lock(short), context.DeadlineExceeded)
	assert.NoError(t, a.Lock(ctx))
	assert.NoError(t, a.Unlock(ctx))
	granted := make(chan error)
	go func() { granted <- b.Lock(ctx) }()
	assert.NoError(t, a.RLock(ctx), "the writer may read")
	downgraded := a.Unlock(ctx)
	time.Sleep(lease / 2) // a renewal's time
	released := a.RUnlock(ctx)
	assert.NoError(t, <-granted)
	b.Unlock(ctx)
	return errors.Join(downgraded, released)
}

func TestTheDocumentedRightsAreEnough(t *testing.T) {
	admin, login := serverstest.Rights(t)
	assert.NoError(t, used(t, login()))
	serverstest.AllowsAll(t, admin)
}

// It gets an error, and the lock is free.
func TestAUserWithoutTheChannelReleasesTheLock(t *testing.T) {
	admin, login := serverstest.Rights(t, "resetchannels")
	err := used(t, login())
	assert.Error(t, err)
	assert.NotErrorIs(t, err, lock.ErrNotHeld)
	assert.Zero(t, admin.Exists(t.Context(), "stock").Val())
	serverstest.DeniesOnly(t, admin, "{stock}:released")
}
