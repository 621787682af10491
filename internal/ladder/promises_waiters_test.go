package ladder_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// The rungs' promises to a caller of Lock: an error when the network fails, one
// attempt for a release, and no subscription that nobody needs.

func TestLockReturnsErrorsOfTheNetworkAtOnce(t *testing.T) {
	promised(t, every, func(p *promise) {
		var asked time.Duration
		ready(p.a)
		for i := range p.rung.Nodes {
			p.a.Fails(lab.Acquire, 1+i, lab.Fault{Refuse: true})
		}
		p.a.Looks(func() { asked = p.Now() }).Does(func() {
			assert.Error(p.t, p.a.Acquire(p.Context()))
			assert.Less(p.t, p.Now()-asked, time.Second)
		})
	})
}

// The second waiter of a process may wait for the first, and not for the server.
func TestLockSaysThatItWaited(t *testing.T) {
	promised(t, listening, func(p *promise) {
		waits := func(waiter *locktest.Owner, patience time.Duration) {
			waiter.Does(func() {
				ctx, cancel := context.WithTimeout(p.Context(), patience)
				defer cancel()
				err := waiter.Acquire(ctx)
				assert.ErrorIs(p.t, err, context.DeadlineExceeded)
				assert.ErrorContains(p.t, err, `wait for "stock"`)
			})
		}
		p.a.Locks()
		waits(p.b.At(time.Second), time.Second)
		waits(p.Owner("B2").At(1100*time.Millisecond), 600*time.Millisecond)
	})
}

// The command with which it leaves the queue may still be on its way.
func TestTheOwnerIdThatLeftTheQueueIsNotUsedAgain(t *testing.T) {
	promised(t, queuing, func(p *promise) {
		p.a.Section(3 * time.Second)
		var drawn int
		p.b.At(time.Second).GivesUp(time.Second).
			Does(func() { drawn = p.tokens }).Section(0).
			Does(func() { assert.Equal(p.t, drawn+1, p.tokens) })
	})
}

func TestAnAttemptWhoseContextHasEndedIsNotGranted(t *testing.T) {
	promised(t, every, func(p *promise) {
		p.a.Does(func() {
			ctx, cancel := context.WithCancel(p.Context())
			cancel()
			granted, err := p.a.Lock.TryLock(ctx)
			assert.False(p.t, granted)
			assert.ErrorIs(p.t, err, context.Canceled)
		})
		p.b.At(time.Second).Section(0).Since(time.Second)
	})
}

// Three goroutines of a process wait. A release is news for one of them, and its
// acquisition is none for the others.
func TestAReleaseMakesOneWaiterAsk(t *testing.T) {
	promised(t, rousing, func(p *promise) {
		p.a.Section(5 * time.Second).Works(2 * time.Second).Looks(func() {
			assert.Len(p.t, p.sends("B", 0, "EVALSHA acquire.lua", 5*time.Second), 1)
		})
		for _, name := range []string{"B1", "B2", "B3"} {
			p.Owner(name).At(time.Second).Section(3 * time.Second)
		}
	})
}

// The server reports less than a millisecond as none. A waiter that took that for
// no wait at all would ask without a pause, and one that took it for a lock
// without a lease would wait for another lease.
func TestAWaiterWaitsForTheLastMillisecond(t *testing.T) {
	promised(t, listening, func(p *promise) {
		p.a.Locks()
		p.b.At(lease - 300*time.Microsecond).Locks().Looks(func() {
			assert.GreaterOrEqual(p.t, p.Now(), lease)
			assert.Less(p.t, p.Now(), lease+2*time.Millisecond)
			assert.LessOrEqual(p.t, len(p.sends("B", 0, "EVALSHA acquire.lua", 0)), 3)
		}).Unlocks()
	}, lock.FixedLease())
}

// No message will come any more. Each waiter is told by the driver.
func TestAWaiterOfAClientThatIsClosedIsToldAtOnce(t *testing.T) {
	promised(t, listening, func(p *promise) {
		p.a.Locks()
		for _, name := range []string{"B1", "B2", "B3"} {
			waiter := p.Owner(name)
			waiter.At(time.Second).Does(func() {
				assert.ErrorIs(p.t, waiter.Acquire(p.Context()), redis.ErrClosed)
				assert.Less(p.t, p.Now(), 3200*time.Millisecond)
			})
		}
		p.b.At(3 * time.Second).Does(func() { assert.NoError(p.t, p.b.Redis().Close()) })
	})
}

// A process that has one waiter at a time subscribes once.
func TestASubscriptionIsKeptForTheNextWaiter(t *testing.T) {
	promised(t, listening, func(p *promise) {
		for _, at := range []time.Duration{0, 2 * time.Second, 4 * time.Second} {
			p.a.At(at).Locks().Works(time.Second).Unlocks()
			p.b.At(at + 500*time.Millisecond).Section(0)
		}
		p.Owner("C").At(6 * time.Second).Looks(func() {
			assert.Len(p.t, p.sends("B", 0, "SUBSCRIBE", 0), 1)
		})
		p.Play()
	})
}

// A channel on which nobody has waited for some seconds is left, while others are
// waited on.
func TestOnlyChannelsThatAreWaitedOnAreSubscribed(t *testing.T) {
	promised(t, listening, func(p *promise) {
		listeners := func(stock, toys int64) func() {
			return func() {
				for key, want := range map[string]int64{"stock": stock,
					"toys": toys} {
					channel := lock.SecondKey(key, "released")
					if queuing(p.rung) {
						channel = lock.SecondKey(key, "turn")
					}
					n, err := p.a.Redis().PubSubNumSub(p.Context(), channel).Result()
					assert.NoError(p.t, err)
					assert.Equal(p.t, want, n[channel], "at %v: %s", p.Now(), key)
				}
			}
		}
		p.OwnerOf("toys", "A1").Locks().At(11 * time.Second).Unlocks()
		p.a.Locks().
			At(2 * time.Second).Does(listeners(1, 1)).
			At(4 * time.Second).Does(listeners(1, 1)). // one gave up at 3 s
			At(7 * time.Second).Does(listeners(1, 1)). // and the other one at 5 s
			At(9 * time.Second).Does(listeners(0, 1)).
			At(11 * time.Second).Does(listeners(1, 1)). // one waits again
			Unlocks().At(15 * time.Second).Does(listeners(0, 0))
		p.Owner("B1").At(time.Second).GivesUp(2 * time.Second)
		p.Owner("B2").At(time.Second).GivesUp(4 * time.Second)
		p.Owner("B3").At(10 * time.Second).Section(0)
		p.OwnerOf("toys", "B4").At(time.Second).Section(0)
	})
}

// The promises of the rungs whose waiters stand in a queue at the server: whose turn
// it is, and what becomes of the turn of a waiter that has left.

func TestADeadWaiterCostsOneTurn(t *testing.T) {
	for name, comes := range map[string]time.Duration{
		"others wait for their turn": 2500 * time.Millisecond,
		"others come in its turn":    3100 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			promised(t, queuing, func(p *promise) {
				p.a.Section(3 * time.Second)
				p.b.At(time.Second).Locks()
				p.b.CrashesAt(2 * time.Second)
				p.Owner("C").At(comes).Section(time.Second).
					Since(3*time.Second + lease/20)
				p.Serves("A", "C")
			})
		})
	}
}

func TestTryLockDoesNotQueue(t *testing.T) {
	promised(t, queuing, func(p *promise) {
		p.a.Section(3 * time.Second)
		p.b.At(time.Second).Tries(false)
		p.Owner("C").At(2 * time.Second).Section(time.Second).
			Since(3 * time.Second)
		p.Serves("A", "C")
	})
}

// B's network is slow when its turn comes. Neither Lock nor TryLock overtakes it.
func TestNobodyOvertakesTheOwnerThatHasTheTurn(t *testing.T) {
	promised(t, queuing, func(p *promise) {
		p.b.Hold(2900*time.Millisecond, 3300*time.Millisecond, nil)
		p.a.Section(3 * time.Second)
		p.b.At(time.Second).Section(time.Second).Since(3300 * time.Millisecond)
		p.Owner("C").At(3100 * time.Millisecond).Section(time.Second)
		p.Owner("D").At(3200 * time.Millisecond).Tries(false)
		p.Serves("A", "B", "C")
	})
}

// B's turn is told before its subscription stands. It asks once more when that is
// confirmed.
func TestATurnThatWasToldTooEarlyIsNotMissed(t *testing.T) {
	promised(t, queuing, func(p *promise) {
		p.a.Section(time.Second)
		p.b.At(500*time.Millisecond).
			Fails(lab.Acquire, 2, lab.Fault{Deliver: 2 * time.Second}). // SUBSCRIBE
			Section(time.Second).Since(2 * time.Second)
		p.Play()
	})
}
