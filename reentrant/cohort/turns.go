package cohort

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lock"
)

// subscriptions are those that some cohort listens to, one for each rdb value.
// The last cohort to end ends its subscription. The cohorts' mutex guards them.
var subscriptions = map[redis.UniversalClient]*subscription{}

// subscription is the one connection on which all cohorts of an rdb value hear
// whose turn it is. Its goroutine runs from the first refusal until the last
// cohort has ended, which joins it.
type subscription struct {
	pubsub  *redis.PubSub
	changed chan struct{} // the set of channels has changed
	done    chan struct{} // the goroutine has ended

	listeners map[string][]*cohort // by channel
	confirmed map[string]bool      // channels on which nothing is missed
}

// keys are the lock, its queue, its turn, which is also a channel, and the
// counter of its fencing tokens.
func (l *Lock) keys() []string {
	return []string{l.key, lock.Beside(l.key, "queue"), channel(l.key),
		lock.Beside(l.key, "token")}
}

// channel is where the turns of a lock are told.
func channel(key string) string { return lock.Beside(key, "turn") }

// turn is how long a turn is kept, in milliseconds.
func (l *Lock) turn() int64 { return turnOf(l.ttl).Milliseconds() }

// wait ends when it is the cohort's turn, when it is worth asking again, or
// with the context's error.
func (c *cohort) wait(ctx context.Context, again time.Duration) error {
	c.listen()
	// A lease that ends within this millisecond is reported as 0.
	again = max(again, time.Millisecond)
	until := time.Now().Add(again)
	timer := time.NewTimer(again)
	defer timer.Stop()
	for {
		select {
		case turn := <-c.news:
			if turn == "" || turn == c.id {
				return nil
			}
			// It is another one's turn. Should that be dead, somebody must ask
			// when its turn is over.
			if over := turnOf(c.ttl); time.Until(until) > over {
				until = time.Now().Add(over)
				timer.Reset(over)
			}
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell leaves news where older news may be.
func (c *cohort) tell(turn string) {
	select {
	case <-c.news:
	default:
	}
	c.news <- turn
}

// listen lets the cohort hear of turns, from the first call on. It is told when
// the server has confirmed that, at once if that was before.
func (c *cohort) listen() {
	cohorts.Lock()
	defer cohorts.Unlock()
	if c.sub != nil {
		return
	}
	s, ok := subscriptions[c.rdb]
	if !ok {
		s = &subscription{
			pubsub:    c.rdb.Subscribe(context.Background()),
			changed:   make(chan struct{}, 1),
			done:      make(chan struct{}),
			listeners: map[string][]*cohort{},
			confirmed: map[string]bool{},
		}
		subscriptions[c.rdb] = s
		go s.run()
	}
	c.sub = s
	on := channel(c.key)
	if s.confirmed[on] {
		c.tell("")
	}
	s.listeners[on] = append(s.listeners[on], c)
	notice(s.changed)
}

// unlisten is for a cohort that ends. It returns the subscription when that has
// no cohort left.
func (c *cohort) unlisten() *subscription {
	s := c.sub
	if s == nil {
		return nil
	}
	on := channel(c.key)
	s.listeners[on] = slices.DeleteFunc(s.listeners[on],
		func(other *cohort) bool { return other == c })
	if len(s.listeners[on]) == 0 {
		delete(s.listeners, on)
	}
	if len(s.listeners) == 0 {
		delete(subscriptions, c.rdb)
		return s
	}
	notice(s.changed)
	return nil
}

// end closes the subscription, if there is one, and joins its goroutine.
func (s *subscription) end() {
	if s != nil {
		s.pubsub.Close()
		<-s.done
	}
}

// run subscribes to the channels that are listened to, and tells what it hears,
// until the subscription is closed. The library connects and subscribes again
// after a loss, and confirms it again.
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
	cohorts.Lock()
	defer cohorts.Unlock()
	changes := map[string]bool{}
	for channel := range s.listeners {
		if !subscribed[channel] {
			changes[channel] = true
		}
	}
	for channel := range subscribed {
		if _, ok := s.listeners[channel]; !ok {
			changes[channel] = false
			delete(s.confirmed, channel) // who comes now waits for a new one
		}
	}
	return changes
}

// hear tells the cohorts whose turn it is, and when a channel is confirmed:
// they ask once more then, for their turn may have been told meanwhile.
func (s *subscription) hear(message any) {
	cohorts.Lock()
	defer cohorts.Unlock()
	switch m := message.(type) {
	case *redis.Message:
		for _, c := range s.listeners[m.Channel] {
			c.tell(m.Payload)
		}
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			s.confirmed[m.Channel] = true
			for _, c := range s.listeners[m.Channel] {
				c.tell("")
			}
		}
	}
}

// notice leaves a notice where none is yet.
func notice(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
