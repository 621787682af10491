package cohort

import (
	"cmp"
	"context"
	_ "embed"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/internal/waiters"
)

//go:embed acquire.lua
var acquireSource string
var acquire = redis.NewScript(acquireSource)

//go:embed release.lua
var releaseSource string
var release = redis.NewScript(releaseSource)

//go:embed renew.lua
var renewSource string
var renew = redis.NewScript(renewSource)

// Lock is one owner of the lock at a key, used by one goroutine at a time.
type Lock struct {
	rdb  redis.UniversalClient
	key  string
	ttl  time.Duration
	opts *lock.Options

	token string // the owner id, "" when it is left to the others of the cohort

	lease *lease // the newest that it has held and not passed on

	count         int         // how often this owner is inside
	tokenReleased bool        // token was sent with an outermost release
	busy          atomic.Bool // a goroutine is inside a call

	remaining time.Duration // of the holder's lease or a turn, at the newest refusal

	lost   chan struct{} // closed when the newest grant's lease is gone
	cohort *cohort       // the newest that this owner has joined
	fenced bool          // its grants have fencing tokens
	fence  uint64        // the newest grant's
}

var _ lock.Lock = (*Lock)(nil)
var _ lock.LossNotifier = (*Lock)(nil)

// New makes an owner of the lock at key. It sends nothing. Its errors wrap
// lock.ErrInvalid.
func New(rdb redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (*Lock, error) {
	o, err := lock.Configure([]redis.UniversalClient{rdb}, key, ttl, opts)
	if err = cmp.Or(err, lock.CanSubscribe(rdb)); err != nil {
		return nil, err
	}
	return &Lock{rdb: rdb, key: key, ttl: ttl, opts: o}, nil
}

// TryLock makes one attempt; an owner that is inside enters once more. Behind
// another owner of this process it is refused, and no server is asked. (false,
// err) means unknown: the lock may have been granted at the server, and asking
// again finds that out. It returns lock.ErrLost when the owner was inside and
// its lease is gone, and lock.ErrBusy to a second goroutine.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	if !l.busy.CompareAndSwap(false, true) {
		return false, lock.Failed(ctx, "acquire", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	if l.count == 0 {
		if !l.join(ctx, false) {
			return false, nil
		}
		defer l.leave(ctx)
	}
	return l.tryLock(ctx, nil)
}

// tryLock asks the server, for the goroutine that has made the handle busy. An
// owner that is not inside has the local lock of its cohort.
func (l *Lock) tryLock(ctx context.Context, w *waiters.Waiter) (bool, error) {
	c, old, tokens := l.cohort, "", 0
	if l.count == 0 {
		// An owner that gives up sends nothing, and leave takes its id out of
		// the server's queue.
		err := lock.ContextErr(ctx)
		if err == nil { // first, so that no renewal follows the id's end
			err = c.given.end(ctx)
		}
		if err != nil {
			return false, lock.Failed(ctx, "acquire", l.key, err)
		}
		// An id that was sent with a release is never used again: the release
		// may still be on its way. An id whose acquisition was not answered is
		// kept for the owner of this process that asks next.
		if c.id == "" {
			c.id, c.queued = l.opts.Token(), false
		}
		l.token, l.tokenReleased = c.id, false
		c.open, c.queued = true, c.queued || w != nil
		old, tokens = c.old, c.block()
	}
	turn := w.Asks(l.token)
	sent := time.Now()
	reply, err := acquire.Run(ctx, lock.Bounded(l.rdb),
		l.keys(), l.token, l.ttl.Milliseconds(), l.count+1, w != nil,
		turn.Milliseconds(), old, tokens).Int64()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	granted := reply > 0
	l.remaining = time.Duration(-reply) * time.Millisecond
	if l.count > 0 {
		return l.reenter(ctx, granted)
	}
	c.old, c.open = "", false
	// The lease counts from before the command was sent. When the reply took
	// longer than that, the lease is over and somebody else may have the lock.
	if granted && time.Since(sent) >= l.ttl {
		c.id, l.tokenReleased = "", true
		return false, lock.IgnoreNotHeld(
			l.release(ctx, l.token, 0, tokens, l.ttl))
	}
	if granted {
		c.hold(l, sent, uint64(reply))
	}
	return granted, nil
}

// reenter counts one more level, unless the lease of the outermost one is gone:
// that holder must not believe that it still, or again, holds the lock.
func (l *Lock) reenter(ctx context.Context, granted bool) (bool, error) {
	if !granted || lock.IsLost(l) {
		return false, lock.Failed(ctx, "enter again", l.key, lock.ErrLost)
	}
	l.count++
	return true, nil
}

// Lock waits until the lock is granted or ctx ends. First it waits in the local
// queue of this process. Usually the previous owner hands it the lock;
// otherwise it asks the server. It asks again when a message says that it is
// this process's turn, and at the latest when the holder's lease should have
// ended. It returns network errors, and all other errors of TryLock, at once.
func (l *Lock) Lock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "acquire", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	if l.count > 0 {
		_, err := l.tryLock(ctx, nil)
		return err
	}
	if !l.join(ctx, true) {
		return lock.Failed(ctx, "wait for", l.key, ctx.Err())
	}
	if l.count > 0 {
		return nil // passed on
	}
	defer l.leave(ctx)
	c := l.cohort
	if c.waiter == nil {
		c.waiter = waiters.Join(l.rdb, lock.SecondKey(l.key, "turn"), l.ttl)
	}
	for {
		granted, err := l.tryLock(ctx, c.waiter)
		if granted || err != nil {
			return err
		}
		if err := c.waiter.Wait(ctx, l.remaining); err != nil {
			return lock.Failed(ctx, "wait for", l.key, err)
		}
	}
}

// Unlock leaves one level, and the outermost one passes the lock on or releases
// it. It returns lock.ErrNotHeld when there was nothing to release, and
// lock.ErrBusy to a second goroutine. After any other error the level counts as
// left. If it was the outermost one, the lock may still be held at the server
// until its lease ends, and Unlock may be called again.
func (l *Lock) Unlock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "release", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	left, unused := max(l.count-1, 0), 0
	l.count = left
	if left == 0 {
		l.tokenReleased = true
		passed, alone := l.cohort.handOver(l)
		if passed {
			return nil
		}
		if alone { // no owner of the cohort asks before the release is answered
			defer l.leave(ctx)
			unused = l.cohort.unused
		}
		l.lease.end(context.Background()) // no renewal follows the release
	}
	return l.release(ctx, l.token, left, unused, l.ttl)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
func (l *Lock) Lost() <-chan struct{} {
	l.expire() // a process that has just woken comes before its timer
	return l.lost
}

// release has a context of its own, which ends after within: the caller's has
// often ended when a deferred Unlock runs. It gives back fencing tokens that
// were reserved and not used.
func (l *Lock) release(ctx context.Context, token string, left, unused int,
	within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	released, err := release.Run(ctx, lock.Once(l.rdb), l.keys(),
		token, l.ttl.Milliseconds(), left, unused).Int()
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if released == 0 {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	return nil
}

// keys are the lock, its queue, its turn, which is also a channel, its waiters,
// and the counter of its fencing tokens.
func (l *Lock) keys() []string {
	return []string{l.key, lock.SecondKey(l.key, "queue"),
		lock.SecondKey(l.key, "turn"), lock.SecondKey(l.key, "waiters"),
		lock.SecondKey(l.key, "token")}
}
