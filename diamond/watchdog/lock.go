package watchdog

import (
	"context"
	_ "embed"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

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

	token string // of the newest grant

	lost chan struct{} // closed when the newest grant's lease is gone
	look func()        // closes lost when the lease is over by the clock
	stop func()        // stops and joins the newest grant's watchdog
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
	return &Lock{rdb: rdb, key: key, ttl: ttl, opts: o,
		look: func() {}, stop: func() {}}, nil
}

// TryLock makes one attempt. (false, err) means unknown: the lock may have been
// granted at the server.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	token, sent := l.opts.Token(), time.Now()
	granted, err := lock.Once(l.rdb).SetNX(ctx, l.key, token, l.ttl).Result()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	if granted {
		l.stop() // before the clock is read: stopping may take a while
	}
	// The lease counts from before the command was sent. When the reply took
	// longer than that, the lease is over and somebody else may have the lock.
	if granted && time.Since(sent) >= l.ttl {
		if err = l.release(ctx, token); errors.Is(err, lock.ErrNotHeld) {
			err = nil
		}
		return false, err
	}
	if granted {
		l.token = token
		l.watch(token, sent)
	}
	return granted, nil
}

// Lock waits until the lock is granted or ctx ends, asking again and again. It
// returns network errors at once.
func (l *Lock) Lock(ctx context.Context) error {
	return lock.Poll(ctx, l.key, l.opts, l.TryLock)
}

// Unlock releases the lock. It returns lock.ErrNotHeld when there was nothing
// to release. It deletes only when the server finds its own token there.
func (l *Lock) Unlock(ctx context.Context) error {
	l.stop() // stopped first: no renewal may follow the release
	return l.release(ctx, l.token)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
// It looks at the clock when it is called: a process that has just woken up may
// run before its own timers do.
func (l *Lock) Lost() <-chan struct{} {
	l.look()
	return l.lost
}

// release runs for at most one lease on a context of its own: the caller's has
// often ended when a deferred Unlock runs.
func (l *Lock) release(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	deleted, err := release.Run(ctx, lock.Bounded(l.rdb), []string{l.key},
		token).Int()
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if deleted == 0 {
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
