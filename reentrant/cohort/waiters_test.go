package cohort

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// The order in which waiters leave and join, are answered and hear of turns is
// nobody's to choose: here it is made by hand.

// atRest runs a test with a client whose subscription looks at nothing.
func atRest(t *testing.T, do func(*testing.T, func(id string) *waiter)) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialed
		do(t, func(id string) *waiter {
			w := join(rdb, "stock", id, time.Second)
			w.sub.pubsub = &redis.PubSub{} // it has one, so it is not begun
			return w
		})
		assert.Empty(t, subscriptions.of, "nothing stays behind")
		assert.NoError(t, rdb.Close())
	})
}

const aTurn = time.Second / 20

// refused has the waiters asked for, as if by the server.
func refused(all ...*waiter) {
	for _, w := range all {
		w.ask(w.id)
		w.answered(nil, time.Minute, time.Millisecond)
	}
}

// The last waiter of a channel leaves, and another one is refused before the
// subscription has left the channel. No confirmation will come for it, so it must
// ask at once: its turn may have been told since.
func TestAWaiterOfAConfirmedChannelAsksAtOnce(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first := join("first")
		other := first.sub
		enlist(other.rdb) // keeps the subscription
		refused(first)
		first.listen()
		assert.Empty(t, first.woken)
		other.hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
		assert.Len(t, first.woken, 1)
		first.leave(false)

		second, third := join("second"), join("third")
		refused(second, third)
		second.listen()
		third.listen()
		assert.Len(t, second.woken, 1)
		assert.Empty(t, third.woken, "what it missed is told to it again")
		second.leave(true)
		third.leave(false)
		other.delist()
	})
}

func TestTheFirstAsksForThoseThatComeMeanwhile(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second, third := join("first"), join("second"), join("third")
		assert.True(t, first.asks())
		assert.False(t, third.asks())
		behind, _ := first.ask("first")
		assert.Equal(t, []any{"second", "third"}, behind)
		fourth := join("fourth")
		assert.False(t, fourth.asks())
		third.leave(false) // it has given up
		assert.Empty(t, fourth.woken, "the first has not been answered")
		assert.Empty(t, first.woken, "it is asking already")

		first.answered(nil, time.Minute, time.Millisecond)
		assert.Empty(t, second.woken, "the server knows of it")
		assert.Len(t, fourth.woken, 1)
		behind, trip := fourth.ask("fourth")
		assert.Empty(t, behind)
		assert.Equal(t, time.Millisecond, trip)
		fourth.answered(nil, time.Minute, 2*time.Millisecond)
		for _, w := range []*waiter{first, second, fourth} {
			w.leave(true)
		}
	})
}

func TestWhenTheFirstIsNotAnsweredTheNextAsks(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second, third := join("first"), join("second"), join("third")
		first.ask("first")
		first.answered(errors.New("no answer"), 0, time.Second)
		first.leave(false)
		assert.Len(t, second.woken, 1)
		assert.Empty(t, third.woken)
		second.leave(false)
		assert.Len(t, third.woken, 1)
		third.leave(false)
	})
}

// The second one's turn is told before the first one's answer has come.
func TestAWaiterAsksAtItsTurnThoughAnotherAsksForIt(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second := join("first"), join("second")
		first.ask("first")
		first.sub.hear(&redis.Message{Channel: "stock", Payload: "second"})
		assert.Len(t, second.woken, 1)
		second.ask("second")
		first.answered(nil, time.Minute, time.Millisecond)
		second.answered(nil, -time.Millisecond, time.Millisecond)
		assert.Empty(t, second.woken)
		second.leave(true)
		first.leave(true)
	})
}

func TestATurnIsToldToOneWaiter(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		tell(first.sub.rdb, "stock", "second", time.Time{})
		assert.Len(t, second.woken, 1)
		first.sub.hear(&redis.Message{Channel: "stock", Payload: "another's"})
		assert.Empty(t, first.woken)
		first.leave(false)
		second.leave(true)
	})
}

// The second one asks, and has asked before, as the first one has.
func TestAWaiterThatWasAnsweredIsToldToAskAgain(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		assert.True(t, second.asks())
		assert.False(t, first.asks())
		second.leave(false)
		assert.Len(t, first.woken, 1)
		first.leave(true)
	})
}

func TestThoseThatWaitForTheSameEndAskOneAfterTheOther(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second, third := join("first"), join("second"), join("third")
		first.ask("first")
		first.answered(nil, 0, time.Millisecond) // within the millisecond
		assert.Equal(t, time.Millisecond, time.Until(first.due))
		assert.Equal(t, time.Microsecond, second.due.Sub(first.due))
		assert.Equal(t, time.Microsecond, third.due.Sub(second.due))
		for _, w := range []*waiter{first, second, third} {
			w.leave(true)
		}
	})
}

// The first one has the lock now, and the second one waits for the end of its lease.
func TestThoseThatTheGrantedOneAskedForWaitForItsLease(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second := join("first"), join("second")
		first.ask("first")
		first.answered(nil, -time.Millisecond, time.Millisecond)
		assert.Equal(t, time.Second+time.Microsecond, time.Until(second.due))
		first.leave(true)
		second.leave(true)
	})
}

// waited is the error with which the waiter's wait ends.
func waited(ctx context.Context, w *waiter) error {
	_, err := w.wait(ctx)
	return err
}

// The first one's question is under way when the second one's time has come.
func TestAWaiterGoesOnWaitingWhileAnotherAsks(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		assert.NoError(t, waited(t.Context(), first))
		first.ask("first")
		ctx, cancel := context.WithTimeout(t.Context(), aTurn)
		defer cancel()
		assert.ErrorIs(t, waited(ctx, second), context.DeadlineExceeded)
		first.answered(nil, time.Minute, time.Millisecond)
		first.leave(true)
		second.leave(true)
	})
}

// The first one's question hangs. After a turn the second one asks, also for the third.
func TestAQuestionThatHangsHoldsNobodyElseUp(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first := join("first")
		first.ask("first")
		began := time.Now()
		second, third := join("second"), join("third")
		assert.False(t, second.asks())
		time.Sleep(time.Millisecond)
		assert.False(t, third.asks())
		time.Sleep(aTurn - 2*time.Millisecond)
		assert.False(t, third.asks())
		assert.NoError(t, waited(t.Context(), second))
		assert.Equal(t, aTurn, time.Since(began))
		behind, _ := second.ask("second")
		assert.Equal(t, []any{"third"}, behind)
		assert.False(t, third.asks(), "the second has just asked")

		time.Sleep(aTurn)
		assert.True(t, third.asks())
		behind, _ = third.ask("third")
		assert.Empty(t, behind)
		first.answered(nil, time.Minute, time.Hour) // at last
		assert.Equal(t, time.Millisecond, time.Until(first.due), "it is too old")
		for _, w := range []*waiter{second, third} {
			w.answered(nil, time.Minute, time.Millisecond)
			assert.Equal(t, time.Minute+w.after, time.Until(w.due))
		}
		for _, w := range []*waiter{first, second, third} {
			w.leave(true)
		}
	})
}

// The one that finds out that the first one's question hangs is not the next one.
func TestTheNextOneAsksWhoeverFindsAQuestionHanging(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second, third := join("first"), join("second"), join("third")
		first.ask("first")
		time.Sleep(aTurn)
		assert.False(t, third.asks())
		assert.Len(t, second.woken, 1)
		assert.False(t, third.asks(), "the second is about to ask")
		assert.True(t, second.asks())
		for _, w := range []*waiter{first, second, third} {
			w.leave(true)
		}
	})
}

// The first one's question may hang, and was sent before the subscription stood.
func TestTheConfirmationWakesOneThatIsNotAsking(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second := join("first"), join("second")
		confirm := func() {
			first.sub.hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
		}
		first.ask("first")
		confirm()
		assert.Empty(t, first.woken)
		assert.Len(t, second.woken, 1)
		second.ask("second")
		confirm()
		assert.Len(t, second.woken, 1, "all are asking: it asks once more")
		first.leave(true)
		second.leave(true)
	})
}

// It took longer than the lease.
func TestAnAnswerThatIsTooLateIsNone(t *testing.T) {
	for again, name := range map[time.Duration]string{
		-time.Millisecond: "a grant", time.Second: "a refusal",
	} {
		t.Run(name, func(t *testing.T) {
			atRest(t, func(t *testing.T, join func(string) *waiter) {
				w := join("first")
				w.ask("first")
				w.answered(nil, again, time.Second)
				assert.Equal(t, time.Millisecond, time.Until(w.due))
				w.leave(true)
			})
		})
	}
}

func TestAnOwnerIdIsNamedByTheQuestionsOfOthers(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		first, second := join("first"), join("second")
		assert.False(t, first.isNamed("first"))
		first.ask("first")
		assert.True(t, first.isNamed("first"))
		assert.True(t, second.isNamed("second"))
		assert.False(t, second.isNamed("another"))
		third := join("third")
		assert.False(t, third.isNamed("third"), "it has come later")
		for _, w := range []*waiter{first, second, third} {
			w.leave(true)
		}
	})
}

// A waiter that was refused asks again after a minute, or when somebody else's turn
// is over.
func TestTheFirstLooksAfterTheTurnOfAnotherOne(t *testing.T) {
	const never = time.Minute
	for name, c := range map[string]struct {
		happens func(second *waiter)
		asks    time.Duration
	}{
		"which has it":       {func(w *waiter) { w.leave(true) }, never},
		"which has given up": {func(w *waiter) { w.leave(false) }, aTurn},
		"of another process": {func(w *waiter) { w.leave(true); told(w, "another's") }, aTurn},
		"which has left":     {func(w *waiter) { w.leave(true); told(w, "second") }, aTurn},
		"which is here":      {func(w *waiter) { told(w, "second"); w.leave(true) }, never},
		"which is its own":   {func(w *waiter) { w.leave(true); told(w, "first") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			atRest(t, func(t *testing.T, join func(string) *waiter) {
				first, second := join("first"), join("second")
				refused(first, second)
				began := time.Now()
				c.happens(second)
				assert.NoError(t, waited(t.Context(), first))
				assert.Equal(t, c.asks, time.Since(began))
				first.leave(true)
			})
		})
	}
}

// A turn that is told while a question is under way: the answer may not know of it.
func TestATurnThatIsToldDuringAQuestionIsWatched(t *testing.T) {
	const late = 10 * time.Millisecond
	for name, c := range map[string]struct {
		before, during bool
		asks           time.Duration
	}{
		"none was":   {false, false, time.Minute},
		"before it":  {true, false, time.Minute},
		"during it":  {false, true, aTurn - late},
		"both times": {true, true, aTurn - late},
	} {
		t.Run(name, func(t *testing.T) {
			atRest(t, func(t *testing.T, join func(string) *waiter) {
				w := join("first")
				if c.before {
					told(w, "another's")
					time.Sleep(late)
				}
				w.ask("first")
				time.Sleep(late)
				if c.during {
					told(w, "another's")
				}
				time.Sleep(late)
				w.answered(nil, time.Minute, 2*late)
				began := time.Now()
				assert.NoError(t, waited(t.Context(), w))
				assert.Equal(t, c.asks, time.Since(began))
				w.leave(true)
			})
		})
	}
}

// An owner id whose release was sent is not used again, so a later question has another.
func TestTheTurnOfAnEarlierIdWakesNobody(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		w := join("first")
		refused(w)
		w.ask("second")
		w.answered(nil, time.Minute, time.Millisecond)
		told(w, "first")
		assert.Empty(t, w.woken)
		told(w, "second")
		assert.Len(t, w.woken, 1)
		w.leave(true)
	})
}

func told(w *waiter, id string) {
	w.sub.hear(&redis.Message{Channel: "stock", Payload: id})
}

func TestNewsOfAChannelThatNobodyWaitsOnWakesNobody(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *waiter) {
		w := join("first")
		w.sub.hear(&redis.Message{Channel: "toys", Payload: "first"})
		tell(w.sub.rdb, "toys", "first", time.Time{})
		assert.Empty(t, first(w.sub.rdb, "toys"))
		w.sub.hear(&redis.Subscription{Kind: "subscribe", Channel: "toys"})
		w.sub.hear(&redis.Subscription{Kind: "unsubscribe", Channel: "stock"})
		assert.Empty(t, w.woken)
		w.leave(false)
	})
}

// A channel is subscribed to once. After its last waiter has left, the next one
// needs a confirmation of its own.
func TestTheSubscriptionFollowsTheWaiters(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	join := func(channel string) *waiter {
		return join(rdb, channel, "id", time.Second)
	}
	stock, subscribed := join("stock"), map[string]bool{}
	s := stock.sub
	assert.Empty(t, s.changes(subscribed), "nobody was refused")
	s.pubsub = rdb.Subscribe(t.Context())
	stock.listen()
	assert.Nil(t, s.subscribe(t.Context(), subscribed), "nothing to try again")
	assert.Equal(t, map[string]bool{"stock": true}, subscribed)
	s.hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
	toys := join("toys")
	toys.listen()
	assert.Equal(t, map[string]bool{"toys": true}, s.changes(subscribed))
	stock.leave(false)
	assert.Equal(t, map[string]bool{"toys": true, "stock": false},
		s.changes(subscribed))
	stock = join("stock")
	stock.listen()
	assert.Empty(t, stock.woken, "a confirmation is to come")
	stock.leave(false)
	toys.leave(false)
	assert.NoError(t, s.pubsub.Close())
	assert.NoError(t, rdb.Close())
}

// Whoever closes the client while a lock waits gets the driver's error from Lock.
// The subscription must not look for messages any more.
func TestTheSubscriptionEndsWithItsClient(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
	s := &subscription{rdb: rdb, pubsub: rdb.Subscribe(ctx), end: end,
		queues: map[string]*queue{}}
	assert.NoError(t, s.pubsub.Close())
	s.run(ctx)
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	assert.NoError(t, rdb.Close())
}
