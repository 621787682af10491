package libraries

import (
	"context"

	"github.com/bsm/redislock"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// newRedislock makes an owner of the lock at env.Key on env's first node, a
// redislock.Client. A waiter retries every 100 ms, as the library's example does; the
// default is not to retry. Without a deadline the library itself waits no longer than one
// lease. Its errors wrap lock.ErrInvalid.
func newRedislock(env lock.Env) (lock.Lock, error) {
	if _, err := lock.Configure(env.Nodes, env.Key, env.TTL, nil); err != nil {
		return nil, err
	}
	client := redislock.New(env.Nodes[0])
	waits := map[bool]*redislock.Options{
		true: {RetryStrategy: redislock.LinearBackoff(lock.DefaultPoll)}}
	return scenarios.Handle(func(ctx context.Context, wait bool) (func(context.Context) error, error) {
		held, err := client.Obtain(ctx, env.Key, env.TTL, waits[wait])
		return held.Release, err
	}, redislock.ErrNotObtained, redislock.ErrLockNotHeld), nil
}
