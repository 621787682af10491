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

	count         int         // how often this owner is inside
	tokenReleased bool        // token was sent with an outermost release
	busy          atomic.Bool // a goroutine is inside a call

	remaining time.Duration // of the holder's lease or a turn, at the newest refusal
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
	return l.tryLock(ctx, nil)
}

// tryLock is TryLock for the goroutine that has made the handle busy. With a
// waiter, a refusal has a place in the queue.
func (l *Lock) tryLock(ctx context.Context, w *waiters.Waiter) (bool, error) {
	// An id that was sent with a release is never used again: the release may
	// still be on its way, and must not find the next acquisition under it. An
	// id whose acquisition was not answered is kept: asking again under it
	// finds the caller's own grant.
	if l.token == "" || l.tokenReleased {
		l.token, l.tokenReleased = l.opts.Token(), false
	}
	turn := w.Asks(l.token)
	sent := time.Now()
	reply, err := acquire.Run(ctx, lock.Bounded(l.rdb),
		l.keys(), l.token, l.ttl.Milliseconds(), l.count+1, w != nil,
		turn.Milliseconds()).Int64()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	granted := reply == 1
	l.remaining = time.Duration(-reply) * time.Millisecond
	if l.count > 0 {
		return l.reenter(ctx, granted)
	}
	if granted {
		l.lease.Stop() // before the clock is read: stopping may take a while
	}
	// The lease counts from before the command was sent. When the reply took
	// longer than that, the lease is over and somebody else may have the lock.
	if granted && time.Since(sent) >= l.ttl {
		l.tokenReleased = true
		return false, lock.IgnoreNotHeld(l.release(ctx, 0))
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

// Lock waits until the lock is granted or ctx ends. It asks again when a
// message says that it is its turn, and at the latest when the holder's lease
// should have ended: a message may be lost. It returns network errors, and all
// other errors of TryLock, at once.
func (l *Lock) Lock(ctx context.Context) error {
	if !l.busy.CompareAndSwap(false, true) {
		return lock.Failed(ctx, "acquire", l.key, lock.ErrBusy)
	}
	defer l.busy.Store(false)
	w := waiters.Join(l.rdb, lock.SecondKey(l.key, "turn"), l.ttl)
	defer func() { w.Leave(l.count > 0) }()
	for {
		granted, err := l.tryLock(ctx, w)
		if granted || err != nil {
			return err
		}
		if err := w.Wait(ctx, l.remaining); err != nil {
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
	return l.release(ctx, left)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
func (l *Lock) Lost() <-chan struct{} { return l.lease.Lost() }

// release runs for at most one lease on a context of its own: the caller's has
// often ended when a deferred Unlock runs.
func (l *Lock) release(ctx context.Context, left int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	released, err := release.Run(ctx, lock.Once(l.rdb), l.keys(),
		l.token, l.ttl.Milliseconds(), left).Int()
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

// giveUp leaves the queue at the server, and passes the turn on if it has come.
// Those of a process that give up at once leave with one command. If it fails,
// the others wait for the end of a turn for each.
func (l *Lock) giveUp(ctx context.Context, w *waiters.Waiter) {
	l.tokenReleased = true
	w.GiveUp(ctx, func(ctx context.Context, ids []any) {
		release.Run(ctx, lock.Once(l.rdb), l.keys(),
			append([]any{l.token, l.ttl.Milliseconds(), 0}, ids...)...)
	})
}

// keys are the lock, its queue, its turn, which is also a channel, and its
// waiters.
func (l *Lock) keys() []string {
	return []string{l.key, lock.SecondKey(l.key, "queue"),
		lock.SecondKey(l.key, "turn"), lock.SecondKey(l.key, "waiters")}
}
