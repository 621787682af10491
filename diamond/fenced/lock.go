package fenced

import (
	"context"
	_ "embed"
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

	token string // of the newest grant

	lease *watchdog.Lease // of the newest grant, nil before the first

	fence uint64 // the fencing token of the newest grant
}

var _ lock.Lock = (*Lock)(nil)
var _ lock.LossNotifier = (*Lock)(nil)
var _ lock.Fenced = (*Lock)(nil)

// New makes an owner of the lock at key. It sends nothing. Its errors wrap
// lock.ErrInvalid.
func New(rdb redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (*Lock, error) {
	o, err := lock.Configure([]redis.UniversalClient{rdb}, key, ttl, opts)
	if err != nil {
		return nil, err
	}
	return &Lock{rdb: rdb, key: key, ttl: ttl, opts: o}, nil
}

// TryLock makes one attempt. (false, err) means unknown: the lock may have been
// granted at the server.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	token, sent := l.opts.Token(), time.Now()
	fence, err := acquire.Run(ctx, lock.Once(l.rdb),
		[]string{l.key, lock.SecondKey(l.key, "token")},
		token, l.ttl.Milliseconds()).Uint64()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	granted := fence > 0
	if granted {
		l.lease.Stop() // before the clock is read: stopping may take a while
	}
	// The lease counts from before the command was sent. When the reply took
	// longer than that, the lease is over and somebody else may have the lock.
	if granted && time.Since(sent) >= l.ttl {
		return false, lock.IgnoreNotHeld(l.release(ctx, token))
	}
	if granted {
		l.token, l.fence = token, fence
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
	l.lease.Stop() // stopped first: no renewal may follow the release
	return l.release(ctx, l.token)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
func (l *Lock) Lost() <-chan struct{} { return l.lease.Lost() }

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

// watch starts a grant's watchdog.
func (l *Lock) watch(token string, sent time.Time) {
	renewal := func(ctx context.Context) (bool, error) {
		return renew.Run(ctx, lock.Bounded(l.rdb), []string{l.key}, token,
			l.ttl.Milliseconds()).Bool()
	}
	l.lease = watchdog.Watch(l.ttl, sent, l.opts.FixedLease, renewal)
}

// Token is the fencing token of the newest grant, 0 before the first. Grants of
// the key have rising tokens.
func (l *Lock) Token() uint64 { return l.fence }
