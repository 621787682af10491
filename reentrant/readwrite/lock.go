package readwrite

import (
	"cmp"
	"context"
	_ "embed"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/lock"
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

	count         int         // how often this owner is inside
	tokenReleased bool        // token was sent with an outermost release
	busy          atomic.Bool // a goroutine is inside a call

	remaining time.Duration // of the holder's lease, at the newest refusal

	reading        // what the owner is as a reader, see read.go
	fence   uint64 // the fencing token of the newest write grant
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
// its lease is gone, lock.ErrUpgrade when the owner is inside as a reader only,
// and lock.ErrBusy to a second goroutine.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	if !l.busy.CompareAndSwap(false, true) {
		return false, lock.Failed(ctx, "acquire", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	return l.tryLock(ctx, false)
}

// tryLock is TryLock for the goroutine that has made the handle busy.
func (l *Lock) tryLock(ctx context.Context, wait bool) (bool, error) {
	if err := l.askAs(ctx, writer); err != nil {
		return false, err
	}
	// An id that was sent with a release is never used again: the release may
	// still be on its way, and must not find the next acquisition under it. An
	// id whose acquisition was not answered is kept: asking again under it
	// finds the caller's own grant.
	if l.token == "" || l.tokenReleased {
		l.token, l.tokenReleased = l.opts.Token(), false
	}
	sent := time.Now()
	reply, err := acquire.Run(ctx, lock.Bounded(l.rdb), l.keys(),
		l.token, l.ttl.Milliseconds(), l.count+1, wait).Int64()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	granted := reply > 0
	l.remaining = time.Duration(-reply) * time.Millisecond
	if l.count > 0 {
		return l.reenter(ctx, granted, &l.count)
	}
	if granted {
		l.lease.Stop() // before the clock is read: stopping may take a while
	}
	// The lease counts from before the command was sent. When the reply took
	// longer than that, the lease is over and somebody else may have the lock.
	if granted && time.Since(sent) >= l.ttl {
		return false, l.giveBack(ctx, l.ttl)
	}
	if granted {
		l.count, l.fence = 1, uint64(reply)
		l.watch(l.token, sent)
	}
	return granted, nil
}

// reenter counts one more level, unless the lease of the outermost one is gone:
// that holder must not believe that it still, or again, holds the lock.
func (l *Lock) reenter(ctx context.Context, granted bool,
	n *int) (bool, error) {
	if !granted || lock.IsLost(l) {
		return false, lock.Failed(ctx, "enter again", l.key, lock.ErrLost)
	}
	*n++
	return true, nil
}

// Lock waits until the lock is granted or ctx ends, and holds new readers back.
// It asks again when a message says that the lock was released, and at the
// latest after a third of its own lease. It returns network errors, and all
// other errors of TryLock, at once. After such an error new readers may be held
// back for up to one more lease.
func (l *Lock) Lock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "acquire", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	var w *waiter
	for {
		granted, err := l.tryLock(ctx, true)
		if granted || err != nil {
			return err
		}
		// Joined only after the first refusal: a client that finds the lock
		// free pays for no subscription. A release may have happened before the
		// subscription was active, so a waiter asks again when it is confirmed.
		if w == nil {
			w = join(l.rdb, l.channel(), writer)
			defer func() { l.leave(ctx, w, l.count > 0) }()
		}
		if err := w.wait(ctx, min(l.remaining, l.ttl/3)); err != nil {
			return lock.Failed(ctx, "wait for", l.key, err)
		}
	}
}

// Unlock leaves one level, and the outermost one releases the lock, but not
// this owner's read locks: nobody writes in between. It returns lock.ErrNotHeld
// when there was nothing to release, and lock.ErrBusy to a second goroutine.
// After any other error the level counts as left, so that every Lock has one
// Unlock. Only the outermost one may be called again: the lock may still be
// held at the server, until its lease ends or the owner's reading is renewed.
func (l *Lock) Unlock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "release", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	// The handle's own count decides, whatever becomes of the command: were a
	// level kept after an error, the outermost Unlock would free nothing.
	left := max(l.count-1, 0)
	l.count = left
	if left+l.reads == 0 {
		l.lease.Stop() // stopped first: no renewal may follow the release
		l.tokenReleased = true
	}
	defer l.keptReading.Store(left == 0 && l.reads > 0)
	return l.release(ctx, writer, l.ttl)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
func (l *Lock) Lost() <-chan struct{} { return l.lease.Lost() }

// release has a context of its own, which ends after d: the caller's has often
// ended when a deferred Unlock runs. A writer has the other role as well.
func (l *Lock) release(ctx context.Context, as role, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	defer cancel()
	released, err := release.Run(ctx, lock.Once(l.rdb), l.keys(),
		l.token, l.ttl.Milliseconds(), l.count, l.reads, l.channel()).Int()
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if role(released) < as {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	return nil
}

// watch starts a grant's watchdog.
func (l *Lock) watch(token string, sent time.Time) {
	renewal := func(ctx context.Context) (bool, error) {
		return renew.Run(ctx, lock.Bounded(l.rdb), l.keys()[:2], token,
			l.ttl.Milliseconds(), l.keptReading.Load(), l.channel()).Bool()
	}
	l.lease = watchdog.Watch(l.ttl, sent, l.opts.FixedLease, renewal)
}
