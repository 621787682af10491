// Package fair is the start of the exercise fair. Its flaw: the queue waits for the dead.
package fair

import (
	"context"
	_ "embed"
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

// Lock is one owner of the lock at a key, used by one goroutine at a time.
type Lock struct {
	rdb  redis.UniversalClient
	key  string
	ttl  time.Duration
	opts *lock.Options

	token string // of the newest attempt
}

var _ lock.Lock = (*Lock)(nil)

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
// granted at the server. It is refused while somebody waits.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	l.token = l.opts.Token()
	return l.ask(ctx, false)
}

// ask asks the server, which puts a waiter that is refused into the queue.
func (l *Lock) ask(ctx context.Context, wait bool) (bool, error) {
	granted, err := acquire.Run(ctx, l.rdb, []string{l.key, l.queue()}, l.token,
		l.ttl.Milliseconds(), wait).Bool()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	return granted, nil
}

// queue is the key of the queue.
func (l *Lock) queue() string { return lock.SecondKey(l.key, "queue") }

// Lock waits until the lock is granted or ctx ends. It queues up, and then asks
// again and again. It returns network errors at once.
func (l *Lock) Lock(ctx context.Context) error {
	l.token = l.opts.Token()
	granted, err := l.ask(ctx, true)
	if granted || err != nil {
		return err
	}
	err = lock.Poll(ctx, l.key, l.opts, func(ctx context.Context) (bool, error) {
		return l.ask(ctx, false)
	})
	if err != nil {
		l.leave(ctx)
	}
	return err
}

// leave takes a waiter that gives up out of the queue. Its own context has ended.
func (l *Lock) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	l.rdb.LRem(ctx, l.queue(), 1, l.token)
}

// Unlock releases the lock. It returns lock.ErrNotHeld when there was nothing
// to release. It deletes only when the server finds its own token there.
func (l *Lock) Unlock(ctx context.Context) error {
	deleted, err := release.Run(ctx, l.rdb, []string{l.key}, l.token).Int()
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if deleted == 0 {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	return nil
}
