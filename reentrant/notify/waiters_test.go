package notify

import (
	"container/list"
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// The order in which a waiter leaves, another one joins and the subscription
// looks at both is nobody's to choose: here it is made by hand.

// atRest runs a test with a client whose subscription looks at nothing.
func atRest(t *testing.T, do func(*testing.T, *redis.Client)) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialed
	subscriptions.of[rdb] = &subscription{rdb: rdb, end: func() {},
		changed: make(chan struct{}, 1), queues: map[string]*list.List{},
		confirmed: map[string]bool{}}
	do(t, rdb)
	assert.Empty(t, subscriptions.of, "nothing stays behind")
	assert.NoError(t, rdb.Close())
}

// The last waiter of a channel leaves, and another one joins before the
// subscription has left the channel. No confirmation will come for it, so it must
// ask at once: the lock may have been released since it was refused.
func TestTheFirstWaiterOnAConfirmedChannelAsksAtOnce(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		first, other := join(rdb, "stock"), join(rdb, "toys")
		first.sub.hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
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

// A waiter that leaves without the lock may have been the only one to hear of the
// release.
func TestAWaiterThatGivesUpWakesTheNext(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		first, second := join(rdb, "stock"), join(rdb, "stock")
		first.sub.hear(&redis.Message{Channel: "stock"})
		assert.Len(t, first.woken, 1)
		assert.Empty(t, second.woken)
		first.leave(false)
		assert.Len(t, second.woken, 1)
		second.leave(false)
	})
}

// A waiter that was woken may take long to ask. What comes meanwhile is for the
// others.
func TestMessagesWakeTheWaitersInTurn(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		first, second := join(rdb, "stock"), join(rdb, "stock")
		release := func() { first.sub.hear(&redis.Message{Channel: "stock"}) }
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

// The last waiter of a channel may leave while a message or a confirmation is on
// its way.
func TestNewsOfAChannelThatNobodyWaitsOnWakesNobody(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		w := join(rdb, "toys")
		w.sub.hear(&redis.Message{Channel: "stock"})
		w.sub.hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
		w.sub.hear(&redis.Subscription{Kind: "unsubscribe", Channel: "toys"})
		assert.Empty(t, w.woken)
		w.leave(false)
	})
}

// A channel is subscribed to once. After its last waiter has left, the next one
// needs a confirmation of its own.
func TestTheSubscriptionFollowsTheWaiters(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	s := &subscription{rdb: rdb, pubsub: rdb.Subscribe(t.Context()), end: func() {},
		changed: make(chan struct{}, 1), queues: map[string]*list.List{},
		confirmed: map[string]bool{}}
	subscriptions.of[rdb] = s
	stock, subscribed := join(rdb, "stock"), map[string]bool{}
	assert.True(t, s.subscribe(t.Context(), subscribed), "nothing to try again")
	assert.Equal(t, map[string]bool{"stock": true}, subscribed)
	s.hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
	toys := join(rdb, "toys")
	assert.Equal(t, map[string]bool{"toys": true}, s.changes(subscribed))
	stock.leave(false)
	assert.Equal(t, map[string]bool{"toys": true, "stock": false},
		s.changes(subscribed))
	stock = join(rdb, "stock")
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
		queues: map[string]*list.List{}}
	assert.NoError(t, s.pubsub.Close())
	s.run(ctx)
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	assert.NoError(t, rdb.Close())
}
