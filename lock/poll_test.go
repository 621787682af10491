package lock_test

import (
	"context"
	"math"
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

func TestPollAsksAtOnceAndEndsWithTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, asked := time.Now(), 0
		err := lock.Poll(t.Context(), "stock", configure(t),
			func(context.Context) (bool, error) { asked++; return true, nil })
		assert.NoError(t, err)
		assert.Equal(t, 1, asked)
		assert.Zero(t, time.Since(start))
	})
}

func TestPollEndsWithItsContext(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(context.Context) (context.Context, context.CancelFunc)
		cause error
	}{
		{"a deadline", func(ctx context.Context) (
			context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 250*time.Millisecond)
		}, context.DeadlineExceeded},
		{"a canceled context", func(ctx context.Context) (
			context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(250*time.Millisecond, cancel)
			return ctx, cancel
		}, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := c.end(t.Context())
				defer cancel()
				start, asked := time.Now(), 0
				err := lock.Poll(ctx, "stock", configure(t, lock.FixedPoll()),
					func(context.Context) (bool, error) {
						asked++
						return asked == 10, nil // which is too late
					})
				require.ErrorIs(t, err, c.cause)
				assert.EqualError(t, err,
					`wait for "stock": `+c.cause.Error())
				assert.Equal(t, 250*time.Millisecond, time.Since(start),
					"it does not wait for the end of its pause")
				assert.Equal(t, 3, asked, "at 0, 100 and 200 ms")
			})
		})
	}
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
	for _, pause := range pauses(t, 10, lock.FixedPoll(), lock.Parallel()) {
		assert.Equal(t, 10*lock.DefaultPoll, pause)
	}
	var longest time.Duration
	for _, pause := range pauses(t, 2000, lock.Seed(1), lock.Parallel()) {
		longest = max(longest, pause)
	}
	assert.LessOrEqual(t, longest, 10*lock.DefaultPoll)
	assert.Greater(t, longest, 9*lock.DefaultPoll, "it is jitter all the same")
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
