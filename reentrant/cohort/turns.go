package cohort

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// subscriptions are those that some cohort listens to, one for each rdb value.
// The cohorts' mutex guards them.
var subscriptions = map[redis.UniversalClient]*subscription{}

// repeat is the pause before a SUBSCRIBE that has failed is sent again.
const repeat = 100 * time.Millisecond

// subscription is the one connection on which all cohorts of an rdb value hear
// whose turn it is. Its goroutine owns it: it runs from the first refusal until
// no cohort listens, and then closes the connection. No owner of a lock waits
// for that, because the driver's PubSub can't be closed while it dials. So the
// goroutine may outlive the last cohort, by the time that a few dials take to
// fail (DialTimeout); a cohort that comes meanwhile finds it still listening.
type subscription struct {
	rdb     redis.UniversalClient
	pubsub  *redis.PubSub
	changed chan struct{} // the set of channels has changed

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

// wait ends when it is the cohort's turn, when it is worth asking again, or
// with the context's error.
func (c *cohort) wait(ctx context.Context) error {
	c.listen()
	// A lease that ends within this millisecond is reported as 0.
	again := max(c.again, time.Millisecond)
	until := time.Now().Add(again)
	timer := time.NewTimer(again)
	defer timer.Stop()
	for {
		select {
		case turn := <-c.news:
			if turn == "" || turn == c.id {
				return ctx.Err() // an owner that gives up doesn't ask
			}
			// It is another one's turn. Should that be dead, somebody must ask
			// when its turn is over. Of a longer one the answer says the rest.
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
	if c.sub != nil {
		return
	}
	// It connects when it has channels, and not before.
	pubsub := c.rdb.Subscribe(context.Background())
	if c.listenOn(pubsub) != pubsub {
		pubsub.Close() // there was one
	}
}

// listenOn makes the cohort a listener of the subscription, of a new one on
// this connection if there is none. It returns the subscription's connection.
func (c *cohort) listenOn(pubsub *redis.PubSub) *redis.PubSub {
	cohorts.Lock()
	defer cohorts.Unlock()
	s, ok := subscriptions[c.rdb]
	if !ok {
		s = &subscription{
			rdb:       c.rdb,
			pubsub:    pubsub,
			changed:   make(chan struct{}, 1),
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
	return s.pubsub
}

// unlisten is for a cohort that ends.
func (c *cohort) unlisten() {
	s := c.sub
	if s == nil {
		return
	}
	on := channel(c.key)
	s.listeners[on] = slices.DeleteFunc(s.listeners[on],
		func(other *cohort) bool { return other == c })
	if len(s.listeners[on]) == 0 {
		delete(s.listeners, on)
	}
	notice(s.changed)
}

// run subscribes to the channels that are listened to, and tells what it hears,
// until nobody listens. The library connects and subscribes again after a loss,
// and confirms it again.
func (s *subscription) run() {
	subscribed := map[string]bool{}
	again := time.NewTimer(repeat)
	defer again.Stop()
	s.change(subscribed, again) // it connects; else the library and we both do
	messages := s.pubsub.ChannelWithSubscriptions()
	heard := messages
	for wanted := true; wanted; {
		select {
		case <-s.changed:
			if wanted = !s.deserted(); wanted {
				s.change(subscribed, again)
			}
		case <-again.C:
			s.change(subscribed, again)
		case message, ok := <-heard:
			if ok {
				s.hear(message)
			} else { // the client is closed: no message will come
				heard = nil
			}
		}
	}
	s.pubsub.Close()
	for range messages { // until the library has seen it
	}
}

// deserted says whether nobody listens. Then the subscription is no longer to
// be found by those who come.
func (s *subscription) deserted() bool {
	cohorts.Lock()
	defer cohorts.Unlock()
	if len(s.listeners) > 0 {
		return false
	}
	delete(subscriptions, s.rdb)
	return true
}

// change subscribes and unsubscribes. A SUBSCRIBE that fails is sent again
// later: the library connects at once, with the channels that it had before,
// and so the new connection would lack this one for as long as it lives.
func (s *subscription) change(subscribed map[string]bool, again *time.Timer) {
	ctx := context.Background()
	for channel, wanted := range s.changes(subscribed) {
		if !wanted {
			delete(subscribed, channel)
			s.pubsub.Unsubscribe(ctx, channel)
			continue
		}
		err := s.pubsub.Subscribe(ctx, channel)
		subscribed[channel] = err == nil
		if err != nil {
			again.Reset(repeat)
		}
	}
}

// changes are the channels to subscribe to (true) and to leave (false). One
// that is false in subscribed is known to the library, which could not send it.
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
