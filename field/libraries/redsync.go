package libraries

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// newRedsync makes an owner of the lock at env.Key on all nodes of env: a redsync.Mutex
// with its defaults but for the expiry, and lock.NodeTimeout where somebody sets it. When
// too few nodes grant it, redsync itself releases the lock on those nodes. A waiter's turn
// ends after 32 tries, and redsync's documentation says to call it again. Its errors wrap
// lock.ErrInvalid.
func newRedsync(env lock.Env) (lock.Lock, error) {
	o, err := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
	if err != nil {
		return nil, err
	}
	var pools []redis.Pool
	for _, rdb := range env.Nodes {
		pools = append(pools, goredis.NewPool(rdb))
	}
	mutex := redsync.New(pools...).NewMutex(env.Key,
		redsync.WithExpiry(env.TTL),
		// Its default and the ladder's are both a twentieth of the lease.
		redsync.WithTimeoutFactor(float64(o.NodeTimeout)/float64(env.TTL)))
	attempts := map[bool]func(context.Context) error{false: mutex.TryLockContext,
		true: mutex.LockContext}
	return scenarios.Handle(func(ctx context.Context, wait bool) (func(context.Context) error, error) {
		err := attempts[wait](ctx)
		if err != nil && refusedByRedsync(err) {
			err = redsync.ErrFailed
		}
		return func(ctx context.Context) error {
			released, err := mutex.UnlockContext(ctx)
			switch {
			case released:
				return nil
			case refusedByRedsync(err):
				return lock.ErrNotHeld
			}
			return err
		}, err
	}, redsync.ErrFailed, redsync.ErrLockAlreadyExpired), nil
}

// refusedByRedsync says whether err means that the lock is somebody else's: a
// majority said so, or no node failed to answer.
func refusedByRedsync(err error) bool {
	var taken *redsync.ErrTaken
	var failed *redsync.RedisError
	return errors.As(err, &taken) || !errors.As(err, &failed)
}
