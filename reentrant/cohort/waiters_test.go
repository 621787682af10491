package cohort

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// The order in which waiters leave and join, are answered and hear of turns is
// nobody's to choose: here it is made by hand.

// atRest runs a test with a client whose subscription looks at nothing.
func atRest(t *testing.T, do func(*testing.T, func(id string) *waiter)) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialed
	do(t, func(id string) *waiter {
		w := join(rdb, "stock", id, time.Second)
		w.sub.pubsub = &redis.PubSub{} // it has one, so it is not begun
		return w
	})
	assert.Empty(t, subscriptions.of, "nothing stays behind")
	assert.NoError(t, rdb.Close())
}

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
		tell(first.sub.rdb, "stock", "second")
		assert.Len(t, second.woken, 1)
		first.sub.hear(&redis.Message{Channel: "stock", Payload: "another's"})
		assert.Empty(t, first.woken)
		first.leave(false)
		second.leave(true)
	})
}
