package fair

import (
	"context"
	_ "embed"
	"sync"
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

	token string // the owner id, of the newest outermost acquisition

	lost chan struct{} // closed when the newest grant's lease is gone
	look func()        // closes lost when the lease is over by the clock
	stop func()        // stops and joins the newest grant's watchdog

	count int           // how often this owner is inside
	spent bool          // token was sent with an outermost release
	busy  atomic.Bool   // a goroutine is inside a call
	trip  time.Duration // how long the newest answer took
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
		return l.enter(ctx, granted)
	}
	if granted {
		l.stop() // before the clock is read: stopping may take a while
	}
	// The lease counts from before the command was sent. When the reply took
	// longer than that, the lease is over and somebody else may have the lock.
	if granted && time.Since(sent) >= l.ttl {
		return false, l.giveBack(ctx)
	}
	if granted {
		l.count = 1
		l.watch(l.token, sent)
	}
	return granted, nil
}

// enter counts one more level, unless the lease of the outermost one is gone:
// that holder must not believe that it still, or again, holds the lock.
func (l *Lock) enter(ctx context.Context, granted bool) (bool, error) {
	select {
	case <-l.Lost():
		granted = false
	default:
	}
	if !granted {
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
		l.stop() // stopped first: no renewal may follow the release
		l.spent = true
	}
	return l.release(ctx, left, l.next(), l.ttl)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
// It looks at the clock when it is called: a process that has just woken up may
// run before its own timers do.
func (l *Lock) Lost() <-chan struct{} {
	l.look()
	return l.lost
}

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
			extended, err := renew.Run(brief, lock.Bounded(l.rdb),
				[]string{l.key}, token, l.ttl.Milliseconds()).Int()
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
