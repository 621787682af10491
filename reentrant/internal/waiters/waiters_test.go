package waiters

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// The order in which waiters leave and join, are answered and hear of turns is
// nobody's to choose: here it is made by hand.

var rdb = redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialed

// atRest runs a test with a client whose subscription looks at nothing. Those
// that still wait at the end leave with the lock.
func atRest(t *testing.T, do func(*testing.T, func(id string) *Waiter)) {
	synctest.Test(t, func(t *testing.T) {
		subscriptions.AtRest(rdb)
		var joined []*Waiter
		do(t, func(id string) *Waiter {
			w := Join(rdb, "stock", time.Second)
			assert.Equal(t, aTurn, w.Asks(id))
			joined = append(joined, w)
			return w
		})
		for _, w := range joined {
			if w.queue.named[w.id] == w {
				w.Leave(true)
			}
		}
		assert.Zero(t, subscriptions.Len(), "nothing stays behind")
	})
}

const aTurn = time.Second / 20

func told(w *Waiter, message string) {
	w.sub.Hear(&redis.Message{Channel: "stock", Payload: message})
}

func confirmed(w *Waiter) {
	w.sub.Hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
}

func TestATurnIsToldToOneWaiter(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		told(first, "second 50")
		assert.Empty(t, first.woken)
		assert.Len(t, second.woken, 1)
	})
}

// An owner id whose release was sent is not used again, so a later question has another.
func TestTheTurnOfAnEarlierIdWakesNobody(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		w := join("first")
		w.Asks("second")
		told(w, "first 50")
		assert.Empty(t, w.woken)
		told(w, "second 50")
		assert.Len(t, w.woken, 1)
	})
}

// The last waiter of a channel leaves, and others are refused while the subscription
// lingers. Their turn may have been told since, and no confirmation will come.
func TestTheFirstWaiterOfAConfirmedChannelAsksAtOnce(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		other := Join(rdb, "toys", time.Second) // keeps the subscription
		first := join("first")
		first.refused()
		assert.Empty(t, first.woken)
		confirmed(first)
		assert.Len(t, first.woken, 1)
		first.Leave(false)

		second, third := join("second"), join("third")
		third.refused()
		second.refused()
		assert.Len(t, second.woken, 1)
		assert.Empty(t, third.woken, "what it missed is told to it again")
		second.Leave(true)
		assert.Empty(t, third.woken)
		third.Leave(false)
		other.Leave(false)
	})
}

func TestAWaiterThatLeavesWithoutTheLockWakesTheNext(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second, third := join("first"), join("second"), join("third")
		first.Leave(false)
		assert.Len(t, second.woken, 1)
		assert.Empty(t, third.woken)
	})
}

// The first one's question may hang, with news that it doesn't see.
func TestTheNewsGoToOneThatHasNone(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		confirmed(first)
		confirmed(first)
		assert.Len(t, first.woken, 1)
		assert.Len(t, second.woken, 1)
	})
}

func TestTheWaitersOfAClosedClientAsk(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		first.queue.wakeAll()
		assert.Len(t, first.woken, 1)
		assert.Len(t, second.woken, 1)
	})
}

// A waiter that was refused asks again after a minute, or when a turn is over.
func TestTheFirstAsksWhenATurnIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(second *Waiter)
		asks    time.Duration
	}{
		"that nobody has":     {func(*Waiter) {}, time.Minute},
		"of another process":  {func(w *Waiter) { told(w, "another's 50") }, aTurn},
		"of a neighbor":       {func(w *Waiter) { told(w, "second 70") }, 70 * time.Millisecond},
		"that was taken here": {func(w *Waiter) { told(w, "second 50"); w.Leave(true) }, time.Minute},
		"that was told twice": {func(w *Waiter) {
			told(w, "another's 50")
			time.Sleep(10 * time.Millisecond)
			told(w, "another's 40")
		}, aTurn},
		"that is its own": {func(w *Waiter) { told(w, "first 50") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			atRest(t, func(t *testing.T, join func(string) *Waiter) {
				first, second := join("first"), join("second")
				began := time.Now()
				c.happens(second)
				assert.NoError(t, first.Wait(t.Context(), time.Until(began.Add(time.Minute))))
				assert.Equal(t, c.asks, time.Since(began).Truncate(time.Millisecond))
			})
		})
	}
}

// A waiter's round trip is measured at its refusals.
func TestATurnIsLongerForAFarProcess(t *testing.T) {
	for trip, turn := range map[time.Duration]time.Duration{
		time.Millisecond: aTurn, aTurn: 5 * aTurn, time.Second: time.Second / 3,
	} {
		atRest(t, func(t *testing.T, join func(string) *Waiter) {
			w := join("first")
			time.Sleep(trip)
			assert.NoError(t, w.Wait(t.Context(), time.Millisecond))
			assert.Equal(t, turn, w.Asks("first"))
		})
	}
}

func TestAWaiterThatGivesUpDoesNotAsk(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		w := join("first")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		told(w, "first 50")
		assert.ErrorIs(t, w.Wait(ctx, time.Minute), context.Canceled)
	})
}

// The others come while the first one's command is under way. The second command
// names them, and a thousand at most.
func TestThoseThatGiveUpAtOnceLeaveWithOneCommand(t *testing.T) {
	const roundTrip, n = 5 * time.Millisecond, most + 2
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		var sent []int
		began := time.Now()
		var leaving sync.WaitGroup
		for i := range n {
			w := join(strconv.Itoa(i))
			leaving.Go(func() {
				w.GiveUp(t.Context(), func(_ context.Context, ids []any) {
					sent = append(sent, len(ids)) // one after the other
					time.Sleep(roundTrip)
				})
			})
			if i == 0 {
				synctest.Wait()
			}
		}
		leaving.Wait()
		assert.Equal(t, []int{1, most, 1}, sent)
		assert.Equal(t, 3*roundTrip, time.Since(began))
	})
}

// The first one's command hangs. The next is sent all the same, in time.
func TestACommandThatHangsHoldsNobodyElseUpThatGivesUp(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		var sent []int
		var leaving sync.WaitGroup
		began := time.Now()
		for i := range 3 {
			w := join(strconv.Itoa(i))
			leaving.Go(func() {
				w.GiveUp(t.Context(), func(ctx context.Context, ids []any) {
					sent = append(sent, len(ids))
					<-ctx.Done()
				})
			})
			synctest.Wait()
		}
		leaving.Wait()
		assert.Equal(t, []int{1, 2}, sent)
		assert.LessOrEqual(t, time.Since(began), aTurn)
	})
}
