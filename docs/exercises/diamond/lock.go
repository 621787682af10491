// Package diamond is the start of the exercise diamond. Its flaw: the script only compares.
package diamond

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

//go:embed mine.lua
var mineSource string
var mine = redis.NewScript(mineSource)

// Lock is one owner of the lock at a key, used by one goroutine at a time.
type Lock struct {
	rdb  redis.UniversalClient
	key  string
	ttl  time.Duration
	opts *lock.Options

	token string // of the newest grant
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
	token := l.opts.Token()
	granted, err := l.rdb.SetNX(ctx, l.key, token, l.ttl).Result()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	if granted {
		l.token = token
	}
	return granted, nil
}

// Lock waits until the lock is granted or ctx ends, asking again and again. It
// returns network errors at once.
func (l *Lock) Lock(ctx context.Context) error {
	return lock.Poll(ctx, l.key, l.opts, l.TryLock)
}

// Unlock releases the lock. It returns lock.ErrNotHeld when there was nothing
// to release. It deletes only when the script finds its own token there.
func (l *Lock) Unlock(ctx context.Context) error {
	held, err := mine.Run(ctx, l.rdb, []string{l.key}, l.token).Bool()
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if !held {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	deleted, err := l.rdb.Del(ctx, l.key).Result()
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	if deleted == 0 {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	return nil
}
