package exercises

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Batch is silver with its two commands sent in one batch.
type Batch struct {
	rdb  redis.UniversalClient
	key  string
	ttl  time.Duration
	opts *lock.Options

	// send is TxPipelined, which puts the batch between MULTI and EXEC, or
	// Pipelined, which does not.
	send func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error)
}

var _ lock.Lock = (*Batch)(nil)

// NewTransaction makes an owner of the lock at key that sends MULTI and EXEC. It
// sends nothing yet.
func NewTransaction(rdb redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (*Batch, error) {
	return newBatch(rdb, rdb.TxPipelined, key, ttl, opts)
}

// NewPipeline makes an owner of the lock at key that sends a plain pipeline. It
// sends nothing yet.
func NewPipeline(rdb redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (*Batch, error) {
	return newBatch(rdb, rdb.Pipelined, key, ttl, opts)
}

func newBatch(rdb redis.UniversalClient, send func(context.Context,
	func(redis.Pipeliner) error) ([]redis.Cmder, error), key string,
	ttl time.Duration, opts []lock.Option) (*Batch, error) {
	o, err := lock.Configure([]redis.UniversalClient{rdb}, key, ttl, opts)
	if err != nil {
		return nil, err
	}
	return &Batch{rdb: rdb, key: key, ttl: ttl, opts: o, send: send}, nil
}

// TryLock makes one attempt. (false, err) means unknown: the lock may have been
// granted at the server.
func (b *Batch) TryLock(ctx context.Context) (bool, error) {
	var granted *redis.BoolCmd
	_, err := b.send(ctx, func(pipe redis.Pipeliner) error {
		granted = pipe.SetNX(ctx, b.key, "locked", 0)
		// A batch can't decide by SETNX's reply, which comes after the last
		// command. So this extends the holder's lease when SETNX was refused.
		pipe.PExpire(ctx, b.key, b.ttl)
		return nil
	})
	if err != nil {
		return false, lock.Failed(ctx, "acquire", b.key, err)
	}
	return granted.Val(), nil
}

// Lock waits until the lock is granted or ctx ends, asking again and again.
func (b *Batch) Lock(ctx context.Context) error {
	return lock.Poll(ctx, b.key, b.opts, b.TryLock)
}

// Unlock releases the lock. It returns lock.ErrNotHeld when there was nothing to
// release.
func (b *Batch) Unlock(ctx context.Context) error {
	deleted, err := b.rdb.Del(ctx, b.key).Result()
	if err != nil {
		return lock.Failed(ctx, "release", b.key, err)
	}
	if deleted == 0 {
		return lock.Failed(ctx, "release", b.key, lock.ErrNotHeld)
	}
	return nil
}
