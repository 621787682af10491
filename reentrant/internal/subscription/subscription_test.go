package subscription

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
)

// The order in which waiters come and go and the subscription looks at both is
// nobody's to choose: here it is made by hand.

// heard is a set whose queues are names, and what they were told.
func heard() (*Set[string], *[]string) {
	var news []string
	return &Set[string]{
		Told: func(q, payload string) {
			news = append(news, q+" is told "+payload)
		},
		Confirmed: func(q, channel string) {
			news = append(news, q+" is confirmed on "+channel)
		},
		Closed: func(q string) { news = append(news, q+" is closed") },
	}, &news
}

// wait puts a waiter on a channel.
func wait(s *Subscription[string], channel string) (confirmed bool) {
	s.set.Enlist(s.rdb)
	s.Lock()
	defer s.Unlock()
	s.Queues[channel] = "queue of " + channel
	return s.Listen(channel)
}

func leave(s *Subscription[string], channel string) {
	s.Delist()
	s.Lock()
	defer s.Unlock()
	s.Leave(channel)
}

// A channel is subscribed to once, and kept for the next waiter for a while. One that
// comes after that needs a confirmation of its own.
func TestTheSubscriptionFollowsTheWaiters(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	set, news := heard()
	s := set.AtRest(rdb)
	s.pubsub, s.sweeps = rdb.Subscribe(t.Context()), time.NewTimer(0)
	subscribed := map[string]bool{}
	looks := func() {
		assert.Nil(t, s.subscribe(t.Context(), subscribed), "nothing to try again")
	}
	confirm := func(channel string) {
		s.Hear(&redis.Subscription{Kind: "subscribe", Channel: channel})
	}

	assert.False(t, wait(s, "stock"))
	looks()
	assert.Equal(t, map[string]bool{"stock": true}, subscribed)
	confirm("stock")
	assert.True(t, s.Listen("stock"))
	assert.Equal(t, []string{"queue of stock is confirmed on stock"}, *news)

	wait(s, "toys")
	wait(s, "cars")
	join, left := s.differences(subscribed)
	assert.Equal(t, []string{"cars", "toys"}, join)
	assert.Empty(t, left)
	join, _ = s.differences(subscribed)
	assert.Empty(t, join, "only what has changed is looked at")
	s.changes("toys")
	s.changes("cars")
	leave(s, "cars") // not confirmed
	leave(s, "stock")
	s.left["stock"] = s.left["stock"].Add(-linger)
	assert.True(t, wait(s, "stock"), "the channel has not been left")
	s.sweep()
	leave(s, "stock")
	s.sweep()
	looks()
	assert.Equal(t, map[string]bool{"stock": true, "toys": true}, subscribed)
	s.left["stock"] = s.left["stock"].Add(-linger)
	s.sweep()
	looks()
	assert.Equal(t, map[string]bool{"toys": true}, subscribed)
	assert.False(t, wait(s, "stock"), "a confirmation is to come")
	leave(s, "stock")
	leave(s, "toys")
	assert.Zero(t, set.Len(), "nothing stays behind")
	assert.NoError(t, s.pubsub.Close())
	assert.NoError(t, rdb.Close())
}

func TestWaitersOfOneClientShareASubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials, others atomic.Int64
		client := func(dials *atomic.Int64) *redis.Client {
			rdb := redis.NewClient(&redis.Options{
				MaintNotificationsConfig: &maintnotifications.Config{
					Mode: maintnotifications.ModeDisabled},
				Dialer: func(context.Context, string, string) (net.Conn, error) {
					dials.Add(1)
					return nil, errors.New("nobody is there")
				}})
			t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
			return rdb
		}
		set, _ := heard()
		one, other := client(&dials), client(&others)
		s := set.Enlist(one)
		assert.Same(t, s, set.Enlist(one))
		assert.NotSame(t, s, set.Enlist(other))
		assert.Equal(t, 2, set.Len())
		set.AtRest(other).Listen("stock")

		s.Listen("stock")
		synctest.Wait()
		first := dials.Load()
		assert.NotZero(t, first)
		time.Sleep(2 * again)
		assert.Greater(t, dials.Load(), first, "it tries again")
		s.Delist()
		assert.Equal(t, 2, set.Len(), "one still waits")
		s.Delist()
		assert.Equal(t, 1, set.Len())
		time.Sleep(again)
		first = dials.Load()
		time.Sleep(time.Minute)
		assert.Equal(t, first, dials.Load(), "nobody waits")
		assert.Zero(t, others.Load(), "the other one is at rest")
	})
}

// The last waiter of a channel may leave while a message or a confirmation is on
// its way.
func TestNewsOfAChannelThatNobodyWaitsOnIsToldToNobody(t *testing.T) {
	set, news := heard()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialed
	s := set.AtRest(rdb)
	wait(s, "toys")
	s.Hear(&redis.Message{Channel: "stock"})
	s.Hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
	s.Hear(&redis.Subscription{Kind: "unsubscribe", Channel: "toys"})
	assert.Empty(t, *news)
	assert.False(t, wait(s, "stock"), "nobody waited when it was confirmed")
	leave(s, "stock")
	s.Hear(&redis.Message{Channel: "toys", Payload: "all"})
	assert.Equal(t, []string{"queue of toys is told all"}, *news)
	leave(s, "toys")
	assert.NoError(t, rdb.Close())
}

// A channel that was never confirmed may be denied: the server says so when it is sent
// a message.
func TestAChannelThatIsNotConfirmedIsAskedAbout(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	set, _ := heard()
	s := set.AtRest(rdb)
	s.pubsub = rdb.Subscribe(t.Context())
	denied := func(within time.Duration) error {
		return s.Denied(t.Context(), "stock", within)
	}
	wait(s, "stock")
	assert.NoError(t, denied(-1), "the server was not asked for it")
	s.subscribe(t.Context(), map[string]bool{})
	assert.NoError(t, denied(-1), "the server takes the message")
	server.SetError("NOPERM no permissions to access a channel")
	assert.ErrorContains(t, denied(-1), "NOPERM")
	assert.NoError(t, denied(time.Minute), "it may still be confirmed")
	s.rdb = redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: func(
		ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done() // for the driver's five seconds
		return nil, ctx.Err()
	}})
	began := time.Now()
	assert.NoError(t, denied(-1), "the server doesn't say")
	assert.Less(t, time.Since(began), 2*patience)
	assert.NoError(t, s.rdb.Close())
	s.Hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
	assert.NoError(t, denied(-1), "it is confirmed")
	leave(s, "stock")
	assert.NoError(t, s.pubsub.Close())
	assert.NoError(t, rdb.Close())
}

// A caller that closes the client while a lock waits gets the driver's error
// from Lock. The subscription must not look for messages any more.
func TestTheSubscriptionEndsWithItsClient(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
	set, news := heard()
	s := set.AtRest(rdb)
	s.pubsub, s.end, s.sweeps = rdb.Subscribe(ctx), end, time.NewTimer(linger)
	wait(s, "stock")
	assert.NoError(t, s.pubsub.Close())
	s.run(ctx)
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	assert.Equal(t, []string{"queue of stock is closed"}, *news)
	assert.Zero(t, set.Len(), "nothing stays behind")
	leave(s, "stock")
	assert.NoError(t, rdb.Close())
}
