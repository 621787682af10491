package cohort

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/internal/waiters"
)

// maxHandOvers is how often a lease is passed on inside a process before the
// other processes have their turn at the server.
const maxHandOvers = 16

// cohorts are those in use. The owner that gives up the local lock when nobody
// else wants it ends the cohort, so nothing stays behind here. The mutex guards
// them all, and is never held while the client is called.
var cohorts = struct {
	sync.Mutex
	of map[setting]*cohort
}{of: map[setting]*cohort{}}

// setting is what the owners of a cohort have in common. They pass on a lease,
// so it must be the same lease to all of them.
type setting struct {
	rdb    redis.UniversalClient
	key    string
	ttl    time.Duration
	fixed  bool // nothing renews it
	fenced bool
}

// cohort is the owners in one process that hold a lock or wait for it. One of
// them has the local lock, as Dice, Marathe and Shavit call it: it may ask the
// server, hold the lock and release it. The others are in the local queue.
type cohort struct {
	setting

	queue  *list.List // of *member: who waits for the local lock, in order
	holder *Lock      // who has the local lock and the server's
	lease  *lease     // the server's newest grant, while it runs

	// While there is a holder the mutex guards these; else they belong to the
	// owner that has the local lock.
	id     string // the owner id to ask with, or to hold with; "" when released
	old    string // one that is given up when the server is asked again
	given  *lease // the newest that is given up: its watchdog must stop
	open   bool   // id's newest question wasn't answered: it may have the lock
	queued bool   // id may be in the server's queue
	passed int    // how often the lease was passed on
	fence  uint64 // the fencing token of the next holder
	unused int    // how many such tokens were reserved

	waiter *waiters.Waiter // for a turn at the server; nil until it is asked
}

// member is an owner that waits for the local lock.
type member struct {
	lock    *Lock
	granted chan struct{} // closed when it has the local lock
	place   *list.Element // in the local queue
}

// lease is a grant of the server. Several owners may hold it one by one.
type lease struct {
	*watchdog.Lease
	sent time.Time   // before the command was sent that began it
	over *time.Timer // tells the holder when it is over by the local clock
}

// join makes an owner one of its process's cohort. It waits for the local lock,
// or not at all. When it returns true the owner has the local lock, and perhaps
// the server's as well, passed on by the owner before it.
func (l *Lock) join(ctx context.Context, wait bool) bool {
	w := l.enqueue(wait)
	if w == nil {
		return false
	}
	select {
	case <-w.granted:
	case <-ctx.Done():
		cohorts.Lock()
		defer cohorts.Unlock()
		select {
		case <-w.granted: // at this moment
		default:
			l.cohort.queue.Remove(w.place)
			return false
		}
	}
	c := l.cohort
	// An id whose acquisition was not answered may be held at the server.
	switch {
	case l.count > 0 || l.tokenReleased || l.token == "":
	case c.id == "":
		c.id = l.token
	case c.id != l.token && c.old == "":
		c.old = l.token
	}
	return true
}

// enqueue puts an owner at the end of the local queue. It returns nil when the
// process has a cohort already and the owner is not to wait.
func (l *Lock) enqueue(wait bool) *member {
	s := setting{l.rdb, l.key, l.ttl, l.opts.FixedLease, l.fenced}
	cohorts.Lock()
	defer cohorts.Unlock()
	c, ok := cohorts.of[s]
	if ok && !wait {
		return nil
	}
	if !ok {
		c = &cohort{setting: s, queue: list.New()}
		cohorts.of[s] = c
	}
	l.cohort = c
	w := &member{lock: l, granted: make(chan struct{})}
	w.place = c.queue.PushBack(w)
	if !ok {
		c.next()
	}
	return w
}

// leave gives up the local lock of an owner that is not inside. When nobody of
// the process waits for it, nothing must stay behind at the server: no grant
// that was to be passed on, and no place in the queue.
func (l *Lock) leave(ctx context.Context) {
	if l.count > 0 || l.pass(false) {
		return
	}
	defer l.pass(true) // also when a driver's hook panics or ends the goroutine
	c := l.cohort
	if c.old != "" {
		c.given.end(ctx) // or it would be renewed forever
		l.release(ctx, c.old, 0, c.unused, waiters.Turn(c.ttl, 0))
		c.old = ""
	}
	if !c.open && c.queued && c.id != "" {
		l.release(ctx, c.id, 0, 0, waiters.Turn(c.ttl, 0))
		c.id = ""
	}
}

// pass gives the local lock to the next owner, and says whether it did. When
// nobody waits, the owner keeps the local lock, or if it is done with the
// server, ends the cohort. Then it keeps an id that was not answered for
// itself.
func (l *Lock) pass(done bool) bool {
	c := l.cohort
	cohorts.Lock()
	defer cohorts.Unlock()
	alone := c.queue.Len() == 0
	if alone && !done {
		return false
	}
	if !l.tokenReleased {
		l.token = ""
	}
	if alone && c.id != "" {
		l.token, l.tokenReleased = c.id, false
	}
	c.next()
	return true
}

// next gives the local lock to the first of the local queue, and ends the
// cohort when nobody waits there.
func (c *cohort) next() {
	if first := c.queue.Front(); first != nil {
		close(c.queue.Remove(first).(*member).granted)
		return
	}
	delete(cohorts.of, c.setting)
	if c.waiter != nil {
		c.waiter.Leave(false)
	}
}

// block is how many fencing tokens are reserved for a lease: one for each owner
// that may hold it.
func (c *cohort) block() int {
	switch {
	case !c.fenced:
		return 0
	case c.fixed:
		return 1
	}
	return 1 + maxHandOvers
}

// hold makes the owner that has the local lock the holder of a new lease.
func (c *cohort) hold(l *Lock, sent time.Time, fence uint64) {
	cohorts.Lock()
	defer cohorts.Unlock()
	c.passed, c.fence, c.unused = 0, fence, c.block()
	c.lease = c.watch(sent)
	c.admit(l)
}

// admit makes an owner the holder of the lease.
func (c *cohort) admit(l *Lock) {
	c.holder = l
	l.count, l.token, l.tokenReleased = 1, c.id, false
	l.lease, l.lost = c.lease, make(chan struct{})
	if c.fenced {
		l.fence = c.fence
		c.fence++
		c.unused--
	}
}

// handOver passes the local lock to the next owner of the process. The lease
// goes with it while the limits allow; otherwise the next owner has to give up
// the old lease and ask the server for a new one. passed says that there was a
// next owner. alone says that there was none: then the caller keeps the local
// lock, and must release the lock at the server. If both are false, the caller
// was not the holder, or its lease is gone.
func (c *cohort) handOver(l *Lock) (passed, alone bool) {
	l.expire()
	cohorts.Lock()
	defer cohorts.Unlock()
	if c == nil || c.holder != l {
		return false, false
	}
	c.holder = nil
	first := c.queue.Front()
	if first == nil {
		c.id, c.lease = "", nil
		return false, true
	}
	l.token, l.lease = "", nil
	// The age limit leaves the next owner at least two thirds of the lease,
	// even if no renewal got through. A fixed lease is never renewed, and each
	// owner was promised a whole one.
	young := time.Since(c.lease.sent) < c.ttl/3
	if c.passed < maxHandOvers && !c.fixed && young {
		c.passed++
		c.admit(first.Value.(*member).lock)
	} else {
		c.old, c.given, c.id = c.id, c.lease, ""
	}
	c.next()
	return true, false
}

// expire tells an owner that its lease is over by the local clock: the holder
// of a process that has just woken may look before the lease's timer does.
func (l *Lock) expire() {
	cohorts.Lock()
	defer cohorts.Unlock()
	if l.lease != nil && lock.IsLost(l.lease) {
		l.cohort.closeLost(l.lease)
	}
}

// closeLost tells the holder that the lease is gone, if it is still the
// cohort's, and gives the local lock to the next owner, which asks the server.
func (c *cohort) closeLost(gone *lease) {
	if c.lease != gone {
		return
	}
	c.lease = nil
	if c.holder != nil {
		close(c.holder.lost)
		c.holder, c.id = nil, ""
		c.next()
	}
}

// end has the lease's watchdog stop, and waits until it has, or until ctx ends:
// a renewal may be under way, and take a third of the lease.
func (l *lease) end(ctx context.Context) error {
	if l == nil {
		return nil
	}
	_, err := lock.Within(ctx, func() (any, error) {
		l.Stop()
		l.over.Stop()
		return nil, nil
	})
	return err
}

// watch starts a lease's watchdog. It belongs to the cohort: when the server or
// the local clock says that the lease is gone, the holder of that moment is told.
func (c *cohort) watch(sent time.Time) *lease {
	watched, token := &lease{sent: sent}, c.id
	lose := func() {
		cohorts.Lock()
		defer cohorts.Unlock()
		c.closeLost(watched)
	}
	watched.over = time.AfterFunc(time.Until(sent.Add(c.ttl)), lose)
	renewal := func(ctx context.Context) (bool, error) {
		sent := time.Now()
		extended, err := renew.Run(ctx, lock.Bounded(c.rdb), []string{c.key}, token,
			c.ttl.Milliseconds()).Bool()
		if extended {
			watched.over.Reset(time.Until(sent.Add(c.ttl)))
		} else if err == nil {
			lose()
		}
		return extended, err
	}
	watched.Lease = watchdog.Watch(c.ttl, sent, c.fixed, renewal)
	return watched
}
