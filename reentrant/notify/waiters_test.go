package notify

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// The order in which a waiter leaves, another one joins and the subscription
// looks at both is nobody's to choose: here it is made by hand.

// atRest runs a test with a client whose subscription looks at nothing.
func atRest(t *testing.T, do func(*testing.T, *redis.Client)) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialed
	subscriptions.AtRest(rdb)
	do(t, rdb)
	assert.Zero(t, subscriptions.Len(), "nothing stays behind")
	assert.NoError(t, rdb.Close())
}

// The last waiter of a channel leaves, and another one joins before the
// subscription has left the channel. No confirmation will come for it, so it must
// ask at once: the lock may have been released since it was refused.
func TestTheFirstWaiterOnAConfirmedChannelAsksAtOnce(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		first, other := join(rdb, "stock"), join(rdb, "toys")
		first.sub.Hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
		assert.Len(t, first.woken, 1)
		assert.Empty(t, other.woken)
		first.leave(false)

		second, third := join(rdb, "stock"), join(rdb, "stock")
		assert.Len(t, second.woken, 1)
		assert.Empty(t, third.woken, "what it missed has woken the second one")
		second.leave(true)
		assert.Empty(t, third.woken, "the second one has the lock")
		third.leave(false)
		other.leave(false)
	})
}

// A waiter that was woken may take long to ask. Messages that come meanwhile are
// for the others.
func TestMessagesWakeTheWaitersInTurn(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		first, second := join(rdb, "stock"), join(rdb, "stock")
		release := func() { first.sub.Hear(&redis.Message{Channel: "stock"}) }
		release()
		assert.Len(t, first.woken, 1)
		<-first.woken
		release()
		assert.Empty(t, first.woken, "it asks already")
		assert.Len(t, second.woken, 1)
		release()
		assert.Len(t, first.woken, 1)
		<-second.woken
		release()
		assert.Len(t, second.woken, 1)
		<-second.woken
		release()
		assert.Len(t, second.woken, 1, "the first one has not even looked")
		first.leave(true)
		second.leave(true)
	})
}
