package benchmark

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

//go:embed release.lua
var releaseSource string
var release = redis.NewScript(releaseSource)

//go:embed decrement.lua
var decrementSource string
var decrement = redis.NewScript(decrementSource)

// imagined is among how many processes the clients are spread where each has a
// mutex of its own, when all clients are in one process.
const imagined = 4

// serialLimit is what a lock on one server can reach at best with these
// commands: one client, nobody to wait for.
var serialLimit = Subject{
	Name:  "serial-limit",
	Kind:  Baseline,
	Nodes: 1,
	Build: func(env lock.Env) (lock.Lock, error) {
		return uncontended{env.Nodes[0], env.Key, env.TTL}, nil
	},
	alone: true,
}

// uncontended takes the lock with SET NX PX and releases it with a script. It
// does not wait for another owner.
type uncontended struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration
}

func (u uncontended) TryLock(ctx context.Context) (bool, error) {
	granted, err := u.rdb.SetNX(ctx, u.key, "alone", u.ttl).Result()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", u.key, err)
	}
	return granted, nil
}

func (u uncontended) Lock(ctx context.Context) error {
	granted, err := u.TryLock(ctx)
	if err == nil && !granted {
		err = fmt.Errorf("acquire %q: somebody else has the lock", u.key)
	}
	return err
}

func (u uncontended) Unlock(ctx context.Context) error {
	deleted, err := release.Run(ctx, u.rdb, []string{u.key}, "alone").Int()
	if err == nil && deleted == 0 {
		err = lock.ErrNotHeld
	}
	if err != nil {
		return lock.Failed(ctx, "release", u.key, err)
	}
	return nil
}

// noLock lets everybody in.
var noLock = Subject{
	Name:  "no-lock",
	Kind:  Baseline,
	Nodes: 1,
	start: func(s *sale) (seating, error) {
		return func(*client) (turn, error) {
			return func(ctx context.Context, c *client) error {
				own, cancel := c.finishing(ctx)
				defer cancel()
				return c.section(ctx, own, -1)
			}, nil
		}, nil
	},
}

// mutexPerService is what stands in many a service before it is scaled out: a
// mutex that knows nothing of the other processes.
var mutexPerService = Subject{
	Name:  "mutex-per-service",
	Kind:  Baseline,
	Nodes: 1,
	start: func(s *sale) (seating, error) {
		mutexes := make([]mutex, s.mutexes)
		for i := range mutexes {
			mutexes[i] = make(mutex, 1)
		}
		return func(c *client) (turn, error) {
			return behind(mutexes[c.number%len(mutexes)]), nil
		}, nil
	},
}

// mutex holds one element while it is locked. A sync.Mutex would not end its
// wait with the context.
type mutex chan struct{}

func (m mutex) TryLock(context.Context) (bool, error) {
	select {
	case m <- struct{}{}:
		return true, nil
	default:
		return false, nil
	}
}

func (m mutex) Lock(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the mutex: %w", ctx.Err())
	}
}

func (m mutex) Unlock(context.Context) error {
	<-m
	return nil
}

// watchMulti sells without a lock: the transaction is refused when the stock has
// changed since it was read. Refused clients wait as long as those of a lock do.
var watchMulti = Subject{
	Name:  "watch-multi",
	Kind:  Baseline,
	Nodes: 1,
	start: func(s *sale) (seating, error) {
		return func(c *client) (turn, error) {
			opts, err := lock.Configure(s.env.Nodes, s.env.Key, s.env.TTL,
				c.options())
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, c *client) error {
				return c.optimistic(ctx, opts, c.transaction)
			}, nil
		}, nil
	},
	unlocked: true,
}

// optimistic tries until an attempt is accepted or ctx ends. What it waits is the
// time until the attempt began that was accepted.
func (c *client) optimistic(ctx context.Context, opts *lock.Options,
	attempt func(context.Context) (bool, error)) error {
	asked := c.now()
	var began int64
	err := lock.Poll(ctx, c.stockKey, opts,
		func(ctx context.Context) (bool, error) {
			began = c.now()
			c.result.Asked++
			accepted, err := attempt(ctx)
			if err == nil && !accepted {
				c.result.Refused++
			}
			return accepted, err
		})
	if err != nil && ctx.Err() != nil {
		return errCut
	}
	if err == nil {
		c.result.Stamps = append(c.result.Stamps, stamp{asked, began, began})
		c.sections.Add(1)
	}
	return err
}

// transaction makes one attempt; false says that the stock had changed.
func (c *client) transaction(ctx context.Context) (bool, error) {
	// Ended half-way it would leave a connection that still watches.
	ctx, cancel := detached(ctx)
	defer cancel()
	took := false
	err := c.rdb.Watch(ctx, func(tx *redis.Tx) error {
		left, err := tx.Get(ctx, c.stockKey).Int()
		if err != nil || left <= 0 {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return p.Decr(ctx, c.stockKey).Err()
		})
		took = err == nil
		return err
	}, c.stockKey)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take from the stock: %w", told(ctx, err))
	}
	if took {
		c.result.Sold++
	}
	return true, nil
}

// luaDecrement sells without a lock: the server runs a script as one step.
var luaDecrement = Subject{
	Name:  "lua-decrement",
	Kind:  Baseline,
	Nodes: 1,
	start: func(s *sale) (seating, error) {
		ctx, cancel := detached(context.Background())
		defer cancel()
		if err := decrement.Load(ctx, s.rdb).Err(); err != nil {
			return nil, fmt.Errorf("load the script: %w", told(ctx, err))
		}
		return func(*client) (turn, error) { return scripted, nil }, nil
	},
	unlocked: true,
}

func scripted(ctx context.Context, c *client) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	took, err := decrement.Run(ctx, c.rdb, []string{c.stockKey}).Bool()
	if err != nil {
		return fmt.Errorf("take from the stock: %w", told(ctx, err))
	}
	if took {
		c.result.Sold++
	}
	c.sections.Add(1)
	return nil
}
