package readwrite

import (
	"container/list"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/internal/subscription"
)

// subscriptions wake one waiter of either kind for a release, and the first
// ones when a channel is confirmed: if they are refused, somebody holds the
// lock, and will be heard. When the last reader has left, only a writer is
// woken: where readers wait then, they wait for it.
var subscriptions = subscription.Set[*queues]{
	Told: func(q *queues, leaves string) {
		if leaves != "writer" {
			wakeOne(&q[reader])
		}
		wakeOne(&q[writer])
	},
	Confirmed: func(q *queues, _ string) { q.wake() },
	// Those fail, leave, and wake the next.
	Closed: (*queues).wake,
}

// queues are those of a channel: of its readers, and of its writers, in the
// order to wake them.
type queues [1 + writer]list.List

// wake wakes one of either kind.
func (q *queues) wake() {
	wakeOne(&q[reader])
	wakeOne(&q[writer])
}

// waiter is one call of Lock or RLock that was refused.
type waiter struct {
	sub     *subscription.Subscription[*queues]
	channel string
	role    role
	place   *list.Element
	woken   chan struct{} // holds one element while there is news
}

// join puts a waiter at the end of the channel's queue. The first one asks
// again when the channel is confirmed, at once if that was before: the lock may
// have been released since it was refused, with nobody here to hear of it. One
// that joins others need not: what it missed has woken one of them.
func join(rdb redis.UniversalClient, channel string, as role) *waiter {
	s := subscriptions.Enlist(rdb)
	w := &waiter{sub: s, channel: channel, role: as,
		woken: make(chan struct{}, 1)}
	s.Lock()
	defer s.Unlock()
	q, ok := s.Queues[channel]
	if !ok {
		q = &queues{}
		s.Queues[channel] = q
	}
	if q[as].Len() == 0 && s.Listen(channel) {
		notice(w.woken)
	}
	w.place = q[as].PushBack(w)
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
// have been the only one to hear of a release, and so wakes the next. A reader
// that has got in wakes the other readers: nothing keeps them out.
func (w *waiter) leave(granted bool) {
	s := w.sub
	s.Delist()
	s.Lock()
	defer s.Unlock()
	q := s.Queues[w.channel]
	q[w.role].Remove(w.place)
	if q[reader].Len()+q[writer].Len() == 0 {
		s.Leave(w.channel)
	} else if !granted {
		wakeOne(&q[w.role])
	} else if w.role == reader {
		for e := q[reader].Front(); e != nil; e = e.Next() {
			notice(e.Value.(*waiter).woken)
		}
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
