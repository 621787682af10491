// Package subscription is how the waiters of a process hear of their locks: on one
// connection for each rdb value, with one goroutine, however many wait. The rungs keep
// the waiters of a channel in queues of their own, and say who is woken.
package subscription

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Set has a rung's subscriptions, those that somebody waits on, one for each rdb
// value. The last waiter to leave ends its subscription, so nothing stays behind
// here. Q is the rung's queue of a channel.
type Set[Q any] struct {
	Told      func(q Q, payload string) // for each message
	Confirmed func(q Q, channel string) // messages may have passed before

	mu sync.Mutex // never held while Redis is asked
	of map[redis.UniversalClient]*Subscription[Q]
}

// Subscription is the one connection on which all waiters of an rdb value hear of
// their locks. Its goroutine runs from the first Listen until the last waiter has
// left. It owns the connection and closes it itself; a waiter only says that it may
// end, because closing waits for a connection that is being dialed, and Lock must
// not. So the goroutine outlives the last waiter by what is left of the driver's
// dial timeout, at most.
type Subscription[Q any] struct {
	set     *Set[Q]
	rdb     redis.UniversalClient
	pubsub  *redis.PubSub // nil until somebody listens
	Waiters int           // guarded by the set

	end     context.CancelFunc // called when the last waiter has left
	changed chan struct{}      // the set of channels has changed

	sync.Mutex                      // never held while Redis is asked
	Queues     map[string]Q         // by channel
	wanted     map[string][]string  // those of each Listen, by the last one
	confirmed  map[string]bool      // channels on which nothing is missed
	asked      map[string]time.Time // when the others were asked for
}

// Enlist counts one more waiter of an rdb value. Its subscription has no channel
// yet and so sends nothing.
func (set *Set[Q]) Enlist(rdb redis.UniversalClient) *Subscription[Q] {
	set.mu.Lock()
	defer set.mu.Unlock()
	s, ok := set.of[rdb]
	if !ok {
		s = set.add(rdb)
	}
	s.Waiters++
	return s
}

func (set *Set[Q]) add(rdb redis.UniversalClient) *Subscription[Q] {
	s := &Subscription[Q]{
		set:       set,
		rdb:       rdb,
		end:       func() {},
		changed:   make(chan struct{}, 1),
		Queues:    map[string]Q{},
		wanted:    map[string][]string{},
		confirmed: map[string]bool{},
		asked:     map[string]time.Time{},
	}
	if set.of == nil {
		set.of = map[redis.UniversalClient]*Subscription[Q]{}
	}
	set.of[rdb] = s
	return s
}

// AtRest adds a subscription that sends nothing, whoever listens. A test says what
// it hears.
func (set *Set[Q]) AtRest(rdb redis.UniversalClient) *Subscription[Q] {
	set.mu.Lock()
	defer set.mu.Unlock()
	s := set.add(rdb)
	s.pubsub = &redis.PubSub{}
	return s
}

// Look calls do with the queue of a channel, if there is one, while it and the set
// are locked. A waiter that do puts there it counts itself.
func (set *Set[Q]) Look(rdb redis.UniversalClient, channel string,
	do func(Q)) {
	set.mu.Lock()
	defer set.mu.Unlock()
	s, ok := set.of[rdb]
	if !ok {
		return
	}
	s.Lock()
	defer s.Unlock()
	if q, ok := s.Queues[channel]; ok {
		do(q)
	}
}

// Len counts the rdb values with waiters. A test asks what stays behind.
func (set *Set[Q]) Len() int {
	set.mu.Lock()
	defer set.mu.Unlock()
	return len(set.of)
}

// Delist counts one waiter less. The last one lets the subscription end; the next
// to come starts another one.
func (s *Subscription[Q]) Delist() {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.Waiters--
	if s.Waiters == 0 {
		delete(s.set.of, s.rdb)
		s.end()
	}
}

// Listen subscribes to a lock's channels, with s locked. It is true when the last
// one was confirmed before: a message may have passed that nobody waited for, and
// no confirmation will come.
func (s *Subscription[Q]) Listen(channels ...string) (confirmed bool) {
	last := channels[len(channels)-1]
	if s.wanted[last] == nil {
		s.wanted[last] = channels
		s.notice()
	}
	if s.pubsub == nil {
		var ctx context.Context
		ctx, s.end = context.WithCancel(context.Background())
		s.pubsub = s.rdb.Subscribe(ctx)
		go s.run(ctx)
	}
	return s.confirmed[last]
}

// Leave takes the queues of a lock's channels away, with s locked.
func (s *Subscription[Q]) Leave(channels ...string) {
	for _, channel := range channels {
		delete(s.Queues, channel)
		delete(s.wanted, channel)
	}
	s.notice()
}

// Denied is the server's error if the user may not use a channel. The driver drops
// the server's refusal of a SUBSCRIBE, so that such a channel is just never
// confirmed. One that isn't for longer than within is asked about, with an empty
// message, and again after as long.
func (s *Subscription[Q]) Denied(ctx context.Context, channel string,
	within time.Duration) error {
	s.Lock()
	asked, unconfirmed := s.asked[channel]
	s.Unlock()
	if !unconfirmed || time.Since(asked) <= within {
		return nil
	}
	if err := s.rdb.Publish(ctx, channel, "").Err(); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	if s.asked[channel] == asked {
		s.asked[channel] = time.Now()
	}
	return nil
}

// notice has the subscription look at its channels.
func (s *Subscription[Q]) notice() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// again is the pause before a channel is subscribed to once more.
const again = 100 * time.Millisecond

// run subscribes to the channels that are waited on, and tells what it hears,
// until ctx ends. The library connects again after a loss, and subscribes to the
// channels that it knows; a confirmation follows.
func (s *Subscription[Q]) run(ctx context.Context) {
	subscribed := map[string]bool{}
	// The first one connects: else the library does so as well.
	retry := s.subscribe(ctx, subscribed)
	messages := s.pubsub.ChannelWithSubscriptions()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.changed:
		case <-retry:
		case message, ok := <-messages:
			if !ok {
				s.end() // the client itself was closed
			}
			s.Hear(message)
			continue
		}
		if ctx.Err() == nil {
			retry = s.subscribe(ctx, subscribed)
		}
	}
	s.pubsub.Close()
	for range messages { // the library's goroutine ends here
	}
}

// subscribe subscribes to the channels that are waited on, and leaves the others.
// It returns when it is to try again: the library may have connected anew with the
// channels that it had before, so that the connection works and the failed ones
// are missing. Each lock has a command of its own: the server refuses all channels
// of one, if the user may not hear one of them.
func (s *Subscription[Q]) subscribe(ctx context.Context,
	subscribed map[string]bool) (retry <-chan time.Time) {
	join, leave := s.changes(subscribed)
	if len(leave) > 0 { // the library forgets them, also where the command fails
		s.pubsub.Unsubscribe(ctx, leave...)
	}
	for _, channels := range join {
		if s.pubsub.Subscribe(ctx, channels...) != nil {
			retry = time.After(again)
			continue
		}
		s.Lock()
		for _, channel := range channels {
			subscribed[channel] = true
			s.asked[channel] = time.Now()
		}
		s.Unlock()
	}
	return retry
}

// changes are the channels to subscribe to, those of each lock together, and to
// leave, in their order. Those to leave are taken out of those that are subscribed:
// who listens there from now on waits for a new confirmation.
func (s *Subscription[Q]) changes(subscribed map[string]bool) (join [][]string,
	leave []string) {
	s.Lock()
	defer s.Unlock()
	wanted := map[string]bool{}
	for _, last := range slices.Sorted(maps.Keys(s.wanted)) {
		for _, channel := range s.wanted[last] {
			wanted[channel] = true
		}
		if !subscribed[last] {
			join = append(join, s.wanted[last])
		}
	}
	for _, channel := range slices.Sorted(maps.Keys(subscribed)) {
		if !wanted[channel] {
			leave = append(leave, channel)
			delete(subscribed, channel)
			delete(s.confirmed, channel)
			delete(s.asked, channel)
		}
	}
	return join, leave
}

// Hear tells a channel's queue of a message, or that the channel is confirmed.
func (s *Subscription[Q]) Hear(message any) {
	s.Lock()
	defer s.Unlock()
	switch m := message.(type) {
	case *redis.Message:
		if q, ok := s.Queues[m.Channel]; ok {
			s.set.Told(q, m.Payload)
		}
	case *redis.Subscription:
		if q, ok := s.Queues[m.Channel]; ok && m.Kind == "subscribe" {
			s.confirmed[m.Channel] = true
			delete(s.asked, m.Channel)
			s.set.Confirmed(q, m.Channel)
		}
	}
}
