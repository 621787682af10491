package readwrite_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// Here are the effects of an Unlock on other owners' leases, and on waiters.

// A's lease keeps the set of readers, and B is still a member of it.
func TestAReaderWhoseLeaseHasEndedIsToldByItsUnlock(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b, c := owner("A"), owner("B"), owner("C")
		b.ttl = 2 * second
		b.env.Options = append(b.env.Options, lock.FixedLease())
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			a.at(5 * second)
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(0, func(ctx context.Context) {
			require.NoError(t, b.RLock(ctx))
			require.NoError(t, b.RLock(ctx))
			b.at(4 * second)
			assert.ErrorIs(t, b.RUnlock(ctx), lock.ErrNotHeld)
		})
		c.does(5*second+second/2, func(ctx context.Context) {
			granted, err := c.TryLock(ctx)
			assert.True(t, granted, "nobody reads")
			assert.NoError(t, err)
			assert.NoError(t, c.Unlock(ctx))
		})
	})
}

func TestALevelThatAReaderLeavesBeginsItsLeaseAnew(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.env.Options = append(a.env.Options, lock.FixedLease())
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			require.NoError(t, a.RLock(ctx))
			a.at(8 * second)
			assert.NoError(t, a.RUnlock(ctx))
			a.Crash()
		})
		b.does(9*second, func(ctx context.Context) {
			require.NoError(t, b.Lock.Lock(ctx))
			assert.Equal(t, 8*second+ttl, b.now())
			assert.NoError(t, b.Unlock(ctx))
		})
	})
}

func TestAWriterThatGivesUpTellsReadersElsewhere(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b, c := owner("A"), owner("B"), owner("C")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			a.at(8 * second)
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			assert.ErrorIs(t, b.Lock.Lock(within(ctx, 3*second)),
				context.DeadlineExceeded)
		})
		c.does(2*second, func(ctx context.Context) {
			require.NoError(t, c.RLock(ctx))
			assert.Equal(t, 4*second, c.now())
			assert.NoError(t, c.RUnlock(ctx))
		})
	})
}

// A writer and a reader wait. One that leaves others reading tells nobody, and the last
// one tells the writer: the reader would be refused.
func TestAReaderThatLeavesTellsOnlyWhoCanGetIn(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		for i, name := range []string{"A", "B"} {
			o := owner(name)
			o.does(0, func(ctx context.Context) {
				require.NoError(t, o.RLock(ctx))
				o.at(time.Duration(3+i) * second)
				assert.NoError(t, o.RUnlock(ctx))
			})
		}
		c, d := owner("C"), owner("D")
		c.does(second, func(ctx context.Context) {
			require.NoError(t, c.Lock.Lock(ctx))
			assert.Equal(t, 4*second, c.now())
			c.at(5 * second)
			assert.NoError(t, c.Unlock(ctx))
		})
		d.does(2*second, func(ctx context.Context) {
			require.NoError(t, d.RLock(ctx))
			assert.Equal(t, 5*second, d.now())
			asked := map[string]int{}
			for _, e := range w.Timeline() {
				if e.At >= 3*second {
					for _, script := range []string{"acquire.lua", "read.lua"} {
						asked[script] += strings.Count(e.Text, "EVALSHA "+script)
					}
				}
			}
			assert.Equal(t, map[string]int{"acquire.lua": 1, "read.lua": 1}, asked)
			assert.NoError(t, d.RUnlock(ctx))
		})
	})
}
