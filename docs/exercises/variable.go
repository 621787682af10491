package exercises

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Variable is a lock variable in Redis: the key is there while the lock is taken.
type Variable struct {
	rdb  redis.UniversalClient
	key  string
	opts *lock.Options
}

var _ lock.Lock = (*Variable)(nil)

// NewVariable makes an owner of the lock at key. It sends nothing.
func NewVariable(rdb redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (*Variable, error) {
	o, err := lock.Configure([]redis.UniversalClient{rdb}, key, ttl, opts)
	if err != nil {
		return nil, err
	}
	return &Variable{rdb: rdb, key: key, opts: o}, nil
}

// TryLock reads the variable, looks at it, and writes it.
func (v *Variable) TryLock(ctx context.Context) (bool, error) {
	taken, err := v.rdb.Exists(ctx, v.key).Result()
	if err != nil {
		return false, lock.Failed(ctx, "read", v.key, err)
	}
	if taken == 1 {
		return false, nil
	}
	// The race window: the reply is already old. The network alone takes some
	// milliseconds, and another client that reads meanwhile finds the lock free.
	if err := lock.Sleep(ctx, 10*time.Millisecond); err != nil {
		return false, err
	}
	if err := v.rdb.Set(ctx, v.key, "1", 0).Err(); err != nil {
		return false, lock.Failed(ctx, "write", v.key, err)
	}
	return true, nil
}

// Lock waits until the variable was read as free.
func (v *Variable) Lock(ctx context.Context) error {
	return lock.Poll(ctx, v.key, v.opts, v.TryLock)
}

// Unlock clears the variable.
func (v *Variable) Unlock(ctx context.Context) error {
	if err := v.rdb.Del(ctx, v.key).Err(); err != nil {
		return lock.Failed(ctx, "clear", v.key, err)
	}
	return nil
}
