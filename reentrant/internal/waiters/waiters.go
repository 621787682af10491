// Package waiters is how fair and cohort wait for a lock whose server keeps a queue.
//
// The waiters of a process stand in a queue of their own. The first of them asks the
// server, for those that come meanwhile as well. On one connection for each rdb value
// they hear whose turn it is. Each asks again when it is its turn, or when another
// process's turn is over, and at the latest when the holder's lease should have ended.
package waiters

import (
	"cmp"
	"container/list"
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/internal/subscription"
)

// subscriptions wake the waiter whose turn it is.
var subscriptions = subscription.Set[*queue]{
	Told:      (*queue).hear,
	Confirmed: (*queue).confirmed,
	Closed:    (*queue).closed,
}

// queue has the owners of this process that want one lock. News for all
// processes comes on the lock's channel. The process also has a channel of its
// own, whose name the server makes of the lock's and the process's: there it
// hears that one of its owners has the turn.
type queue struct {
	channel string
	process string // the owner id of the first waiter of its rdb value
	own     string

	waiters   list.List          // in the order of their arrival
	asking    list.List          // those that are to ask; the first asks for all
	owner     map[string]*Waiter // by the owner id that each asks with
	listens   bool               // one was refused
	roundTrip time.Duration      // how long the newest answer took
	told      time.Time          // when another one's turn was told of, or left
	over      time.Time          // when that is over
	vacant    string             // an id of nobody here that was told its turn
	parting   *parting           // of those that give up, the newest
}

// Waiter is one call of Lock.
type Waiter struct {
	sub   *subscription.Subscription[*queue]
	queue *queue
	place *list.Element
	woken chan Grant // holds one element while there is news

	id     string        // the owner id
	asking *list.Element // nil while the server knows that it waits
	asked  time.Time     // when its question was sent that is under way
	behind []*Waiter     // those that it asks for
	named  string        // the owner id that a question has named

	lease time.Duration
	due   time.Time     // when to ask again
	after time.Duration // so much later than those before it
	timer *time.Timer   // at that time, or when another one's turn is over
}

// Grant is the news that a waiter has the lock, by a release that was sent
// then. The zero grant is any other news: the waiter is to ask.
type Grant struct {
	ID   string // the owner id that the lock was handed over to
	Sent time.Time
}

// Join puts a waiter at the end of the channel's queue. It is there before it
// asks: its turn may be told while the refusal is on its way.
func Join(rdb redis.UniversalClient, channel, id string,
	lease time.Duration) *Waiter {
	s := subscriptions.Enlist(rdb)
	w := &Waiter{sub: s, woken: make(chan Grant, 1),
		id: id, lease: lease, timer: time.NewTimer(lease)}
	s.Lock()
	defer s.Unlock()
	q, ok := s.Queues[channel]
	if !ok {
		s.Name = cmp.Or(s.Name, id)
		q = &queue{channel: channel, process: s.Name, own: channel + ":" + s.Name,
			owner: map[string]*Waiter{}}
		s.Queues[channel], s.Queues[q.own] = q, q
	}
	w.queue, q.owner[id] = q, w
	w.after = time.Duration(q.waiters.Len()%1000) * time.Microsecond
	w.place, w.asking = q.waiters.PushBack(w), q.asking.PushBack(w)
	return w
}

// Asks says whether the waiter is to ask the server. Of those that are to, the
// first asks, also for those that come until it does; and so on, when it was
// answered. A thousand that come at once are refused in two answers. A question
// may hang, with the connection that it was sent on: after a turn the next one
// asks for all.
func (w *Waiter) Asks() bool {
	w.sub.Lock()
	defer w.sub.Unlock()
	return w.asks()
}

// asks puts the waiter among those that are to ask.
func (w *Waiter) asks() bool {
	q, turn := w.queue, TurnOf(w.lease)
	if w.asking == nil {
		w.asking = q.asking.PushBack(w)
	}
	first := q.asking.Front().Value.(*Waiter)
	if first.isAsking() && time.Since(first.asked) >= turn {
		q.remove(first)
		q.lead()
	}
	if q.asking.Front() == w.asking {
		return true
	}
	w.timer.Reset(turn)
	return false
}

// isAsking says whether the waiter's question is under way.
func (w *Waiter) isAsking() bool { return !w.asked.IsZero() }

// most is how many owners one command names, so that no script keeps the server.
const most = 1000

// Ask returns the owner ids of those that the waiter asks for, besides its own, one
// whose turn the process gives back, "" for none, and how long an answer takes. A nil
// waiter does not wait, and asks for nobody.
func (w *Waiter) Ask(id string) (behind []any, vacant string, roundTrip time.Duration) {
	if w == nil {
		return nil, "", 0
	}
	w.sub.Lock()
	defer w.sub.Unlock()
	first := w.asks()
	w.rename(id)
	w.named, w.asked = id, time.Now()
	select {
	case <-w.woken: // by what came before the question
	default:
	}
	for e := w.asking.Next(); first && e != nil && len(behind) < most; e = e.Next() {
		other := e.Value.(*Waiter)
		other.named = other.id
		w.behind, behind = append(w.behind, other), append(behind, other.id)
	}
	vacant, w.queue.vacant = w.queue.vacant, ""
	return behind, vacant, w.queue.roundTrip
}

// Process is the name under which the waiter's process is told of its turns, ""
// for a nil waiter.
func (w *Waiter) Process() string {
	if w == nil {
		return ""
	}
	return w.queue.process
}

// Rename gives the waiter the owner id that it asks with from now on. One that
// asks for others names that one, and not one that was released.
func (w *Waiter) Rename(id string) {
	w.sub.Lock()
	defer w.sub.Unlock()
	w.rename(id)
}

func (w *Waiter) rename(id string) {
	delete(w.queue.owner, w.id)
	w.id, w.queue.owner[id] = id, w
}

// Answered takes down when the waiter and those that it has asked for are to
// ask again. When there was no answer, the others ask for themselves.
func (w *Waiter) Answered(err error, again, roundTrip time.Duration) {
	if w == nil {
		return
	}
	if again < 0 { // it has the lock, and they have its lease
		again = w.lease
	}
	w.sub.Lock()
	defer w.sub.Unlock()
	for _, other := range w.behind {
		if err == nil && other.asking != nil {
			other.known(again, w.asked)
		}
	}
	if roundTrip >= w.lease { // too late: it asks anew, also after a grant
		again = 0
	}
	w.known(again, w.asked)
	w.asked, w.behind, w.queue.roundTrip = time.Time{}, nil, roundTrip
	w.queue.lead()
}

// IsNamed says whether the server may have heard of the owner id.
func (w *Waiter) IsNamed(id string) bool {
	if w == nil {
		return false
	}
	w.sub.Lock()
	defer w.sub.Unlock()
	return w.named == id
}

// known is for a waiter that the server knows of, by another one's question
// perhaps, which was sent at that time.
func (w *Waiter) known(again time.Duration, sent time.Time) {
	w.queue.remove(w)
	// A lease that ends within this millisecond is reported as 0. Those that
	// wait for the same end ask one after the other, so that the first asks
	// for all.
	w.due = time.Now().Add(max(again, time.Millisecond) + w.after)
	w.timer.Reset(time.Until(w.due))
	if q := w.queue; w == q.first() && !sent.After(q.told) {
		q.askThen() // the answer may not know of it
	}
}

// remove takes a waiter out of those that are to ask.
func (q *queue) remove(w *Waiter) {
	if w.asking != nil {
		q.asking.Remove(w.asking)
		w.asking = nil
	}
}

// lead wakes the first of those that are to ask.
func (q *queue) lead() {
	if e := q.asking.Front(); e != nil && !e.Value.(*Waiter).isAsking() {
		notice(e.Value.(*Waiter).woken, Grant{})
	}
}

// patience is for how many leases the channels may be unconfirmed.
const patience = 2

// Wait ends when the waiter has the lock, or is to ask for it because it is its
// turn or for another reason, or with the context's error. It also ends with the
// server's error where the process may not use its channel: it would not hear of its
// turns, and might wait forever while another process is busy.
func (w *Waiter) Wait(ctx context.Context) (Grant, error) {
	w.listen()
	for {
		select {
		case handed := <-w.woken:
			return handed, ctx.Err() // an owner that gives up doesn't ask
		case <-w.timer.C:
			err := w.sub.Denied(ctx, w.queue.own, patience*w.lease)
			if err != nil {
				return Grant{}, err
			}
			if w.Asks() {
				return Grant{}, ctx.Err()
			}
		case <-ctx.Done():
			return Grant{}, ctx.Err()
		}
	}
}

// listen subscribes to the channel, if nobody has: an owner that finds the lock
// free pays for no subscription. A turn may be told before the subscription
// stands. When that is confirmed somebody asks once more.
func (w *Waiter) listen() {
	s, q := w.sub, w.queue
	s.Lock()
	defer s.Unlock()
	if q.listens {
		return
	}
	q.listens = true
	if s.Listen(q.channel, q.own) {
		q.confirmed(q.own)
	}
}

// parting is a command with which waiters leave the server's queue.
type parting struct {
	ids  []any
	full bool          // it is sent, or names as many as it may
	done chan struct{} // closed when it was answered
}

// GiveUp leaves the server's queue, within some time. The first of those that give up
// at once sends a command for itself, and when that is answered, or takes too long,
// the next one sends one for all that have come meanwhile.
func (w *Waiter) GiveUp(within time.Duration,
	leave func(ids []any, within time.Duration)) {
	end := time.Now().Add(within)
	mine, before := w.part()
	if before == nil {
		wait(mine.done, end)
		return
	}
	wait(before.done, time.Now().Add(within/2))
	w.sub.Lock()
	mine.full = true
	w.sub.Unlock()
	leave(mine.ids, time.Until(end))
	close(mine.done)
}

// part puts the waiter among those that give up. The first of a command sends it, when
// the one before was answered, which is nil for all others.
func (w *Waiter) part() (mine, before *parting) {
	w.sub.Lock()
	defer w.sub.Unlock()
	q := w.queue
	if q.parting == nil || q.parting.full {
		before, q.parting = q.parting, &parting{done: make(chan struct{})}
		if before == nil {
			before = &parting{done: make(chan struct{})}
			close(before.done)
		}
	}
	q.parting.ids = append(q.parting.ids, w.id)
	q.parting.full = len(q.parting.ids) == most
	return q.parting, before
}

// wait ends with done, or at some time.
func wait(done chan struct{}, end time.Time) {
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// Leave takes the waiter out of the queue. If it was the one to ask for others,
// or when another one's turn is over, the next one does.
func (w *Waiter) Leave(granted bool) {
	s, q := w.sub, w.queue
	s.Delist()
	s.Lock()
	defer s.Unlock()
	w.timer.Stop()
	q.waiters.Remove(w.place)
	delete(q.owner, w.id)
	q.remove(w)
	q.lead()
	if q.waiters.Len() == 0 {
		s.Leave(q.channel, q.own)
	} else if !granted && time.Now().Before(q.over) {
		q.askThen() // it has looked after that turn
	} else if !granted {
		q.lookAfterATurn()
	}
}

// confirmed has one ask, when the queue's own channel is confirmed, and with it the
// other one: if that waiter is refused because of a turn, the turn is told once more.
func (q *queue) confirmed(channel string) {
	if channel == q.own {
		q.ask()
	}
}

// ask wakes the first whose question isn't under way.
func (q *queue) ask() {
	w := q.waiters.Front()
	for w != q.waiters.Back() && w.Value.(*Waiter).isAsking() {
		w = w.Next()
	}
	notice(w.Value.(*Waiter).woken, Grant{})
}

// closed wakes all: each is told by the driver that the client is closed.
func (q *queue) closed() {
	for _, w := range q.owner {
		notice(w.woken, Grant{})
	}
}

// hear is for a message: the owner id that has the turn, and the name of its process
// behind a space. A process that has no such owner gives the turn back with its next
// question, because nobody will come for it. The name is missing where a turn is told
// once more, and no id is told when somebody is to ask.
func (q *queue) hear(message string) {
	id, own := strings.CutSuffix(message, " "+q.process)
	_, here := q.owner[id]
	switch {
	case message == "":
		q.ask()
	case own && !here:
		q.vacant = id
		q.ask()
	default:
		q.tell(id, Grant{})
	}
}

// tell wakes the waiter that has the turn or the lock, and nobody else. Another
// process may be dead, and somebody must ask when its turn is over.
func (q *queue) tell(id string, handed Grant) {
	if w, ok := q.owner[id]; ok {
		notice(w.woken, handed)
	} else {
		q.lookAfterATurn()
	}
}

// lookAfter has the first waiter ask when a turn that begins now is over.
func (q *queue) lookAfter(turn time.Duration) {
	q.told = time.Now()
	q.over = q.told.Add(turn)
	q.askThen()
}

// lookAfterATurn is for one of which the first waiter's own is the best guess.
func (q *queue) lookAfterATurn() { q.lookAfter(TurnOf(q.first().lease)) }

// askThen has the first waiter ask when that turn is over, if it would not ask
// before.
func (q *queue) askThen() {
	w := q.first()
	w.timer.Reset(min(time.Until(q.over), time.Until(w.due)))
}

func (q *queue) first() *Waiter { return q.waiters.Front().Value.(*Waiter) }

// Next is the first waiter for a lock in this process, as a release names it.
type Next struct {
	ID    string
	Lease time.Duration
}

// First is the first one whom the server knows to wait, besides the one that
// releases the lock: zero when there is none.
func First(rdb redis.UniversalClient, channel, releases string) (n Next) {
	subscriptions.Look(rdb, channel, func(q *queue) {
		for e := q.waiters.Front(); e != nil; e = e.Next() {
			if w := e.Value.(*Waiter); w.id != releases && w.asking == nil {
				n = Next{w.id, w.lease}
				return
			}
		}
	})
	return n
}

// Released passes the news of a release on, whose reply was one of release.lua's.
// It named a waiter of this process, by its id. That one has the lock since the
// release was sent, or is to ask: the zero time. If it was to look after a turn
// and nobody waits any more, besides the one that releases the lock, all
// processes are told.
func Released(ctx context.Context, rdb redis.UniversalClient, channel, releases,
	id string, sent time.Time, reply int, err error) {
	waits := false
	subscriptions.Look(rdb, channel, func(q *queue) {
		waits = q.waiters.Len() > 1 || q.first().id != releases
		switch {
		case err != nil: // it may be lost, and have said 2
			q.tell(id, Grant{})
		case reply == 2 && sent.IsZero():
			q.tell(id, Grant{})
		case reply == 2:
			q.tell(id, Grant{id, sent})
		case reply < 0:
			q.lookAfter(time.Duration(-reply) * time.Millisecond)
		}
	})
	if reply < 0 && err == nil && !waits {
		// Without it the others ask when a lease is over.
		subscription.Publish(ctx, rdb, channel)
	}
}

// Listening counts the rdb values with waiters. A test asks what stays behind.
func Listening() int {
	return subscriptions.Len()
}

// notice leaves news where none is yet. A waiter that has missed a grant asks,
// and finds it.
func notice[T any](c chan T, news T) {
	select {
	case c <- news:
	default:
	}
}
