package inventory

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
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
var serialLimit = bench.Subject{
	Name:  "serial-limit",
	Kind:  bench.Baseline,
	Nodes: 1,
	Build: func(env lock.Env) (lock.Lock, error) {
		return uncontended{env.Nodes[0], env.Key, env.TTL}, nil
	},
}

// alone says that one client has everybody's turns.
func alone(subject bench.Subject) bool {
	return subject.Name == serialLimit.Name
}

// baseline is what a lock in Redis is compared with: the same work without one.
type baseline struct {
	// start prepares a round; it replaces the subject's Build.
	start func(s *round) (assignment, error)

	unlocked bool // no client is ever inside a critical section
}

var baselines = map[string]baseline{
	"no-lock":           {start: withoutLock},
	"mutex-per-service": {start: behindMutexes},
	"watch-multi":       {start: watching, unlocked: true},
	"lua-decrement":     {start: scripted, unlocked: true},
}

// Around puts the five baselines around the locks: first what is there without
// any lock in Redis, last what Redis does without a lock.
func Around(locks ...bench.Subject) []bench.Subject {
	return slices.Concat([]bench.Subject{serialLimit},
		bench.Baselines("no-lock", "mutex-per-service"), locks,
		bench.Baselines("watch-multi", "lua-decrement"))
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

// withoutLock lets everybody in.
func withoutLock(*round) (assignment, error) {
	return func(*client) (turn, error) {
		return func(ctx context.Context, c *client) error {
			own, cancel := detached(ctx)
			defer cancel()
			return c.section(ctx, own, -1)
		}, nil
	}, nil
}

// behindMutexes is what stands in many a service before it is scaled out: a mutex
// that knows nothing of the other processes.
func behindMutexes(s *round) (assignment, error) {
	mutexes := make([]mutex, s.mutexes)
	for i := range mutexes {
		mutexes[i] = make(mutex, 1)
	}
	return func(c *client) (turn, error) {
		return behind(mutexes[c.number%len(mutexes)]), nil
	}, nil
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

// watching sells without a lock: the transaction is refused when the stock has
// changed since it was read. Refused clients wait as long as those of a lock do.
func watching(s *round) (assignment, error) {
	return func(c *client) (turn, error) {
		opts, err := lock.Configure(s.env.Nodes, s.env.Key, s.env.TTL, c.options())
		if err != nil {
			return nil, err
		}
		return c.optimistic(opts, c.transaction), nil
	}, nil
}

// optimistic is a turn that tries until an attempt is accepted or the row ends.
// Its wait ends when the attempt that is accepted begins. An attempt that has begun
// is made to its end: half of a transaction would leave a connection that still
// watches.
func (c *client) optimistic(opts *lock.Options,
	attempt func(context.Context) (bool, error)) turn {
	return func(ctx context.Context, c *client) error {
		asked := c.now()
		var began int64
		err := lock.Poll(ctx, c.stockKey, opts,
			func(ctx context.Context) (bool, error) {
				ctx, cancel := detached(ctx)
				defer cancel()
				began = c.now()
				c.result.Asked++
				accepted, err := attempt(ctx)
				if err != nil {
					return false, lock.Failed(ctx, "take from", c.stockKey, err)
				}
				if !accepted {
					c.result.Refused++
				}
				return accepted, nil
			})
		if err != nil && ctx.Err() != nil {
			return errCut
		}
		if err == nil {
			c.result.Stamps = append(c.result.Stamps,
				bench.Stamp{Asked: asked, Entered: began, Left: began})
			c.sections.Add(1)
		}
		return err
	}
}

// transaction makes one attempt; false says that the stock had changed.
func (c *client) transaction(ctx context.Context) (bool, error) {
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
	if took && err == nil {
		c.result.Sold++
	}
	return err == nil, err
}

// scripted sells without a lock: the server runs a script as one step.
func scripted(s *round) (assignment, error) {
	ctx, cancel := detached(context.Background())
	defer cancel()
	if err := decrement.Load(ctx, s.rdb).Err(); err != nil {
		return nil, fmt.Errorf("load the script: %w", err)
	}
	return func(*client) (turn, error) {
		return func(ctx context.Context, c *client) error {
			ctx, cancel := detached(ctx)
			defer cancel()
			took, err := decrement.Run(ctx, c.rdb, []string{c.stockKey}).Bool()
			if err != nil {
				return lock.Failed(ctx, "take from", c.stockKey, err)
			}
			if took {
				c.result.Sold++
			}
			c.sections.Add(1)
			return nil
		}, nil
	}, nil
}
