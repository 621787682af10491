package ladder_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
)

// What the rungs promise a caller of Lock: an error when the network fails, one
// attempt for a release, and no subscription that nobody needs.

func TestLockReturnsErrorsOfTheNetworkAtOnce(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			p.a.Go(func() {
				p.a.ready(t)
				var asked time.Duration
				p.a.Step("breaks", func() {
					asked = p.Now()
					p.a.Begin(lab.Acquire)
					for i := range max(rung.Nodes, 1) {
						p.a.Fault(lab.Acquire, 1+i, lab.Fault{Refuse: true})
					}
				})
				err := p.a.Lock.Lock(context.Background())
				assert.Error(t, err)
				p.a.Step("looks", func() {
					assert.Less(t, p.Now()-asked, time.Second)
				})
			})
		})
	})
}

func TestLockSaysThatItWaited(t *testing.T) {
	rouses(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			p.a.Go(func() { assert.NoError(t, p.a.Lock.Lock(context.Background())) })
			p.b.Go(func() {
				p.b.Sleep(time.Second)
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				err := p.b.Lock.Lock(ctx)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorContains(t, err, `wait for "stock"`)
			})
		})
	})
}

// attempts counts a client's attempts to take the lock since a moment.
func (p *promise) attempts(client string, since time.Duration) int {
	n := 0
	for _, e := range p.Timeline() {
		if e.Client == client && e.At >= since &&
			strings.HasPrefix(e.Text, "EVALSHA acquire.lua") {
			n++
		}
	}
	return n
}

// Three goroutines of a process wait. A release is news for one of them, and its
// acquisition is none for the others.
func TestAReleaseMakesOneWaiterAsk(t *testing.T) {
	rouses(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			p.a.Go(func() {
				assert.NoError(t, p.a.Lock.Lock(ctx))
				p.a.Sleep(5 * time.Second)
				assert.NoError(t, p.a.Unlock(ctx))
				p.a.Sleep(2 * time.Second)
				p.a.Step("looks", func() {
					assert.Equal(t, 1, p.attempts("B", 5*time.Second))
				})
			})
			for _, l := range []lock.Lock{p.b.Lock, p.b.another(), p.b.another()} {
				p.b.Go(func() {
					p.b.Sleep(time.Second)
					assert.NoError(t, l.Lock(ctx))
					p.b.Sleep(3 * time.Second)
					assert.NoError(t, l.Unlock(ctx))
				})
			}
		})
	})
}

// The server reports less than a millisecond as none. A waiter that took that for
// no wait at all would ask without a pause, and one that took it for a lock
// without a lease would wait for another lease.
func TestAWaiterWaitsForTheLastMillisecond(t *testing.T) {
	rouses(t, func(t *testing.T, rung ladder.Rung) {
		fixed := []lock.Option{lock.FixedLease()}
		promised(t, rung, fixed, func(p *promise) {
			ctx := context.Background()
			p.a.Go(func() { assert.NoError(t, p.a.Lock.Lock(ctx)) })
			p.b.Go(func() {
				p.b.Sleep(lease - 300*time.Microsecond)
				assert.NoError(t, p.b.Lock.Lock(ctx))
				p.b.Step("is in", func() {
					assert.Less(t, p.Now(), lease+2*time.Millisecond)
					assert.LessOrEqual(t, p.attempts("B", 0), 3)
				})
				assert.NoError(t, p.b.Unlock(ctx))
			})
		})
	})
}

// A channel on which nobody waits is left, while others are waited on.
func TestOnlyChannelsThatAreWaitedOnAreSubscribed(t *testing.T) {
	rouses(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			a := p.a.Env("stock").Nodes[0]
			listeners := func(key string) int64 {
				channel := lock.Beside(key, "released")
				n, err := a.PubSubNumSub(ctx, channel).Result()
				assert.NoError(t, err)
				return n[channel]
			}
			of := func(o *owner, key string) lock.Lock {
				l, err := rung.Build(o.Env(key))
				assert.NoError(t, err)
				return l
			}
			stock, toys := of(p.a, "stock"), of(p.a, "toys")
			p.a.Go(func() {
				assert.NoError(t, stock.Lock(ctx))
				assert.NoError(t, toys.Lock(ctx))
				p.a.Sleep(2 * time.Second)
				assert.EqualValues(t, 1, listeners("stock"))
				assert.EqualValues(t, 1, listeners("toys"))
				p.a.Sleep(2 * time.Second) // a waiter for stock gives up at 3 s
				assert.EqualValues(t, 1, listeners("stock"), "one waits still")
				p.a.Sleep(2 * time.Second) // and the other one at 5 s
				assert.Zero(t, listeners("stock"))
				assert.EqualValues(t, 1, listeners("toys"))
				p.a.Sleep(3 * time.Second) // at 8 s one waits again
				assert.EqualValues(t, 1, listeners("stock"))
				assert.NoError(t, stock.Unlock(ctx))
				assert.NoError(t, toys.Unlock(ctx))
				p.a.Sleep(time.Second)
				assert.Zero(t, listeners("stock"))
				assert.Zero(t, listeners("toys"))
			})
			waits := func(l lock.Lock, from, patience time.Duration, granted bool) {
				p.b.Go(func() {
					p.b.Sleep(from)
					ctx, cancel := context.WithTimeout(ctx, patience)
					defer cancel()
					err := l.Lock(ctx)
					assert.Equal(t, granted, err == nil, "%v", err)
					if granted {
						assert.NoError(t, l.Unlock(ctx))
					}
				})
			}
			waits(of(p.b, "stock"), time.Second, 2*time.Second, false)
			waits(of(p.b, "stock"), time.Second, 4*time.Second, false)
			waits(of(p.b, "stock"), 8*time.Second, lease, true)
			waits(of(p.b, "toys"), time.Second, 2*lease, true)
		})
	})
}
