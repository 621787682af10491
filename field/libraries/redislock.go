package libraries

import (
	"context"
	"errors"

	"github.com/bsm/redislock"

	"github.com/lockladder/lockladder/lock"
)

// redislockLock is a redislock.Client on one node. A waiter retries every 100 ms,
// as the library's example does; the default is not to retry.
type redislockLock struct {
	client *redislock.Client
	env    lock.Env
	held   *redislock.Lock // of the newest grant
}

var _ lock.Lock = (*redislockLock)(nil)

// newRedislock makes an owner of the lock at env.Key on env's first node. Its
// errors wrap lock.ErrInvalid.
func newRedislock(env lock.Env) (lock.Lock, error) {
	if _, err := lock.Configure(env.Nodes, env.Key, env.TTL, nil); err != nil {
		return nil, err
	}
	return &redislockLock{client: redislock.New(env.Nodes[0]), env: env}, nil
}

// TryLock makes one attempt, with the library's default options.
func (l *redislockLock) TryLock(ctx context.Context) (bool, error) {
	return l.obtain(ctx, nil)
}

// Lock waits until the lock is granted or ctx ends. Without a deadline redislock
// itself waits no longer than one lease.
func (l *redislockLock) Lock(ctx context.Context) error {
	for {
		granted, err := l.obtain(ctx, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(lock.DefaultPoll)})
		if granted || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return lock.Failed(ctx, "wait for", l.env.Key, ctx.Err())
		}
	}
}

func (l *redislockLock) obtain(ctx context.Context, how *redislock.Options) (
	bool, error) {
	held, err := l.client.Obtain(ctx, l.env.Key, l.env.TTL, how)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.env.Key, err)
	}
	l.held = held
	return true, nil
}

// Unlock releases the newest grant. It returns lock.ErrNotHeld when the server
// says that the grant is over, or when there never was one.
func (l *redislockLock) Unlock(ctx context.Context) error {
	err := l.held.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		err = lock.ErrNotHeld
	}
	if err != nil {
		return lock.Failed(ctx, "release", l.env.Key, err)
	}
	return nil
}
