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
			wakeOne(&q.of[reader])
		}
		wakeOne(&q.of[writer])
	},
	Confirmed: func(q *queues, _ string) {
		wakeOne(&q.of[reader])
		wakeOne(&q.of[writer])
	},
	Closed: func(q *queues) { // one of each kind leaves, and wakes the next
		wakeOne(&q.of[reader])
		wakeOne(&q.of[writer])
	},
}

// queues are those of a channel: of its readers, and of its writers, in the
// order to wake them. Of either kind one waiter is woken at a time. A reader
// that gets in wakes all others, for nothing keeps them out; one that doesn't
// has asked for all of them.
type queues struct {
	sub    *subscription.Subscription[*queues]
	of     [1 + writer]list.List
	seen   string // what the newest answer to a reader has said, see read.lua
	passed int    // how many releases in a row were to hand the lock over
}

func (q *queues) empty() bool {
	return q.of[reader].Len()+q.of[writer].Len() == 0
}

// waiter is one call of Lock or RLock that was refused, or need not ask.
type waiter struct {
	sub     *subscription.Subscription[*queues]
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
	s := subscriptions.Enlist(rdb)
	w := &waiter{sub: s, channel: channel, role: as,
		woken: make(chan grant, 1)}
	s.Lock()
	defer s.Unlock()
	q, ok := s.Queues[channel]
	if !ok {
		q = &queues{sub: s}
		s.Queues[channel] = q
	}
	if q.of[as].Len() == 0 && s.Listen(channel) {
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
	subscriptions.Look(rdb, channel, func(q *queues) {
		if q.of[reader].Len() > 0 {
			q.sub.Waiters++
			w = &waiter{sub: q.sub, channel: channel, role: reader,
				woken: make(chan grant, 1)}
			w.place = q.of[reader].PushBack(w)
			seen = q.seen
		}
	})
	return w, seen
}

// saw takes down what an answer to a reader has said, for those that join it.
func (w *waiter) saw(seen string) {
	if w == nil {
		return
	}
	w.sub.Lock()
	defer w.sub.Unlock()
	w.sub.Queues[w.channel].seen = seen
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
	w.sub.Lock()
	defer w.sub.Unlock()
	w.next = with
}

// maxHandOvers is how many releases in a row may hand the lock over inside a
// process. The one after them lets the other processes in, which have no better
// chance than the process's own waiters. So it must not be long in coming.
const maxHandOvers = 4

// first is the writer of this process that a release is to hand the lock over
// to: none while readers of the process wait, and now and then, for the others.
func first(rdb redis.UniversalClient, channel string) (to next) {
	subscriptions.Look(rdb, channel, func(q *queues) {
		e := q.of[writer].Front()
		if e == nil || q.of[reader].Len() > 0 || q.passed == maxHandOvers {
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
	subscriptions.Look(rdb, channel, func(q *queues) {
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
	s.Delist()
	s.Lock()
	defer s.Unlock()
	q := s.Queues[w.channel]
	q.of[w.role].Remove(w.place)
	if !granted {
		wakeOne(&q.of[w.role])
	} else if w.role == reader {
		for e := q.of[reader].Front(); e != nil; e = e.Next() {
			notice(e.Value.(*waiter).woken, grant{})
		}
	}
	if q.empty() {
		s.Leave(w.channel)
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
