package readwrite

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
	sync.Mutex // never held while Redis is asked
	of         map[redis.UniversalClient]*subscription
}{of: map[redis.UniversalClient]*subscription{}}

// subscription is the one connection on which all waiters of an rdb value hear
// of releases. Its goroutine runs from the first waiter's join until the last
// one has left. It owns the connection and closes it itself; a waiter only says
// that it may end, because closing waits for a connection that is being dialed,
// and Lock must not. So the goroutine outlives the last waiter by what is left
// of the driver's dial timeout, at most.
type subscription struct {
	rdb     redis.UniversalClient
	pubsub  *redis.PubSub
	waiters int // guarded by subscriptions

	end     context.CancelFunc // called when the last waiter has left
	changed chan struct{}      // the set of channels has changed

	mu        sync.Mutex         // never held while Redis is asked
	queues    map[string]*queues // waiters, by channel
	confirmed map[string]bool    // channels on which nothing is missed
}

// queues are those of a channel: of its readers, and of its writers, in the
// order to wake them. Of either kind one waiter is woken at a time. A reader
// that gets in wakes all others, for nothing keeps them out; one that doesn't
// has asked for all of them.
type queues struct {
	of     [1 + writer]list.List
	seen   string // what the newest answer to a reader has said, see read.lua
	passed int    // how many releases in a row were to hand the lock over
}

func (q *queues) empty() bool {
	return q.of[reader].Len()+q.of[writer].Len() == 0
}

// waiter is one call of Lock or RLock that was refused, or need not ask.
type waiter struct {
	sub     *subscription
	channel string
	role    role
	place   *list.Element
	woken   chan grant // holds one element while there is news
	next    next       // what a writer has asked with
}

// grant is the news that a writer has the lock, by a command that was sent
// then. The zero grant is any other news: the waiter is to ask.
type grant struct {
	id    string // the owner id
	fence uint64
	sent  time.Time
}

// join puts a waiter at the end of the channel's queue. The first one asks
// again when the channel is confirmed, at once if that was before: the lock may
// have been released since it was refused, with nobody here to hear of it. One
// that joins others need not: what it missed has woken one of them.
func join(rdb redis.UniversalClient, channel string, as role) *waiter {
	s := enlist(rdb)
	w := &waiter{sub: s, channel: channel, role: as,
		woken: make(chan grant, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.queues[channel]
	if !ok {
		q = &queues{}
		s.queues[channel] = q
		notice(s.changed, struct{}{})
	}
	if q.of[as].Len() == 0 && s.confirmed[channel] {
		notice(w.woken, grant{})
	}
	w.place = q.of[as].PushBack(w)
	return w
}

// joinReaders is join for a reader that has not asked: what keeps other readers
// of this process out keeps it out as well, and one that gets in wakes it. It
// returns nil when none waits. seen is what the newest answer to one of them
// has said: a writer that waits since then has its turn before this reader.
func joinReaders(rdb redis.UniversalClient, channel string) (w *waiter,
	seen string) {
	look(rdb, channel, func(s *subscription, q *queues) {
		if q.of[reader].Len() > 0 {
			s.waiters++
			w = &waiter{sub: s, channel: channel, role: reader,
				woken: make(chan grant, 1)}
			w.place = q.of[reader].PushBack(w)
			seen = q.seen
		}
	})
	return w, seen
}

// look calls do with the waiters on a channel, if there are any.
func look(rdb redis.UniversalClient, channel string,
	do func(*subscription, *queues)) {
	subscriptions.Lock()
	defer subscriptions.Unlock()
	s, ok := subscriptions.of[rdb]
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q, ok := s.queues[channel]; ok {
		do(s, q)
	}
}

// saw takes down what an answer to a reader has said, for those that join it.
func (w *waiter) saw(seen string) {
	if w == nil {
		return
	}
	w.sub.mu.Lock()
	defer w.sub.mu.Unlock()
	w.sub.queues[w.channel].seen = seen
}

// enlist counts one more waiter of an rdb value. The first one starts the
// subscription, which has no channel yet and so sends nothing.
func enlist(rdb redis.UniversalClient) *subscription {
	subscriptions.Lock()
	defer subscriptions.Unlock()
	s, ok := subscriptions.of[rdb]
	if !ok {
		ctx, end := context.WithCancel(context.Background())
		s = &subscription{
			rdb:     rdb,
			pubsub:  rdb.Subscribe(ctx),
			end:     end,
			changed: make(chan struct{}, 1),
			queues:  map[string]*queues{},

			confirmed: map[string]bool{},
		}
		subscriptions.of[rdb] = s
		go s.run(ctx)
	}
	s.waiters++
	return s
}

// wait ends when there is news, when the holder's lease should have ended, or
// with the context's error.
func (w *waiter) wait(ctx context.Context, remaining time.Duration) (grant,
	error) {
	// A lease that ends within this millisecond is reported as 0.
	timer := time.NewTimer(max(remaining, time.Millisecond))
	defer timer.Stop()
	select {
	case news := <-w.woken:
		return news, nil
	case <-timer.C:
		return grant{}, nil
	case <-ctx.Done():
		return grant{}, ctx.Err()
	}
}

// next is a writer that waits in this process, as a release names it.
type next struct {
	id    string
	lease time.Duration
}

// asked says what a writer has asked with.
func (w *waiter) asked(with next) {
	w.sub.mu.Lock()
	defer w.sub.mu.Unlock()
	w.next = with
}

// passes is how many releases in a row may hand the lock over inside a process.
// The one after them lets the other processes in, which have no better chance
// than the process's own waiters. So it must not be long in coming.
const passes = 4

// first is the writer of this process that a release is to hand the lock over
// to: none while readers of the process wait, and now and then, for the others.
func first(rdb redis.UniversalClient, channel string) (to next) {
	look(rdb, channel, func(_ *subscription, q *queues) {
		e := q.of[writer].Front()
		if e == nil || q.of[reader].Len() > 0 || q.passed == passes {
			q.passed = 0
			return
		}
		q.passed++
		to = e.Value.(*waiter).next
	})
	return to
}

// tell gives news to the writer that has asked with the id, if it still waits.
func tell(rdb redis.UniversalClient, channel, id string, news grant) {
	look(rdb, channel, func(_ *subscription, q *queues) {
		for e := q.of[writer].Front(); e != nil; e = e.Next() {
			if w := e.Value.(*waiter); id != "" && w.next.id == id {
				notice(w.woken, news)
				return
			}
		}
	})
}

// leave takes the waiter out of the queue. One that leaves without the lock may
// have been the only one to hear of a release, and so wakes the next.
func (w *waiter) leave(granted bool) {
	if w == nil {
		return
	}
	s := w.sub
	last := s.delist()
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[w.channel]
	q.of[w.role].Remove(w.place)
	if !granted {
		wakeOne(&q.of[w.role])
	} else if w.role == reader {
		for e := q.of[reader].Front(); e != nil; e = e.Next() {
			notice(e.Value.(*waiter).woken, grant{})
		}
	}
	if q.empty() {
		delete(s.queues, w.channel)
	}
	if q.empty() && !last { // closing leaves all channels
		notice(s.changed, struct{}{})
	}
}

// delist counts one waiter less. The last one lets the subscription end; the
// next to come starts another one.
func (s *subscription) delist() (last bool) {
	subscriptions.Lock()
	defer subscriptions.Unlock()
	s.waiters--
	if s.waiters > 0 {
		return false
	}
	delete(subscriptions.of, s.rdb)
	s.end()
	return true
}

// again is the pause before a channel is subscribed to once more.
const again = 100 * time.Millisecond

// run subscribes to the channels that are waited on, and wakes waiters, until
// ctx ends. The library connects again after a loss, and subscribes to the
// channels that it knows; the confirmation that follows wakes a waiter, for a
// message may have passed meanwhile.
func (s *subscription) run(ctx context.Context) {
	subscribed := map[string]bool{}
	messages := s.pubsub.ChannelWithSubscriptions()
	var retry <-chan time.Time
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.changed:
		case <-retry:
		case message, ok := <-messages:
			if !ok {
				s.end() // the client itself was closed
			}
			s.hear(message)
			continue
		}
		retry = nil
		if ctx.Err() == nil && !s.subscribe(ctx, subscribed) {
			retry = time.After(again)
		}
	}
	s.pubsub.Close()
	for range messages { // the library's goroutine ends here
	}
}

// subscribe subscribes to the channels that are waited on, and leaves the
// others. It is false when a channel must be tried again: the library may have
// connected anew with the channels that it had before, so that the connection
// works and the failed channel is missing.
func (s *subscription) subscribe(ctx context.Context,
	subscribed map[string]bool) bool {
	complete := true
	for channel, wanted := range s.changes(subscribed) {
		if !wanted { // the library forgets it, also where the command fails
			delete(subscribed, channel)
			s.pubsub.Unsubscribe(ctx, channel)
		} else if s.pubsub.Subscribe(ctx, channel) == nil {
			subscribed[channel] = true
		} else {
			complete = false
		}
	}
	return complete
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

// hear wakes one waiter of either kind for a release, and the first ones when
// a channel is confirmed: if they are refused, somebody holds the lock, and
// will be heard. When the last reader has left, only a writer is woken: where
// readers wait then, they wait for it.
func (s *subscription) hear(message any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := message.(type) {
	case *redis.Message:
		if q, ok := s.queues[m.Channel]; ok {
			if m.Payload != "writer" {
				wakeOne(&q.of[reader])
			}
			wakeOne(&q.of[writer])
		}
	case *redis.Subscription:
		if q, ok := s.queues[m.Channel]; ok && m.Kind == "subscribe" {
			s.confirmed[m.Channel] = true
			wakeOne(&q.of[reader])
			wakeOne(&q.of[writer])
		}
	}
}

// wakeOne wakes the first waiter that has no news yet and moves it to the end:
// it stays in the queue while it asks, because the next message may come before
// it is refused.
func wakeOne(q *list.List) {
	for e := q.Front(); e != nil; e = e.Next() {
		if notice(e.Value.(*waiter).woken, grant{}) {
			q.MoveToBack(e)
			return
		}
	}
}

// notice leaves news where none is yet. A writer that has missed a grant asks,
// and finds it.
func notice[T any](c chan T, news T) bool {
	select {
	case c <- news:
		return true
	default:
		return false
	}
}
