package notify

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscriptions are those that somebody waits on, one for each rdb value. The
// last waiter to leave ends its subscription, so nothing stays behind here.
var subscriptions = struct {
	sync.Mutex
	of map[redis.UniversalClient]*subscription
}{of: map[redis.UniversalClient]*subscription{}}

// subscription is the one connection on which all waiters of an rdb value hear
// of releases. Its goroutine runs from the first waiter's join to the last
// one's leave, which joins it.
type subscription struct {
	rdb     redis.UniversalClient
	pubsub  *redis.PubSub
	waiters int // guarded by subscriptions

	changed chan struct{} // the set of channels has changed
	done    chan struct{} // the goroutine has ended

	mu        sync.Mutex            // never held while Redis is asked
	queues    map[string]*list.List // waiters, in the order to wake them
	confirmed map[string]bool       // channels on which nothing is missed
}

// waiter is one call of Lock that was refused.
type waiter struct {
	sub     *subscription
	channel string
	place   *list.Element
	woken   chan struct{} // holds one element while there is news
}

// join puts a waiter at the end of the channel's queue. Who comes first asks
// again when the channel is confirmed, at once if that was before: the lock may
// have been released since it was refused, with nobody here to hear of it. Who
// joins others need not: what it missed has woken one of them.
func join(rdb redis.UniversalClient, channel string) *waiter {
	subscriptions.Lock()
	s, ok := subscriptions.of[rdb]
	if !ok {
		s = &subscription{
			rdb:     rdb,
			pubsub:  rdb.Subscribe(context.Background()),
			changed: make(chan struct{}, 1),
			done:    make(chan struct{}),
			queues:  map[string]*list.List{},

			confirmed: map[string]bool{},
		}
		subscriptions.of[rdb] = s
		go s.run()
	}
	s.waiters++
	subscriptions.Unlock()

	w := &waiter{sub: s, channel: channel, woken: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.queues[channel]
	if !ok {
		q = list.New()
		s.queues[channel] = q
		notice(s.changed)
		if s.confirmed[channel] {
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

// leave takes the waiter out of the queue. Who leaves without the lock may have
// been the only one to hear of a release, and so wakes the next.
func (w *waiter) leave(granted bool) {
	s := w.sub
	subscriptions.Lock()
	s.waiters--
	last := s.waiters == 0
	if last {
		delete(subscriptions.of, s.rdb)
	}
	subscriptions.Unlock()

	s.mu.Lock()
	q := s.queues[w.channel]
	q.Remove(w.place)
	if q.Len() == 0 {
		delete(s.queues, w.channel)
	} else if !granted {
		wakeOne(q)
	}
	if q.Len() == 0 && !last { // closing leaves all channels
		notice(s.changed)
	}
	s.mu.Unlock()
	if last {
		s.pubsub.Close()
		<-s.done
	}
}

// run subscribes to the channels that are waited on, and wakes waiters, until
// the subscription is closed. The library connects and subscribes again after a
// loss; the confirmation that follows wakes a waiter, for a message may have
// passed meanwhile.
func (s *subscription) run() {
	defer close(s.done)
	ctx := context.Background()
	subscribed := map[string]bool{}
	messages := s.pubsub.ChannelWithSubscriptions()
	for {
		select {
		case <-s.changed:
			for channel, wanted := range s.changes(subscribed) {
				// A failure is repeated by the library when it has connected.
				if wanted {
					subscribed[channel] = true
					s.pubsub.Subscribe(ctx, channel)
				} else {
					delete(subscribed, channel)
					s.pubsub.Unsubscribe(ctx, channel)
				}
			}
		case message, ok := <-messages:
			if !ok {
				return
			}
			s.hear(message)
		}
	}
}

// changes are the channels to subscribe to (true) and to leave (false).
func (s *subscription) changes(subscribed map[string]bool) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := map[string]bool{}
	for channel := range s.queues {
		if !subscribed[channel] {
			changes[channel] = true
		}
	}
	for channel := range subscribed {
		if _, ok := s.queues[channel]; !ok {
			changes[channel] = false
			delete(s.confirmed, channel) // who joins now waits for a new one
		}
	}
	return changes
}

// hear wakes one waiter for a release, and the first when a channel is
// confirmed: if it is refused, somebody holds the lock, and will be heard.
func (s *subscription) hear(message any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := message.(type) {
	case *redis.Message:
		if q, ok := s.queues[m.Channel]; ok {
			wakeOne(q)
		}
	case *redis.Subscription:
		if q, ok := s.queues[m.Channel]; ok && m.Kind == "subscribe" {
			s.confirmed[m.Channel] = true
			notice(q.Front().Value.(*waiter).woken)
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
