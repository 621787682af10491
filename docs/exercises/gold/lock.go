// Package gold is the start of the exercise gold. Its flaw: every attempt extends the lease.
package gold

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
	granted, err := l.rdb.SetNX(ctx, l.key, "locked", 0).Result()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	// The holder may have crashed before it set the lease. So every client that
	// asks makes sure that there is one.
	if err := l.rdb.PExpire(ctx, l.key, l.ttl).Err(); err != nil {
		return false, lock.Failed(ctx, "set the lease of", l.key, err)
	}
	return granted, nil
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
