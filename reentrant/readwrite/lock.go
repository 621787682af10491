package readwrite

import (
	"context"
	_ "embed"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

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

	lost chan struct{} // closed when the newest grant's lease is gone
	look func()        // closes lost when the lease is over by the clock
	stop func()        // stops and joins the newest grant's watchdog

	count int         // how often this owner is inside
	spent bool        // token was sent with an outermost release
	busy  atomic.Bool // a goroutine is inside a call

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
	if err != nil {
		return nil, err
	}
	if err := lock.CanSubscribe(rdb); err != nil {
		return nil, err
	}
	return &Lock{rdb: rdb, key: key, ttl: ttl, opts: o,
		look: func() {}, stop: func() {}}, nil
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
	if l.token == "" || l.spent {
		l.token, l.spent = l.opts.Token(), false
	}
	sent := time.Now()
	reply, err := acquire.Run(ctx, lock.Bounded(l.rdb), l.keys(),
		l.token, l.ttl.Milliseconds(), l.count+1, wait).Int64()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	l.remaining = time.Duration(-reply) * time.Millisecond
	if l.count > 0 {
		return l.enter(ctx, reply > 0, &l.count)
	}
	if reply <= 0 {
		return false, nil
	}
	return l.hold(ctx, grant{l.token, uint64(reply), sent})
}

// enter counts one more level, unless the lease of the outermost one is gone:
// that holder must not believe that it still, or again, holds the lock.
func (l *Lock) enter(ctx context.Context, granted bool, n *int) (bool, error) {
	select {
	case <-l.Lost():
		granted = false
	default:
	}
	if !granted {
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
			return l.ended(ctx, w != nil, err)
		}
		// Joined only after the first refusal: a client that finds the lock
		// free pays for no subscription. A release may have happened before the
		// subscription was active, so a waiter asks again when it is confirmed.
		if w == nil {
			w = join(l.rdb, l.channel(), writer)
			defer func() { w.leave(l.count > 0) }()
		}
		w.asked(next{l.token, l.ttl})
		handed, err := w.wait(ctx, min(l.remaining, l.ttl/3))
		if err != nil {
			l.stopWaiting(ctx)
			return lock.Failed(ctx, "wait for", l.key, err)
		}
		if granted, err = l.hold(ctx, handed); granted || err != nil {
			return err
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
		l.stop() // stopped first: no renewal may follow the release
		l.spent = true
	}
	defer l.stayed.Store(left == 0 && l.reads > 0)
	return l.release(ctx, writer, l.successor(), l.ttl)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
// It looks at the clock when it is called: a process that has just woken up may
// run before its own timers do.
func (l *Lock) Lost() <-chan struct{} {
	l.look()
	return l.lost
}

// release has a context of its own, which ends after d: the caller's has often
// ended when a deferred Unlock runs. A writer has the other role as well.
func (l *Lock) release(ctx context.Context, as role, to next,
	d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	defer cancel()
	released, err := l.sendRelease(ctx, to)
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if released < as {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	return nil
}

// watch starts a grant's watchdog: it renews the lease whenever a third of it
// has passed, and closes lost when the server or the local clock says that the
// lease is gone. It tries again a tenth of the lease after a failed renewal:
// there is time even if that hung for a third.
func (l *Lock) watch(token string, sent time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	lost, done := make(chan struct{}), make(chan struct{})
	lose := sync.OnceFunc(func() { close(lost); cancel() })
	deadline := time.AfterFunc(time.Until(sent.Add(l.ttl)), lose)
	var ends atomic.Value // the deadline's time.Time, for Lost
	ends.Store(sent.Add(l.ttl))
	first := time.AfterFunc(l.ttl/3, func() { // most sections are shorter
		defer close(done)
		for !l.opts.FixedLease && ctx.Err() == nil {
			sent, pause := time.Now(), l.ttl/3
			brief, cancel := context.WithTimeout(ctx, l.ttl/3)
			extended, err := renew.Run(brief, lock.Bounded(l.rdb), l.keys()[:2],
				l.renewal(token)...).Int()
			cancel()
			if err == nil && extended == 0 {
				lose()
			} else if err == nil {
				ends.Store(sent.Add(l.ttl))
				deadline.Reset(time.Until(sent.Add(l.ttl)))
			} else { // the deadline stays
				pause = l.ttl / 10
			}
			lock.Sleep(ctx, pause)
		}
	})
	l.lost = lost
	l.look = func() {
		if ctx.Err() == nil && time.Until(ends.Load().(time.Time)) <= 0 {
			lose()
		}
	}
	l.stop = func() {
		if cancel(); first.Stop() {
			close(done)
		}
		<-done
		deadline.Stop()
	}
}
