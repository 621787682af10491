package lock_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
)

// Time is virtual in all tests of this file: a wait costs nothing, and what is
// measured is exact.

func configure(t *testing.T, opts ...lock.Option) *lock.Options {
	o, err := lock.Configure(nodes(t, 1), "stock", 10*time.Second, opts)
	require.NoError(t, err)
	return o
}

// pauses polls a lock that refuses n times, and tells how long each pause was.
// A pause of no time counts as well, or such polling would never end.
func pauses(t *testing.T, n int, opts ...lock.Option) []time.Duration {
	var all []time.Duration
	synctest.Test(t, func(t *testing.T) {
		var attempts []time.Time
		err := lock.Poll(t.Context(), "stock", configure(t, opts...),
			func(context.Context) (bool, error) {
				attempts = append(attempts, time.Now())
				return len(attempts) > n, nil
			})
		require.NoError(t, err)
		for i := range n {
			all = append(all, attempts[i+1].Sub(attempts[i]))
		}
	})
	return all
}

func TestPollEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(250*time.Millisecond, cancel)
		start, asked := time.Now(), 0
		err := lock.Poll(ctx, "stock", configure(t, lock.FixedPoll()),
			func(context.Context) (bool, error) {
				asked++
				return asked == 10, nil // which is too late
			})
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 250*time.Millisecond, time.Since(start),
			"it does not wait for the end of its pause")
		assert.Equal(t, 3, asked, "at 0, 100 and 200 ms")
	})
}

func TestJitterIsFull(t *testing.T) {
	all := pauses(t, 2000, lock.Seed(1))
	var sum time.Duration
	for _, pause := range all {
		require.Positive(t, pause, "no waiter asks twice in one instant")
		require.LessOrEqual(t, pause, lock.DefaultPoll)
		sum += pause
	}
	mean := sum / time.Duration(len(all))
	assert.InDelta(t, 50, mean.Milliseconds(), 5, "half of the longest pause")
}

func TestSeededJitterIsReproducible(t *testing.T) {
	first := pauses(t, 100, lock.Seed(7))
	assert.Equal(t, first, pauses(t, 100, lock.Seed(7)))
	assert.NotEqual(t, first, pauses(t, 100, lock.Seed(8)))
	assert.NotEqual(t, first, pauses(t, 100))
}

func TestParallelPausesTenTimesAsLong(t *testing.T) {
	longest := slices.Max(pauses(t, 2000, lock.Seed(1), lock.Parallel()))
	assert.InDelta(t, 10*lock.DefaultPoll, longest, float64(lock.DefaultPoll))
}

// Pauses of centuries don't overflow.
func TestTheLongestPauseIsStillOneWhenItIsTenTimesAsWide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := lock.Poll(ctx, "stock", configure(t, lock.Parallel(),
			lock.PollEvery(math.MaxInt64)),
			func(context.Context) (bool, error) { return false, nil })
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
