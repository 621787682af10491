// Package bronze is the start of the exercise bronze. Its flaw: the last writer wins.
package bronze

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Lock is one owner of the lock at a key, used by one goroutine at a time.
type Lock struct {
	rdb  redis.UniversalClient
	key  string
	ttl  time.Duration
	opts *lock.Options
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
// granted at the server.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	// Write a token of one's own, and look whether it is there.
	token := l.opts.Token()
	if err := l.rdb.Set(ctx, l.key, token, 0).Err(); err != nil {
		return false, lock.Failed(ctx, "write", l.key, err)
	}
	found, err := l.rdb.Get(ctx, l.key).Result()
	if err != nil {
		return false, lock.Failed(ctx, "read", l.key, err)
	}
	return found == token, nil
}

// Lock waits until the lock is granted or ctx ends, asking again and again. It
// returns network errors at once.
func (l *Lock) Lock(ctx context.Context) error {
	return lock.Poll(ctx, l.key, l.opts, l.TryLock)
}

// Unlock releases the lock. It returns lock.ErrNotHeld when there was nothing
// to release.
func (l *Lock) Unlock(ctx context.Context) error {
	// DEL doesn't say who sends it: this deletes any client's lock.
	deleted, err := l.rdb.Del(ctx, l.key).Result()
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if deleted == 0 {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	return nil
}
