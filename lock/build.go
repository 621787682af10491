package lock

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// On makes a Build of the constructor of a lock on one node, the first of Env. The
// lock's clock is Env's, if there is one. A Build returns the constructor's errors, and
// ErrInvalid where Env has no node; no lock comes with an error.
func On[L Lock](construct func(redis.UniversalClient, string, time.Duration,
	...Option) (L, error)) Build {
	return OnAll(func(nodes []redis.UniversalClient, key string,
		ttl time.Duration, opts ...Option) (l L, err error) {
		if len(nodes) == 0 {
			return l, invalid("there are no nodes")
		}
		return construct(nodes[0], key, ttl, opts...)
	})
}

// OnAll is On for a lock on all nodes of Env.
func OnAll[L Lock](construct func([]redis.UniversalClient, string, time.Duration,
	...Option) (L, error)) Build {
	return func(env Env) (Lock, error) {
		opts := env.Options
		if env.Now != nil {
			opts = append([]Option{Clock(env.Now)}, opts...)
		}
		l, err := construct(env.Nodes, env.Key, env.TTL, opts...)
		if err != nil {
			return nil, err // a nil pointer in the interface would pass for a lock
		}
		return l, nil
	}
}
