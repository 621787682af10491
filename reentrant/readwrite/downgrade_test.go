package readwrite_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// downgrades has a writer read on after an Unlock that the network has refused.
func (o *owner) downgrades(ctx context.Context) {
	require.NoError(o.t, o.Lock.Lock(ctx))
	require.NoError(o.t, o.RLock(ctx))
	o.Step("breaks", func() { o.Always(lab.Fault{Refuse: true}) })
	err := o.Unlock(ctx)
	assert.Error(o.t, err)
	assert.NotErrorIs(o.t, err, lock.ErrNotHeld)
	o.Step("mends", func() { o.Always(lab.Fault{}) })
}

func TestARenewalReleasesTheWriteLockWhoseUnlockWasLost(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b, c := owner("A"), owner("B"), owner("C")
		a.does(0, func(ctx context.Context) {
			a.downgrades(ctx)
			a.at(30 * second)
			assert.False(t, isClosed(a.Lost()), "A has read all the time")
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			require.NoError(t, b.RLock(ctx))
			assert.Equal(t, (ttl / 3).Truncate(100*time.Millisecond), b.now(),
				"A's renewal tells the readers")
			assert.NoError(t, b.RUnlock(ctx))
		})
		c.does(5*second, func(ctx context.Context) {
			require.NoError(t, c.Lock.Lock(ctx))
			assert.Equal(t, 30*second, c.now(), "A reads until then")
			assert.NoError(t, c.Unlock(ctx))
		})
	})
}

func TestAnUnlockThatWasLostMayBeRepeatedByAReader(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			a.downgrades(ctx)
			a.at(second)
			assert.NoError(t, a.Unlock(ctx))
			assert.ErrorIs(t, a.Unlock(ctx), lock.ErrNotHeld)
			a.at(5 * second)
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(2*second, func(ctx context.Context) {
			granted, err := b.TryRLock(ctx)
			assert.True(t, granted)
			assert.NoError(t, err)
			assert.NoError(t, b.RUnlock(ctx))
		})
	})
}

func TestAReaderWhoseUnlockWasLostEntersAgain(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			a.downgrades(ctx)
			a.at(second)
			granted, err := a.TryRLock(ctx)
			assert.True(t, granted)
			assert.NoError(t, err)
			a.at(5 * second)
			assert.False(t, isClosed(a.Lost()))
			assert.NoError(t, a.RUnlock(ctx))
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(100*time.Millisecond, func(ctx context.Context) {
			require.NoError(t, b.RLock(ctx))
			assert.Equal(t, second, b.now(), "A has told the readers")
			assert.NoError(t, b.RUnlock(ctx))
		})
	})
}

// After the downgrade A writes once more: the new write lock is renewed, and not
// released.
func TestARenewalKeepsALaterWriteLock(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			a.downgrades(ctx)
			assert.NoError(t, a.RUnlock(ctx))
			require.NoError(t, a.Lock.Lock(ctx))
			a.at(15 * second)
			assert.NoError(t, a.Unlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			require.NoError(t, b.RLock(ctx))
			assert.Equal(t, 15*second, b.now())
			assert.NoError(t, b.RUnlock(ctx))
		})
	})
}

// A is inside and has lost the lock. It is refused, and it does not wait: it holds
// no reader back.
func TestAWriterThatHasLostTheLockDoesNotWait(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.Lock.Lock(ctx))
			a.Step("deletes", func() {
				rdb := a.Env("").Nodes[0].(*redis.Client)
				go rdb.Del(ctx, "stock")
			})
			a.at(second)
			assert.ErrorIs(t, a.Lock.Lock(ctx), lock.ErrLost)
			a.at(5 * second)
			assert.ErrorIs(t, a.Unlock(ctx), lock.ErrNotHeld)
		})
		b.does(2*second, func(ctx context.Context) {
			granted, err := b.TryRLock(ctx)
			assert.True(t, granted, "nobody writes, and nobody waits")
			assert.NoError(t, err)
			assert.NoError(t, b.RUnlock(ctx))
		})
	})
}
