// Package cache is the job of docs/cache.md: many requests to several services want a cached
// value that has just expired, and one of them alone should load it from the database.
package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

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

// Guard lets requests that have missed load the value. It returns what load or
// look has returned to it.
type Guard interface {
	// Refill returns the value. Look looks into the cache; load looks once more,
	// and if there is still nothing loads the value and stores it.
	Refill(ctx context.Context, look Look, load Load) (string, error)
}

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
	return s.Guard.Refill(ctx, s.look, s.refill)
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

// Database has a stock of 100. Somebody buys one right after the first load has
// read it: later loads read 99 ([wukong]).
type Database struct {
	// Takes is how long the n-th load takes, counted from 1.
	Takes func(n int) time.Duration

	loads atomic.Int64
}

// Load reads the stock. It takes its time, and returns the value from when it
// began.
func (d *Database) Load(ctx context.Context) (string, error) {
	n, value := int(d.loads.Add(1)), "100"
	if n > 1 {
		value = "99"
	}
	return value, lock.Sleep(ctx, d.Takes(n))
}

// Loads is how many loads have begun.
func (d *Database) Loads() int { return int(d.loads.Load()) }

// Mutex is a guard that knows the requests of one service.
type Mutex struct{ mutex chan struct{} }

// NewMutex makes the guard of one service.
func NewMutex() Mutex { return Mutex{make(chan struct{}, 1)} }

// Refill loads, one request at a time. It ends its wait with ctx.
func (m Mutex) Refill(ctx context.Context, _ Look, load Load) (string, error) {
	select {
	case m.mutex <- struct{}{}: // a sync.Mutex would not end with the context
	case <-ctx.Done():
		return "", fmt.Errorf("wait for the mutex: %w", ctx.Err())
	}
	defer func() { <-m.mutex }()
	return load(ctx)
}

// Locked is a guard that knows the requests of all services.
type Locked struct {
	Build lock.Build // an owner for each request
	Env   lock.Env
}

// Refill looks into the cache before every attempt at the lock, and when it has
// the lock once more: between the look and the grant somebody else may have come
// and gone. A lease that ends while the value is loaded lets another request load
// as well.
func (l Locked) Refill(ctx context.Context, look Look, load Load) (
	value string, err error) {
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
