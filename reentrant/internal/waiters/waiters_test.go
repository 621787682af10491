package waiters

import (
	"context"
	"errors"
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
			joined = append(joined, Join(rdb, "stock", id, time.Second))
			return joined[len(joined)-1]
		})
		for _, w := range joined {
			if w.queue.owner[w.id] == w {
				w.Leave(true)
			}
		}
		assert.Zero(t, subscriptions.Len(), "nothing stays behind")
	})
}

const aTurn = time.Second / 20

// refused has the waiters asked for, as if by the server.
func refused(all ...*Waiter) {
	for _, w := range all {
		w.Ask(w.id)
		w.Answered(nil, time.Minute, time.Millisecond)
	}
}

// The last waiter of a channel leaves, and others are refused while the subscription
// lingers. Their turn may have been told since, and no confirmation will come.
func TestTheFirstWaiterOfAConfirmedChannelAsksAtOnce(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		other := Join(rdb, "toys", "other", time.Second) // keeps the subscription
		first := join("first")
		refused(first)
		first.listen()
		first.sub.Hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
		assert.Empty(t, first.woken, "its own channel isn't subscribed to")
		first.sub.Hear(&redis.Subscription{Kind: "subscribe", Channel: "stock:other"})
		assert.Len(t, first.woken, 1)
		first.Leave(false)

		second, third := join("second"), join("third")
		refused(second, third)
		third.listen()
		second.listen()
		assert.Len(t, second.woken, 1)
		assert.Empty(t, third.woken, "what it missed is told to it again")
		second.Leave(true)
		third.Leave(false)
		other.Leave(false)
	})
}

// Nobody here will come for that turn. The next question gives it back.
func TestATurnOfNobodyHereIsGivenBack(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		told(first, "second first")
		assert.Empty(t, first.woken)
		told(first, "gone another's")
		assert.Empty(t, first.woken, "it is another process's")
		told(first, "gone first")
		assert.Len(t, first.woken, 1)
		_, vacant, _ := first.Ask("first")
		assert.Equal(t, "gone", vacant)
		first.Answered(nil, time.Minute, time.Millisecond)
		_, vacant, _ = second.Ask("second")
		assert.Empty(t, vacant, "it has been given back")
		second.Answered(nil, time.Minute, time.Millisecond)
	})
}

func TestAMessageWithoutAnOwnerHasOneAskAtOnce(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		told(first, "")
		assert.Len(t, first.woken, 1)
		assert.Empty(t, second.woken)
	})
}

func TestTheWaitersOfAClosedClientAsk(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		first.queue.closed()
		assert.Len(t, first.woken, 1)
		assert.Len(t, second.woken, 1)
	})
}

// The others come while the first one's command is under way. The second command
// names them, and a thousand at most.
func TestThoseThatGiveUpAtOnceLeaveWithOneCommand(t *testing.T) {
	const roundTrip, n = 10 * time.Millisecond, most + 2
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		var sent []int
		began := time.Now()
		var leaving sync.WaitGroup
		for i := range n {
			w := join(strconv.Itoa(i))
			leaving.Go(func() {
				w.GiveUp(aTurn, func(ids []any, _ time.Duration) {
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
		var leaving sync.WaitGroup
		began := time.Now()
		for i := range 3 {
			w := join(strconv.Itoa(i))
			leaving.Go(func() {
				w.GiveUp(aTurn, func(ids []any, within time.Duration) {
					if len(ids) == 1 {
						assert.Equal(t, aTurn, within)
						time.Sleep(within)
						return
					}
					assert.Equal(t, aTurn/2, within)
				})
				if i > 0 {
					assert.Equal(t, aTurn/2, time.Since(began))
				}
			})
			synctest.Wait()
		}
		leaving.Wait()
	})
}

// The first one asks for a thousand others at most; then the next one does.
func TestAQuestionNamesAThousandOwnersAtMost(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		var all []*Waiter
		for i := range most + 2 {
			all = append(all, join(strconv.Itoa(i)))
		}
		behind, _, _ := all[0].Ask("0")
		assert.Len(t, behind, most)
		all[0].Answered(nil, time.Minute, time.Millisecond)
		assert.Len(t, all[most+1].woken, 1)
	})
}

func TestTheFirstAsksForThoseThatComeMeanwhile(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second, third := join("first"), join("second"), join("third")
		assert.True(t, first.Asks())
		assert.False(t, third.Asks())
		behind, _, _ := first.Ask("first")
		assert.Equal(t, []any{"second", "third"}, behind)
		fourth := join("fourth")
		assert.False(t, fourth.Asks())
		third.Leave(false) // it has given up
		assert.Empty(t, fourth.woken, "the first has not been answered")
		assert.Empty(t, first.woken, "it is asking already")

		first.Answered(nil, time.Minute, time.Millisecond)
		assert.Empty(t, second.woken, "the server knows of it")
		assert.Len(t, fourth.woken, 1)
		behind, _, roundTrip := fourth.Ask("fourth")
		assert.Empty(t, behind)
		assert.Equal(t, time.Millisecond, roundTrip)
		fourth.Answered(nil, time.Minute, 2*time.Millisecond)
	})
}

func TestWhenTheFirstIsNotAnsweredTheNextAsks(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second, third := join("first"), join("second"), join("third")
		first.Ask("first")
		first.Answered(errors.New("no answer"), 0, time.Second)
		first.Leave(false)
		assert.Len(t, second.woken, 1)
		assert.Empty(t, third.woken)
		second.Leave(false)
		assert.Len(t, third.woken, 1)
	})
}

// The second one's turn is told before the first one's answer has come.
func TestAWaiterAsksAtItsTurnThoughAnotherAsksForIt(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		first.Ask("first")
		first.sub.Hear(&redis.Message{Channel: "stock", Payload: "second"})
		assert.Len(t, second.woken, 1)
		second.Ask("second")
		first.Answered(nil, time.Minute, time.Millisecond)
		second.Answered(nil, -time.Millisecond, time.Millisecond)
		assert.Empty(t, second.woken)
	})
}

func TestATurnIsToldToOneWaiter(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		Released(t.Context(), rdb, "stock", "", "second", time.Time{}, 2, nil)
		assert.Len(t, second.woken, 1)
		first.sub.Hear(&redis.Message{Channel: "stock", Payload: "another's"})
		assert.Empty(t, first.woken)
	})
}

// The second one asks, and has asked before, as the first one has.
func TestAWaiterThatWasAnsweredIsToldToAskAgain(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		assert.True(t, second.Asks())
		assert.False(t, first.Asks())
		second.Leave(false)
		assert.Len(t, first.woken, 1)
	})
}

func TestThoseThatWaitForTheSameEndAskOneAfterTheOther(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second, third := join("first"), join("second"), join("third")
		first.Ask("first")
		first.Answered(nil, 0, time.Millisecond) // within the millisecond
		assert.Equal(t, time.Millisecond, time.Until(first.due))
		assert.Equal(t, time.Microsecond, second.due.Sub(first.due))
		assert.Equal(t, time.Microsecond, third.due.Sub(second.due))
	})
}

// The first one has the lock now, and the second one waits for the end of its lease.
func TestThoseThatTheGrantedOneAskedForWaitForItsLease(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		first.Ask("first")
		first.Answered(nil, -time.Millisecond, time.Millisecond)
		assert.Equal(t, time.Second+time.Microsecond, time.Until(second.due))
	})
}

// waited is the error with which the waiter's wait ends.
func waited(ctx context.Context, w *Waiter) error {
	_, err := w.Wait(ctx)
	return err
}

// The first one's question is under way when the second one's time has come.
func TestAWaiterGoesOnWaitingWhileAnotherAsks(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		refused(first, second)
		assert.NoError(t, waited(t.Context(), first))
		first.Ask("first")
		ctx, cancel := context.WithTimeout(t.Context(), aTurn)
		defer cancel()
		assert.ErrorIs(t, waited(ctx, second), context.DeadlineExceeded)
		first.Answered(nil, time.Minute, time.Millisecond)
	})
}

// The first one's question hangs. After a turn the second one asks, also for the third.
func TestAQuestionThatHangsHoldsNobodyElseUp(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first := join("first")
		first.Ask("first")
		began := time.Now()
		second, third := join("second"), join("third")
		assert.False(t, second.Asks())
		time.Sleep(time.Millisecond)
		assert.False(t, third.Asks())
		time.Sleep(aTurn - 2*time.Millisecond)
		assert.False(t, third.Asks())
		assert.NoError(t, waited(t.Context(), second))
		assert.Equal(t, aTurn, time.Since(began))
		behind, _, _ := second.Ask("second")
		assert.Equal(t, []any{"third"}, behind)
		assert.False(t, third.Asks(), "the second has just asked")

		time.Sleep(aTurn)
		assert.True(t, third.Asks())
		behind, _, _ = third.Ask("third")
		assert.Empty(t, behind)
		first.Answered(nil, time.Minute, time.Hour) // at last
		assert.Equal(t, time.Millisecond, time.Until(first.due), "it is too old")
		for _, w := range []*Waiter{second, third} {
			w.Answered(nil, time.Minute, time.Millisecond)
			assert.Equal(t, time.Minute+w.after, time.Until(w.due))
		}
	})
}

// The one that finds out that the first one's question hangs is not the next one.
func TestTheNextOneAsksWhoeverFindsAQuestionHanging(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second, third := join("first"), join("second"), join("third")
		first.Ask("first")
		time.Sleep(aTurn)
		assert.False(t, third.Asks())
		assert.Len(t, second.woken, 1)
		assert.False(t, third.Asks(), "the second is about to ask")
		assert.True(t, second.Asks())
	})
}

// The first one's question may hang, and was sent before the subscription stood.
func TestTheConfirmationWakesOneThatIsNotAsking(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		confirm := func() {
			first.sub.Hear(&redis.Subscription{Kind: "subscribe",
				Channel: "stock:first"})
		}
		first.Ask("first")
		confirm()
		assert.Empty(t, first.woken)
		assert.Len(t, second.woken, 1)
		second.Ask("second")
		confirm()
		assert.Len(t, second.woken, 1, "all are asking: it asks once more")
	})
}

// It took longer than the lease.
func TestAnAnswerThatIsTooLateIsNone(t *testing.T) {
	for again, name := range map[time.Duration]string{
		-time.Millisecond: "a grant", time.Second: "a refusal",
	} {
		t.Run(name, func(t *testing.T) {
			atRest(t, func(t *testing.T, join func(string) *Waiter) {
				w := join("first")
				w.Ask("first")
				w.Answered(nil, again, time.Second)
				assert.Equal(t, time.Millisecond, time.Until(w.due))
			})
		})
	}
}

func TestAnOwnerIdIsNamedByTheQuestionsOfOthers(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		first, second := join("first"), join("second")
		assert.False(t, first.IsNamed("first"))
		first.Ask("first")
		assert.True(t, first.IsNamed("first"))
		assert.True(t, second.IsNamed("second"))
		assert.False(t, second.IsNamed("another"))
		third := join("third")
		assert.False(t, third.IsNamed("third"), "it has come later")
	})
}

// A waiter that was refused asks again after a minute, or when somebody else's turn
// is over.
func TestTheFirstLooksAfterTheTurnOfAnotherOne(t *testing.T) {
	const never = time.Minute
	for name, c := range map[string]struct {
		happens func(second *Waiter)
		asks    time.Duration
	}{
		"which has it":       {func(w *Waiter) { w.Leave(true) }, never},
		"which has given up": {func(w *Waiter) { w.Leave(false) }, aTurn},
		"of another process": {func(w *Waiter) { w.Leave(true); told(w, "another's") }, aTurn},
		"which has left":     {func(w *Waiter) { w.Leave(true); told(w, "second") }, aTurn},
		"which is here":      {func(w *Waiter) { told(w, "second"); w.Leave(true) }, never},
		"which is its own":   {func(w *Waiter) { w.Leave(true); told(w, "first") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			atRest(t, func(t *testing.T, join func(string) *Waiter) {
				first, second := join("first"), join("second")
				refused(first, second)
				began := time.Now()
				c.happens(second)
				assert.NoError(t, waited(t.Context(), first))
				assert.Equal(t, c.asks, time.Since(began))
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
			atRest(t, func(t *testing.T, join func(string) *Waiter) {
				w := join("first")
				if c.before {
					told(w, "another's")
					time.Sleep(late)
				}
				w.Ask("first")
				time.Sleep(late)
				if c.during {
					told(w, "another's")
				}
				time.Sleep(late)
				w.Answered(nil, time.Minute, 2*late)
				began := time.Now()
				assert.NoError(t, waited(t.Context(), w))
				assert.Equal(t, c.asks, time.Since(began))
			})
		})
	}
}

// An owner id whose release was sent is not used again, so a later question has another.
func TestTheTurnOfAnEarlierIdWakesNobody(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		w := join("first")
		refused(w)
		w.Ask("second")
		w.Answered(nil, time.Minute, time.Millisecond)
		told(w, "first")
		assert.Empty(t, w.woken)
		told(w, "second")
		assert.Len(t, w.woken, 1)
	})
}

func told(w *Waiter, id string) {
	w.sub.Hear(&redis.Message{Channel: "stock", Payload: id})
}

func TestNewsOfAChannelThatNobodyWaitsOnWakesNobody(t *testing.T) {
	atRest(t, func(t *testing.T, join func(string) *Waiter) {
		w := join("first")
		w.sub.Hear(&redis.Message{Channel: "toys", Payload: "first"})
		Released(t.Context(), rdb, "toys", "", "first", time.Time{}, 2, nil)
		assert.Empty(t, First(rdb, "toys", ""))
		w.sub.Hear(&redis.Subscription{Kind: "subscribe", Channel: "toys"})
		w.sub.Hear(&redis.Subscription{Kind: "unsubscribe", Channel: "stock:first"})
		assert.Empty(t, w.woken)
	})
}

// The answer to the first one's question, which it has asked for the others as well,
// may come while they begin to ask.
func TestWaitersMayAskWhileAnotherIsAnsweredForThem(t *testing.T) {
	subscriptions.AtRest(rdb)
	first := Join(rdb, "stock", "first", time.Minute)
	var others []*Waiter
	for n := range 50 {
		others = append(others, Join(rdb, "stock", strconv.Itoa(n), time.Minute))
	}
	for range 1000 {
		first.Asks()
		for _, w := range others {
			w.Asks()
		}
		behind, _, _ := first.Ask("first")
		assert.Len(t, behind, len(others))
		var asking sync.WaitGroup
		for _, w := range others {
			asking.Go(func() { w.Ask(w.id) })
		}
		first.Answered(nil, time.Minute, time.Millisecond)
		asking.Wait()
		for _, w := range others {
			w.Answered(nil, time.Minute, time.Millisecond)
		}
	}
	for _, w := range append(others, first) {
		w.Leave(true)
	}
	assert.Zero(t, subscriptions.Len(), "nothing stays behind")
}
