// Package waiters is how fair and cohort wait for a lock whose server keeps a queue.
//
// On one connection for each rdb value the waiters of a process hear whose turn it
// is. Each asks again when it is its turn, and at the latest when the holder's lease
// should have ended. The first one also asks when a turn is over, because the waiter
// that had it may be dead.
package waiters

import (
	"cmp"
	"container/list"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/internal/subscription"
)

// subscriptions wake the waiter whose turn it is, and one when the channel is
// confirmed: if that one is refused because of a turn, the turn is told once more.
var subscriptions = subscription.Set[*queue]{
	Told:      (*queue).hear,
	Confirmed: func(q *queue, _ string) { q.wakeOne() },
	Closed:    (*queue).wakeAll,
}

// queue has the waiters of this process for one lock.
type queue struct {
	waiters list.List          // in the order of their arrival
	named   map[string]*Waiter // by the owner id that each asks with
	listens bool               // one was refused
	over    time.Time          // when the newest turn is, and the first one asks

	roundTrip time.Duration // how long the newest refusal took

	leaving []any         // owner ids that give up, in no command yet
	sends   chan struct{} // holds one element while such a command is under way
}

// Waiter is one call of Lock.
type Waiter struct {
	sub     *subscription.Subscription[*queue]
	channel string
	lease   time.Duration
	queue   *queue
	place   *list.Element
	id      string        // the owner id that it asks with
	asked   time.Time     // when it last did
	due     time.Time     // when it asks again, whatever happens
	timer   *time.Timer   // at that time, or when another one's turn is over
	woken   chan struct{} // holds one element while there is news
}

// Join puts a waiter at the end of the channel's queue. It is there before it
// asks: its turn may be told while the refusal is on its way.
func Join(rdb redis.UniversalClient, channel string,
	lease time.Duration) *Waiter {
	s := subscriptions.Enlist(rdb)
	w := &Waiter{sub: s, channel: channel, lease: lease,
		timer: time.NewTimer(lease), woken: make(chan struct{}, 1)}
	s.Lock()
	defer s.Unlock()
	q, ok := s.Queues[channel]
	if !ok {
		q = &queue{named: map[string]*Waiter{}, sends: make(chan struct{}, 1)}
		s.Queues[channel] = q
	}
	w.queue, w.place = q, q.waiters.PushBack(w)
	return w
}

// Asks says with which owner id the waiter asks from now on, and for how long the
// server is to keep the turn for it. A nil waiter does not wait.
func (w *Waiter) Asks(id string) (turn time.Duration) {
	if w == nil {
		return 0
	}
	w.sub.Lock()
	defer w.sub.Unlock()
	delete(w.queue.named, w.id)
	w.id, w.queue.named[id] = id, w
	w.asked = time.Now()
	select {
	case <-w.woken: // by what came before the question
	default:
	}
	return Turn(w.lease, w.queue.roundTrip)
}

// patience is for how many leases the channel may be unconfirmed.
const patience = 2

// Wait is for a waiter that was refused. It ends when there is news, when the holder's
// lease or another one's turn should have ended, or with the context's error. It also
// ends with the server's error where the process may not use the channel: it would not
// hear of its turns, and might wait forever while other processes are busy.
func (w *Waiter) Wait(ctx context.Context, remaining time.Duration) error {
	// A lease that ends within this millisecond is reported as 0.
	w.refused(max(remaining, time.Millisecond))
	select {
	case <-w.woken:
		return ctx.Err() // an owner that gives up doesn't ask
	case <-w.timer.C:
		err := w.sub.Denied(ctx, w.channel, patience*w.lease)
		return cmp.Or(err, ctx.Err())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refused subscribes to the channel, if nobody has: an owner that finds the lock
// free pays for no subscription. A turn may have been told before.
func (w *Waiter) refused(remaining time.Duration) {
	s, q := w.sub, w.queue
	s.Lock()
	defer s.Unlock()
	q.roundTrip = time.Since(w.asked)
	w.due = time.Now().Add(remaining)
	w.timer.Reset(time.Until(w.due))
	q.askThen()
	if !q.listens {
		q.listens = true
		if s.Listen(w.channel) {
			q.wakeOne()
		}
	}
}

// most is how many owners one command names, so that no script keeps the server.
const most = 1000

// GiveUp leaves the server's queue, within a twentieth of a lease, although ctx
// has ended. One command at a time is under way, and the next one names all that
// have given up meanwhile. If it hangs, the next one is sent all the same.
func (w *Waiter) GiveUp(ctx context.Context,
	leave func(ctx context.Context, ids []any)) {
	q, within := w.queue, Turn(w.lease, 0)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	w.sub.Lock()
	q.leaving = append(q.leaving, w.id)
	w.sub.Unlock()
	timer := time.NewTimer(within / 2)
	defer timer.Stop()
	select {
	case q.sends <- struct{}{}:
		defer func() { <-q.sends }()
	case <-timer.C:
	}
	w.sub.Lock()
	n := min(len(q.leaving), most)
	ids := q.leaving[:n]
	q.leaving = q.leaving[n:]
	w.sub.Unlock()
	if n > 0 {
		leave(ctx, ids)
	}
}

// Leave takes the waiter out of the queue. One that has the lock has taken its
// turn. One that leaves without may have been the only one to hear of a turn, or
// of its end, and so wakes the next.
func (w *Waiter) Leave(granted bool) {
	s, q := w.sub, w.queue
	s.Delist()
	s.Lock()
	defer s.Unlock()
	w.timer.Stop()
	q.waiters.Remove(w.place)
	delete(q.named, w.id)
	if granted {
		q.over = time.Time{}
	}
	if q.waiters.Len() == 0 {
		s.Leave(w.channel)
	} else if !granted {
		q.wakeOne()
	}
}

// hear is for a message: the owner id that has the turn, and for how many
// milliseconds. It wakes that one and nobody else.
func (q *queue) hear(message string) {
	id, turn, _ := strings.Cut(message, " ")
	if ms, err := strconv.Atoi(turn); err == nil {
		q.over = time.Now().Add(time.Duration(ms) * time.Millisecond)
		q.askThen()
	}
	if w, ok := q.named[id]; ok {
		notice(w.woken)
	}
}

// askThen has the first waiter ask when the newest turn is over, if it would not ask
// before, and did not ask since. It has one timer for both, so that it doesn't ask twice.
func (q *queue) askThen() {
	w := q.waiters.Front().Value.(*Waiter)
	at := w.due
	if q.over.After(w.asked) && q.over.Before(at) {
		at = q.over
	}
	w.timer.Reset(time.Until(at))
}

// wakeOne wakes the first waiter that has no news yet.
func (q *queue) wakeOne() {
	for e := q.waiters.Front(); e != nil; e = e.Next() {
		if notice(e.Value.(*Waiter).woken) {
			return
		}
	}
}

// wakeAll is for a client that is closed: each is told so by the driver.
func (q *queue) wakeAll() {
	for e := q.waiters.Front(); e != nil; e = e.Next() {
		notice(e.Value.(*Waiter).woken)
	}
}

// roundTrips is how many of its own round trips a turn is kept for a waiter at
// least. The message must reach it, and its question the server. If it does not
// listen yet, it has to be refused, to connect and to subscribe before.
const roundTrips = 5

// Turn is how long the server is to keep a turn for an owner whose round trip
// takes so long. A third of a lease is the most: so much do the others lose
// when its process is dead.
func Turn(lease, roundTrip time.Duration) time.Duration {
	return max(min(roundTrips*roundTrip, lease/3), lease/20, time.Millisecond)
}

// Listening counts the rdb values with waiters. A test asks what stays behind.
func Listening() int { return subscriptions.Len() }

// notice leaves a notice where none is yet.
func notice(c chan struct{}) bool {
	select {
	case c <- struct{}{}:
		return true
	default:
		return false
	}
}
