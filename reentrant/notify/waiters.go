package notify

import (
	"container/list"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/internal/subscription"
)

// subscriptions wake one waiter for a release, and the first when a channel is
// confirmed: if it is refused, somebody holds the lock, and will be heard. A
// queue has a channel's waiters, in the order to wake them.
var subscriptions = subscription.Set[*list.List]{
	Told: func(q *list.List, _ string) { wakeOne(q) },
	Confirmed: func(q *list.List, _ string) {
		notice(q.Front().Value.(*waiter).woken)
	},
	// That one fails, leaves, and wakes the next.
	Closed: func(q *list.List) { wakeOne(q) },
}

// waiter is one call of Lock that was refused.
type waiter struct {
	sub     *subscription.Subscription[*list.List]
	channel string
	place   *list.Element
	woken   chan struct{} // holds one element while there is news
}

// join puts a waiter at the end of the channel's queue. The first one asks
// again when the channel is confirmed, at once if that was before: the lock may
// have been released since it was refused, with nobody here to hear of it. One
// that joins others need not: what it missed has woken one of them.
func join(rdb redis.UniversalClient, channel string) *waiter {
	s := subscriptions.Enlist(rdb)
	w := &waiter{sub: s, channel: channel, woken: make(chan struct{}, 1)}
	s.Lock()
	defer s.Unlock()
	q, ok := s.Queues[channel]
	if !ok {
		q = list.New()
		s.Queues[channel] = q
		if s.Listen(channel) {
			notice(w.woken)
		}
	}
	w.place = q.PushBack(w)
	return w
}

// wait ends when there is news, when the holder's lease should have ended, or
// with the context's error.
func (w *waiter) wait(ctx context.Context, remaining time.Duration) error {
	// A lease that ends within this millisecond is reported as 0.
	timer := time.NewTimer(max(remaining, time.Millisecond))
	defer timer.Stop()
	select {
	case <-w.woken:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave takes the waiter out of the queue. One that leaves without the lock may
// have been the only one to hear of a release, and so wakes the next.
func (w *waiter) leave(granted bool) {
	s := w.sub
	s.Delist()
	s.Lock()
	defer s.Unlock()
	q := s.Queues[w.channel]
	q.Remove(w.place)
	if q.Len() == 0 {
		s.Leave(w.channel)
	} else if !granted {
		wakeOne(q)
	}
}

// wakeOne wakes the first waiter that has no news yet and moves it to the end:
// it stays in the queue while it asks, because the next message may come before
// it is refused.
func wakeOne(q *list.List) {
	for e := q.Front(); e != nil; e = e.Next() {
		if notice(e.Value.(*waiter).woken) {
			q.MoveToBack(e)
			return
		}
	}
}

// notice leaves a notice where none is yet.
func notice(c chan struct{}) bool {
	select {
	case c <- struct{}{}:
		return true
	default:
		return false
	}
}
