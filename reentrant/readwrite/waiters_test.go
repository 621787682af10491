package readwrite

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

// woken are those of the waiters that have news, which they then have heard.
func woken(waiters ...*waiter) (n []int) {
	for i, w := range waiters {
		select {
		case <-w.woken:
			n = append(n, i)
		default:
		}
	}
	return n
}

// The last waiter of a channel leaves, and another one joins before the
// subscription has left the channel. No confirmation will come for it, so it must
// ask at once, as a reader or as a writer.
func TestTheFirstWaiterToAConfirmedChannelAsksAtOnce(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		first, other := join(rdb, "stock", writer), join(rdb, "toys", writer)
		first.sub.Hear(&redis.Subscription{Kind: "subscribe", Channel: "stock"})
		assert.Equal(t, []int{0}, woken(first, other))
		first.leave(false)

		all := []*waiter{join(rdb, "stock", writer), join(rdb, "stock", writer),
			join(rdb, "stock", reader), join(rdb, "stock", reader)}
		assert.Equal(t, []int{0, 2}, woken(all...), "the first of each kind")
		for _, w := range append(all, other) {
			w.leave(false)
		}
	})
}

func TestAMessageWakesOneOfEachKind(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		all := []*waiter{join(rdb, "stock", writer), join(rdb, "stock", reader),
			join(rdb, "stock", writer), join(rdb, "stock", reader)}
		hear := all[0].sub.Hear
		hear(&redis.Message{Channel: "stock", Payload: "all"})
		assert.Equal(t, []int{0, 1}, woken(all...))
		hear(&redis.Message{Channel: "stock", Payload: "all"})
		assert.Equal(t, []int{2, 3}, woken(all...), "the others in turn")
		hear(&redis.Message{Channel: "stock", Payload: "writer"})
		assert.Equal(t, []int{0}, woken(all...), "the last reader has left")
		hear(&redis.Message{Channel: "toys", Payload: "all"})
		assert.Empty(t, woken(all...))
		for _, w := range all {
			w.leave(false)
		}
	})
}

// What has let it in keeps the others out no longer.
func TestAReaderThatGetsInWakesAllOthers(t *testing.T) {
	atRest(t, func(t *testing.T, rdb *redis.Client) {
		all := []*waiter{join(rdb, "stock", writer), join(rdb, "stock", reader),
			join(rdb, "stock", reader), join(rdb, "stock", reader)}
		all[1].leave(false)
		assert.Equal(t, []int{2}, woken(all...), "one that gives up wakes the next")
		all[2].leave(true)
		assert.Equal(t, []int{3}, woken(all...))
		all[3].leave(true)
		all[0].leave(true)
	})
}
