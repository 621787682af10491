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

	"github.com/lockladder/lockladder/lock"
)

// linger is for how long a channel is kept for the next waiter, once or twice. A
// process that has one waiter at a time would connect and subscribe for each of them.
const linger = 3 * time.Second

// Set has a rung's subscriptions, those that somebody waits on or did until a few
// seconds ago, one for each rdb value. Then they end, so nothing stays behind here. Q
// is the rung's queue of a channel.
type Set[Q any] struct {
	Told      func(q Q, payload string) // for each message
	Confirmed func(q Q, channel string) // messages may have passed before
	Closed    func(q Q)                 // the client is closed: all are to ask

	mu sync.Mutex // never held while Redis is asked
	of map[redis.UniversalClient]*Subscription[Q]
}

// Subscription is the one connection on which all waiters of an rdb value hear of
// their locks. Its goroutine runs from the first Listen until nobody has waited for
// some seconds; or until the last waiter has left, where no channel was confirmed; or
// until the client is closed. It owns the connection and closes it itself: closing
// waits for a connection that is being dialed, and Lock must not. So it may take
// longer by what is left of the driver's dial timeout.
type Subscription[Q any] struct {
	set     *Set[Q]
	rdb     redis.UniversalClient
	pubsub  *redis.PubSub // nil until somebody listens
	waiters int           // guarded by the set

	end     context.CancelFunc // called when nobody waits any more
	changed chan struct{}      // the set of channels has changed
	sweeps  *time.Timer        // when to look at those that were left

	sync.Mutex                      // never held while Redis is asked
	Queues     map[string]Q         // by channel
	wanted     map[string]bool      // those of each Listen
	stale      map[string]bool      // those to subscribe to, or to leave
	left       map[string]time.Time // those that nobody has waited on since
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
	s.waiters++
	return s
}

func (set *Set[Q]) add(rdb redis.UniversalClient) *Subscription[Q] {
	s := &Subscription[Q]{
		set:       set,
		rdb:       rdb,
		end:       func() {},
		changed:   make(chan struct{}, 1),
		Queues:    map[string]Q{},
		wanted:    map[string]bool{},
		stale:     map[string]bool{},
		left:      map[string]time.Time{},
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
// are locked.
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

// Delist counts one waiter less. After the last one the subscription lingers, if it
// works.
func (s *Subscription[Q]) Delist() {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.Lock()
	defer s.Unlock()
	s.waiters--
	if s.waiters == 0 && (s.sweeps == nil || len(s.confirmed) == 0) {
		s.forget()
	}
}

// forget ends the subscription, with the set and it locked. The next waiter to come
// starts another one.
func (s *Subscription[Q]) forget() {
	if s.set.of[s.rdb] == s {
		delete(s.set.of, s.rdb)
	}
	s.end()
}

// Listen subscribes to a lock's channel, with s locked. It is true when it was
// confirmed before: a message may have passed that nobody waited for, and no
// confirmation will come.
func (s *Subscription[Q]) Listen(channel string) (confirmed bool) {
	delete(s.left, channel)
	if !s.wanted[channel] {
		s.wanted[channel] = true
		s.changes(channel)
	}
	if s.pubsub == nil {
		var ctx context.Context
		ctx, s.end = context.WithCancel(context.Background())
		s.pubsub, s.sweeps = s.rdb.Subscribe(ctx), time.NewTimer(linger)
		go s.run(ctx)
	}
	return s.confirmed[channel]
}

// Leave takes the queue of a lock's channel away, with s locked. The channel is kept
// for a while, if it works.
func (s *Subscription[Q]) Leave(channel string) {
	delete(s.Queues, channel)
	switch {
	case !s.wanted[channel]:
	case s.confirmed[channel]:
		if len(s.left) == 0 && s.sweeps != nil {
			s.sweeps.Reset(linger)
		}
		s.left[channel] = time.Now()
	default:
		delete(s.wanted, channel)
		s.changes(channel)
	}
}

// sweep gives up the channels that nobody has waited on for a while, and the
// subscription when there are no others.
func (s *Subscription[Q]) sweep() {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.Lock()
	defer s.Unlock()
	for channel, since := range s.left {
		if time.Since(since) >= linger {
			delete(s.left, channel)
			delete(s.wanted, channel)
			s.changes(channel)
		}
	}
	if len(s.left) > 0 {
		s.sweeps.Reset(linger)
	}
	if s.waiters == 0 && len(s.wanted) == 0 {
		s.forget()
	}
}

// patience is for how long Denied waits for the server: meanwhile its caller hears no
// news.
const patience = time.Second

// Denied is the server's error if the user may not use a channel. The driver drops
// the server's refusal of a SUBSCRIBE, so that such a channel is just never
// confirmed. One that isn't for longer than within is asked about, with an empty
// message, and again after as long. No answer within a second is no error.
func (s *Subscription[Q]) Denied(ctx context.Context, channel string,
	within time.Duration) error {
	s.Lock()
	asked, unconfirmed := s.asked[channel]
	s.Unlock()
	if !unconfirmed || time.Since(asked) <= within {
		return nil
	}
	brief, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := Publish(brief, s.rdb, channel); err != nil && brief.Err() == nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	if s.asked[channel] == asked {
		s.asked[channel] = time.Now()
	}
	return nil
}

// Publish sends an empty message, and ends with ctx, which the driver may outlast.
func Publish(ctx context.Context, rdb redis.UniversalClient, channel string) error {
	_, err := lock.Within(ctx, func() (int64, error) {
		return rdb.Publish(ctx, channel, "").Result()
	})
	return err
}

// changes has the subscription look at a lock's channel, with s locked.
func (s *Subscription[Q]) changes(channel string) {
	s.stale[channel] = true
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
		case <-s.sweeps.C:
			s.sweep()
		case message, ok := <-messages:
			if !ok {
				s.closed()
			}
			s.Hear(message)
			continue
		}
		if ctx.Err() == nil {
			retry = s.subscribe(ctx, subscribed)
		}
	}
	s.sweeps.Stop()
	s.pubsub.Close()
	for range messages { // the library's goroutine ends here
	}
}

// closed ends the subscription of a client that was closed. Those that wait ask, and
// are told so by the driver: no message will come.
func (s *Subscription[Q]) closed() {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.Lock()
	defer s.Unlock()
	s.forget()
	for _, q := range s.Queues {
		s.set.Closed(q)
	}
}

// most is how many channels one command leaves.
const most = 1000

// subscribe subscribes to the channels that are waited on, and leaves the others.
// It returns when it is to try again: the library may have connected anew with the
// channels that it had before, so that the connection works and the failed ones
// are missing. Each lock has a command of its own: the server refuses all channels
// of one, if the user may not hear one of them.
func (s *Subscription[Q]) subscribe(ctx context.Context,
	subscribed map[string]bool) (retry <-chan time.Time) {
	join, leave := s.differences(subscribed)
	for channels := range slices.Chunk(leave, most) {
		// The library forgets them, also where the command fails.
		s.pubsub.Unsubscribe(ctx, channels...)
	}
	for _, channel := range join {
		err := s.pubsub.Subscribe(ctx, channel)
		s.Lock()
		if err != nil {
			s.stale[channel], retry = true, time.After(again)
		} else {
			subscribed[channel], s.asked[channel] = true, time.Now()
		}
		s.Unlock()
	}
	return retry
}

// differences are the channels to subscribe to and to leave, in their order. Those to
// leave are taken out of those that are subscribed: who listens there from now on
// waits for a new confirmation.
func (s *Subscription[Q]) differences(subscribed map[string]bool) (join,
	leave []string) {
	s.Lock()
	defer s.Unlock()
	for _, channel := range slices.Sorted(maps.Keys(s.stale)) {
		switch wanted, has := s.wanted[channel], subscribed[channel]; {
		case wanted && !has:
			join = append(join, channel)
		case has && !wanted:
			leave = append(leave, channel)
			delete(subscribed, channel)
		}
	}
	clear(s.stale)
	for _, channel := range leave {
		delete(s.confirmed, channel)
		delete(s.asked, channel)
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
