package cohort_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// Two processes take the lock in turn, enter it again, renew it and give up
// waiting. The server's log of what it has denied stays empty.
func TestTheDocumentedRightsAreEnough(t *testing.T) {
	admin, login := locktest.DocumentedRights(t)
	contend(t, handOver(t, admin, login(), login()))
	locktest.AllowsAll(t, admin)
}

// A user without the channel hears of no turn, and its messages are not sent. It
// gets the lock, later, and it releases it.
func TestAUserWithoutTheChannelCanReleaseTheLock(t *testing.T) {
	admin, login := locktest.DocumentedRights(t, "resetchannels")
	handOver(t, admin, login(), login())
	locktest.DeniesOnly(t, admin, "{stock}:turn")
}

// Where it has to wait for longer it is told that it would hear of no turn.
func TestAUserWithoutTheChannelIsToldWhenItWaits(t *testing.T) {
	err := locktest.WaitsWithoutTheChannel(t, lock.On(cohort.New))
	assert.ErrorContains(t, err, "NOPERM")
}

// handOver has a process hand the lock over to another one, and returns two owners
// of each.
func handOver(t *testing.T, admin *redis.Client, clients ...*redis.Client) (
	all []cohort.Fenced) {
	ctx, lease := t.Context(), 600*milli
	for _, rdb := range append(clients, clients...) {
		l, err := cohort.NewFenced(rdb, locktest.Key, lease)
		require.NoError(t, err)
		all = append(all, l)
	}
	// The first one holds the lock until the others have waited for it: one has
	// given up, and then the lease is renewed. Waiting is over when they say so.
	require.NoError(t, all[0].Lock(ctx))
	short, cancel := context.WithTimeout(ctx, lease*2/3)
	defer cancel()
	assert.ErrorIs(t, all[1].Lock(short), context.DeadlineExceeded)
	assert.NoError(t, all[0].Lock(ctx))
	assert.NoError(t, all[0].Unlock(ctx))

	// The other process stands in the queue, and this one has nobody else: its
	// release tells whose turn it is.
	done := make(chan error)
	go func() { done <- errors.Join(all[1].Lock(ctx), all[1].Unlock(ctx)) }()
	require.Eventually(t, func() bool {
		return admin.ZCard(ctx, "{"+locktest.Key+"}:queue").Val() == 1
	}, 10*second, milli)
	assert.NoError(t, all[0].Unlock(ctx))
	assert.NoError(t, <-done)
	return all
}

// contend lets the owners of two processes use the lock: they ask for leases of
// their own.
func contend(t *testing.T, all []cohort.Fenced) {
	ctx, done := t.Context(), make(chan error)
	require.NoError(t, all[0].Lock(ctx))
	for _, l := range all[1:] {
		go func() {
			for range 20 {
				if err := errors.Join(l.Lock(ctx), l.Unlock(ctx)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	assert.NoError(t, all[0].Unlock(ctx))
	for range all[1:] {
		assert.NoError(t, <-done)
	}
}
