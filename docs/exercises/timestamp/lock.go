// Package timestamp is the start of the exercise timestamp. Its flaw: everybody takes over.
package timestamp

import (
	"context"
	"errors"
	"strconv"
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
	now := l.opts.Now()
	deadline := strconv.FormatInt(now.Add(l.ttl).UnixMilli(), 10)
	granted, err := l.rdb.SetNX(ctx, l.key, deadline, 0).Result()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	if granted {
		return true, nil
	}
	held, err := l.rdb.Get(ctx, l.key).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil // released just now: the next attempt gets it
	}
	if err != nil {
		return false, lock.Failed(ctx, "read the deadline of", l.key, err)
	}
	until, err := strconv.ParseInt(held, 10, 64)
	if err != nil {
		return false, lock.Failed(ctx, "read the deadline of", l.key, err)
	}
	// The holder wrote the deadline by its clock, and this compares it with
	// ours. A clock that is ahead takes over a lock that is still held.
	if now.UnixMilli() <= until {
		return false, nil
	}
	// The lease is over: write the next deadline.
	if err := l.rdb.Set(ctx, l.key, deadline, 0).Err(); err != nil {
		return false, lock.Failed(ctx, "take over", l.key, err)
	}
	return true, nil
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
