package libraries

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/lockladder/lockladder/lock"
)

// redsyncLock is a redsync.Mutex on one or several nodes, with its defaults but
// for the expiry, and lock.NodeTimeout where somebody sets it.
type redsyncLock struct {
	mutex *redsync.Mutex
	key   string
}

var _ lock.Lock = (*redsyncLock)(nil)

// newRedsync makes an owner of the lock at env.Key on all nodes of env. Its
// errors wrap lock.ErrInvalid.
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
	return &redsyncLock{mutex, env.Key}, nil
}

// TryLock makes one attempt. When too few nodes grant it, redsync itself
// releases the lock on those nodes.
func (l *redsyncLock) TryLock(ctx context.Context) (bool, error) {
	err := l.mutex.TryLockContext(ctx)
	if err == nil || refusedByRedsync(err) {
		return err == nil, nil
	}
	return false, lock.Failed(ctx, "acquire", l.key, err)
}

// Lock asks until the lock is granted or ctx ends. redsync gives up after 32
// tries, and its documentation says to call it again.
func (l *redsyncLock) Lock(ctx context.Context) error {
	for {
		err := l.mutex.LockContext(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return lock.Failed(ctx, "wait for", l.key, ctx.Err())
		case !refusedByRedsync(err):
			return lock.Failed(ctx, "acquire", l.key, err)
		}
	}
}

// Unlock releases the lock on all nodes. It returns lock.ErrNotHeld when all
// nodes answered and no majority of them had it.
func (l *redsyncLock) Unlock(ctx context.Context) error {
	released, err := l.mutex.UnlockContext(ctx)
	if released {
		return nil
	}
	if refusedByRedsync(err) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
		err = lock.ErrNotHeld
	}
	return lock.Failed(ctx, "release", l.key, err)
}

// refusedByRedsync says whether err means that the lock is somebody else's: a
// majority said so, or no node failed to answer.
func refusedByRedsync(err error) bool {
	var taken *redsync.ErrTaken
	var failed *redsync.RedisError
	return errors.As(err, &taken) || !errors.As(err, &failed)
}
