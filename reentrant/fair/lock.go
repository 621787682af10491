package fair

import (
	"cmp"
	"context"
	_ "embed"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/diamond/watchdog"
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

	token string // the owner id, of the newest outermost acquisition

	lease *watchdog.Lease // of the newest grant, nil before the first

	count         int           // how often this owner is inside
	tokenReleased bool          // token was sent with an outermost release
	busy          atomic.Bool   // a goroutine is inside a call
	roundTrip     time.Duration // how long the newest answer took
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

// TryLock makes one attempt; an owner that is inside enters once more. (false,
// err) means unknown: the lock may have been granted at the server, and asking
// again finds that out. It returns lock.ErrLost when the owner was inside and
// its lease is gone, and lock.ErrBusy to a second goroutine.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	if !l.busy.CompareAndSwap(false, true) {
		return false, lock.Failed(ctx, "acquire", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	return l.tryLock(ctx, nil, waiters.Grant{})
}

// tryLock asks the server, for the goroutine that has made the handle busy,
// unless a neighbor's release has handed the lock over to its waiter.
func (l *Lock) tryLock(ctx context.Context, w *waiters.Waiter,
	handed waiters.Grant) (bool, error) {
	granted, sent := l.id() == handed.ID, handed.Sent
	if !granted {
		var err error
		if granted, sent, err = l.ask(ctx, w); err != nil {
			return false, lock.Failed(ctx, "acquire", l.key, err)
		}
	}
	if l.count > 0 {
		return l.reenter(ctx, granted)
	}
	if granted {
		l.lease.Stop() // before the clock is read: stopping may take a while
	}
	// The lease counts from before the command was sent. When the reply took
	// longer than that, the lease is over and somebody else may have the lock.
	if granted && time.Since(sent) >= l.ttl {
		return false, l.undoGrant(ctx)
	}
	if granted {
		l.count = 1
		l.watch(l.token, sent)
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

// Lock waits until the lock is granted or ctx ends. It asks again when it is
// its turn, and at the latest when the holder's lease should have ended: a
// message may be lost. It returns network errors, and all other errors of
// TryLock, at once.
func (l *Lock) Lock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "acquire", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	if l.count > 0 {
		_, err := l.tryLock(ctx, nil, waiters.Grant{})
		return err
	}
	w := waiters.Join(l.rdb, channel(l.key), l.id(), l.ttl)
	defer func() { w.Leave(l.count > 0) }()
	var handed waiters.Grant
	for asks := w.Asks(); ; asks = true {
		if asks {
			granted, err := l.tryLock(ctx, w, handed)
			if granted || err != nil {
				return err
			}
		}
		if handed.ID != "" { // too late, so it asks anew
			handed = waiters.Grant{}
			continue
		}
		var err error
		if handed, err = w.Wait(ctx); err != nil {
			l.giveUp(ctx, w)
			return lock.Failed(ctx, "wait for", l.key, err)
		}
	}
}

// Unlock leaves one level, and the outermost one releases the lock. It returns
// lock.ErrNotHeld when there was nothing to release, and lock.ErrBusy to a
// second goroutine. After any other error the level counts as left, so that
// every Lock has one Unlock. Only the outermost one may be called again: the
// lock may still be held at the server, until its lease ends.
func (l *Lock) Unlock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "release", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	// The handle's own count decides, whatever becomes of the command: were a
	// level kept after an error, the outermost Unlock would free nothing.
	left := max(l.count-1, 0)
	l.count = left
	if left == 0 {
		l.lease.Stop() // stopped first: no renewal may follow the release
		l.tokenReleased = true
	}
	return l.release(ctx, left, l.next(), l.ttl)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
func (l *Lock) Lost() <-chan struct{} { return l.lease.Lost() }

// release has a context of its own, which ends after within: the caller's has
// often ended when a deferred Unlock runs. If the server has handed the lock
// over to the next owner of this process, release wakes that owner.
func (l *Lock) release(ctx context.Context, left int, to waiters.Next,
	within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	sent := time.Now()
	released, err := release.Run(ctx, lock.Once(l.rdb), l.keys(), l.token,
		l.ttl.Milliseconds(), left, to.ID, to.Lease.Milliseconds()).Int()
	waiters.Released(ctx, l.rdb, channel(l.key), l.token, to.ID, sent, released,
		err)
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if released == 0 {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	return nil
}

// watch starts a grant's watchdog.
func (l *Lock) watch(token string, sent time.Time) {
	renewal := func(ctx context.Context) (bool, error) {
		return renew.Run(ctx, lock.Bounded(l.rdb), []string{l.key}, token,
			l.ttl.Milliseconds()).Bool()
	}
	l.lease = watchdog.Watch(l.ttl, sent, l.opts.FixedLease, renewal)
}
