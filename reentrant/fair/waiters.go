package fair

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

	mu        sync.Mutex        // never held while Redis is asked
	queues    map[string]*queue // waiters, by channel
	confirmed map[string]bool   // channels on which nothing is missed
}

// queue is what waits in this process for one lock.
type queue struct {
	list.List                    // of waiters, in the order of their coming
	asked     map[string]*waiter // by the owner id that each has asked with
	told      string             // the newest turn, until its waiter knows
}

// waiter is one call of Lock that was refused.
type waiter struct {
	sub     *subscription
	channel string
	place   *list.Element
	woken   chan struct{} // holds one element while there is news
	timer   *time.Timer   // says when to ask again
	due     time.Time     // when that is, at the latest
	turn    time.Duration // how long another one's turn lasts
}

// join puts a waiter at the end of the channel's queue. Who comes first asks
// again when the channel is confirmed, at once if that was before: the lock may
// have been released since it was refused, with nobody here to hear of it. Who
// joins others need not: what it missed has woken one of them.
func join(rdb redis.UniversalClient, channel string,
	turn time.Duration) *waiter {
	s := enlist(rdb)
	w := &waiter{sub: s, channel: channel, woken: make(chan struct{}, 1),
		turn: turn, timer: time.NewTimer(time.Hour)}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.queues[channel]
	if !ok {
		q = &queue{asked: map[string]*waiter{}}
		s.queues[channel] = q
		notice(s.changed)
		if s.confirmed[channel] {
			notice(w.woken)
		}
	}
	w.place = q.PushBack(w)
	return w
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
			queues:  map[string]*queue{},

			confirmed: map[string]bool{},
		}
		subscriptions.of[rdb] = s
		go s.run(ctx)
	}
	s.waiters++
	return s
}

// wait ends when it is the turn of the owner id, when it is time to ask again, or
// with the context's error.
func (w *waiter) wait(ctx context.Context, id string,
	remaining time.Duration) error {
	w.expect(id, remaining)
	defer w.forget(id)
	select {
	case <-w.woken:
		return ctx.Err() // an owner that gives up doesn't ask
	case <-w.timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expect has the waiter woken when it is the turn of the owner id, at once if
// that was told while the refusal was on its way.
func (w *waiter) expect(id string, remaining time.Duration) {
	w.sub.mu.Lock()
	defer w.sub.mu.Unlock()
	// A lease that ends within this millisecond is reported as 0.
	remaining = max(remaining, time.Millisecond)
	w.due = time.Now().Add(remaining)
	w.timer.Reset(remaining)
	q := w.sub.queues[w.channel]
	q.asked[id] = w
	if q.told == id {
		q.told = ""
		notice(w.woken)
	}
}

// forget is for a waiter that has stopped waiting.
func (w *waiter) forget(id string) {
	w.sub.mu.Lock()
	defer w.sub.mu.Unlock()
	delete(w.sub.queues[w.channel].asked, id)
	w.timer.Stop()
}

// leave takes the waiter out of the queue. Who leaves without the lock may have
// been the one to ask after a turn that is over, and leaves that to the next.
func (w *waiter) leave(granted bool) {
	s := w.sub
	last := s.delist()
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[w.channel]
	q.Remove(w.place)
	if q.Len() == 0 {
		delete(s.queues, w.channel)
	} else if !granted {
		q.first().askAfterATurn()
	}
	if q.Len() == 0 && !last { // closing leaves all channels
		notice(s.changed)
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

// hear wakes one waiter for a release, and the first when a channel is
// confirmed: if it is refused, somebody holds the lock, and will be heard.
func (s *subscription) hear(message any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := message.(type) {
	case *redis.Message:
		if q, ok := s.queues[m.Channel]; ok {
			q.tell(m.Payload)
		}
	case *redis.Subscription:
		if q, ok := s.queues[m.Channel]; ok && m.Kind == "subscribe" {
			s.confirmed[m.Channel] = true
			notice(q.first().woken)
		}
	}
}

// tell wakes the waiter whose turn it is, and nobody else. When that is another
// process's, which may be dead, the first waiter asks when its turn is over.
func (q *queue) tell(id string) {
	if w := q.asked[id]; w != nil {
		notice(w.woken)
		return
	}
	q.told = id
	q.first().askAfterATurn()
}

func (q *queue) first() *waiter { return q.Front().Value.(*waiter) }

// askAfterATurn has the waiter ask when a turn that begins now is over, or when
// it would ask anyway.
func (w *waiter) askAfterATurn() {
	w.timer.Reset(min(w.turn, time.Until(w.due)))
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
