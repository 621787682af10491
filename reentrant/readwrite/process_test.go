package readwrite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
)

// Readers of one process wait together: one asks for all of them.

// neighbor is another owner of the same process.
func (o *owner) neighbor(name string) *owner {
	return &owner{Client: o.Client, env: o.EnvOf(name, "stock"), t: o.t, w: o.w,
		ttl: o.ttl}
}

// reads takes the lock at a moment, and returns when it had it.
func (o *owner) reads(ctx context.Context, from, work time.Duration) time.Duration {
	o.at(from)
	assert.NoError(o.t, o.RLock(ctx))
	since := o.now()
	o.Sleep(work)
	assert.NoError(o.t, o.RUnlock(ctx))
	return since
}

// writes holds the write lock from the start until a moment.
func (o *owner) writes(until time.Duration) {
	o.does(0, func(ctx context.Context) {
		require.NoError(o.t, o.Lock.Lock(ctx))
		o.at(until)
		assert.NoError(o.t, o.Unlock(ctx))
	})
}

func TestAReaderBehindOthersOfItsProcessSendsNothing(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.writes(3 * second)
		asked := func() (n int) {
			for _, e := range w.Timeline() {
				if e.Client == "B" && strings.Contains(e.Text, " read.lua ") {
					n++
				}
			}
			return n
		}
		for n := range 5 {
			b := b.neighbor(fmt.Sprint("B", n+1))
			from := second + time.Duration(n)*100*time.Millisecond
			b.does(0, func(ctx context.Context) {
				assert.Equal(t, 3*second, b.reads(ctx, from, second))
			})
		}
		b.does(2900*time.Millisecond, func(context.Context) {
			b.Step("looks", func() {
				assert.Equal(t, 2, asked(), "the first, at once and when it listens")
			})
		})
		w.Play()
		assert.Equal(t, 7, asked())
	})
}

func TestAReaderThatGivesUpLeavesOthersOfItsProcessInTheQueue(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.writes(3 * second)
		b.does(second, func(ctx context.Context) {
			assert.ErrorIs(t, b.RLock(within(ctx, second)),
				context.DeadlineExceeded)
		})
		c := b.neighbor("B2")
		c.does(0, func(ctx context.Context) {
			assert.Equal(t, 3*second, c.reads(ctx, 1500*time.Millisecond, second))
		})
	})
}

// A writes until 2 s. B then reads until 5 s, and C until 6 s: the answer to C takes a
// second. W waits for both of them. D comes while C waits for its answer, joins it, and
// gets in behind W: if D could read along with C, readers that keep coming would keep W
// out.
func TestAReaderDoesNotPassByAWriterWithTheOthersOfItsProcess(t *testing.T) {
	const milli = time.Millisecond
	distant(t, 10*milli, func(w *lab.World, owner func(string) *owner) {
		a, b, writer := owner("A"), owner("B"), owner("W")
		a.writes(2 * second)
		writer.does(1500*milli, func(ctx context.Context) {
			require.NoError(t, writer.Lock.Lock(ctx))
			assert.Equal(t, 6*second, writer.now(), "C has left")
			writer.at(7 * second)
			assert.NoError(t, writer.Unlock(ctx))
		})
		c, d := b.neighbor("B2"), b.neighbor("B3")
		b.does(0, func(ctx context.Context) {
			assert.Equal(t, 2*second, b.reads(ctx, second, 3*second))
		})
		c.does(0, func(ctx context.Context) {
			assert.Equal(t, 3*second, c.reads(ctx, 1100*milli, 3*second))
		})
		d.does(0, func(ctx context.Context) {
			assert.Equal(t, 7*second, d.reads(ctx, 2500*milli, second))
		})
		writer.Hold(2035*milli, 2200*milli, nil) // B comes first
		b.Hold(2065*milli, 3*second, nil)
	})
}
