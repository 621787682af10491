// Package cache is the job of docs/cache.md: many requests to several services want a cached
// value that has just expired, and one of them alone should load it from the database.
package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"github.com/lockladder/lockladder/lock"
)

// Service is one process that answers requests from a cache ([wukong], part 1).
//
// Without a lock every request that misses loads: the stampede. With a mutex in
// each service one request a service loads, and the services do not know of each
// other: the values they load may differ, and it's chance which one stays in the
// cache. With a lock that all services share one request loads, and the others
// find the value in the cache.
type Service struct {
	RDB  redis.UniversalClient
	Key  string        // of the cached value
	Keep time.Duration // how long a value stays in the cache

	// Load reads the value from the database.
	Load func(ctx context.Context) (string, error)

	// Guard keeps requests that have missed from loading all at once. With nil
	// each of them loads.
	Guard Guard
}

// Guard lets requests that have missed load the value. Look looks into the cache; load
// looks once more, and if there is still nothing loads the value and stores it. The guard
// returns what load or look has returned to it.
type Guard func(ctx context.Context, look Look, load Load) (string, error)

// Look returns the cached value, and whether there is one.
type Look func(ctx context.Context) (value string, found bool, err error)

// Load returns the value from the database, which is now in the cache, or from the
// cache if somebody has put it there meanwhile.
type Load func(ctx context.Context) (string, error)

// Get answers one request.
func (s *Service) Get(ctx context.Context) (string, error) {
	value, found, err := s.look(ctx)
	if found || err != nil {
		return value, err
	}
	if s.Guard == nil {
		return s.load(ctx)
	}
	return s.Guard(ctx, s.look, s.refill)
}

func (s *Service) look(ctx context.Context) (string, bool, error) {
	value, err := s.RDB.Get(ctx, s.Key).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look into the cache: %w", err)
	}
	return value, true, nil
}

func (s *Service) refill(ctx context.Context) (string, error) {
	value, found, err := s.look(ctx)
	if found || err != nil {
		return value, err
	}
	return s.load(ctx)
}

func (s *Service) load(ctx context.Context) (string, error) {
	value, err := s.Load(ctx)
	if err != nil {
		return "", fmt.Errorf("load the value: %w", err)
	}
	if err := s.RDB.Set(ctx, s.Key, value, s.Keep).Err(); err != nil {
		return "", fmt.Errorf("store the value: %w", err)
	}
	return value, nil
}

// Mutex makes a guard that knows the requests of one service: they load one at a time. A
// wait ends with its context, as that for a sync.Mutex would not.
func Mutex() Guard {
	mutex := semaphore.NewWeighted(1)
	return func(ctx context.Context, _ Look, load Load) (string, error) {
		if err := mutex.Acquire(ctx, 1); err != nil {
			return "", fmt.Errorf("wait for the mutex: %w", err)
		}
		defer mutex.Release(1)
		return load(ctx)
	}
}

// Locked is a guard that knows the requests of all services.
type Locked struct {
	Build lock.Build // an owner for each request
	Env   lock.Env
}

// Refill is the guard. It looks into the cache before every attempt at the lock, and when
// it has the lock once more: between the look and the grant somebody else may have come
// and gone. A lease that ends while the value is loaded lets another request load
// as well.
func (l Locked) Refill(ctx context.Context, look Look, load Load) (value string, err error) {
	opts, err := lock.Configure(l.Env.Nodes, l.Env.Key, l.Env.TTL, l.Env.Options)
	if err != nil {
		return "", err
	}
	own := sync.OnceValues(func() (lock.Lock, error) { return l.Build(l.Env) })
	err = lock.Poll(ctx, l.Env.Key, opts, func(ctx context.Context) (bool, error) {
		found, err := false, error(nil)
		if value, found, err = look(ctx); found || err != nil {
			return found, err
		}
		mine, err := own()
		if err != nil {
			return false, err
		}
		granted, err := mine.TryLock(ctx)
		if !granted || err != nil {
			return false, err
		}
		value, err = load(ctx)
		if e := mine.Unlock(ctx); !errors.Is(e, lock.ErrNotHeld) {
			err = errors.Join(err, e)
		}
		return true, err
	})
	return value, err
}
