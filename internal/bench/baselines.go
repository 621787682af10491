package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"

	"github.com/lockladder/lockladder/diamond"
	"github.com/lockladder/lockladder/lock"
)

//go:embed decrement.lua
var decrementSource string
var decrement = redis.NewScript(decrementSource)

// imagined is among how many processes the clients would be spread where each process
// has a mutex of its own.
const imagined = 4

// serialLimit is what a lock on one server can reach at best with these
// commands: one client, nobody to wait for.
var serialLimit = Subject{Name: "serial-limit", Kind: Baseline, Nodes: 1, Build: lock.On(diamond.New)}

// noPause is diamond whose refused clients ask again at once: what a polling lock costs
// besides its pause. More than crowded of them would leave the holder no time.
var noPause = Subject{Name: "no-pause", Kind: Baseline, Nodes: 1, Build: func(env lock.Env) (lock.Lock, error) {
	env.Options = append(slices.Clone(env.Options), lock.PollEvery(time.Nanosecond))
	return lock.On(diamond.New)(env)
}}

const crowded = 100

// isSerialLimit says that one client has everybody's turns.
func isSerialLimit(subject Subject) bool { return subject.Name == serialLimit.Name }

// baseline is what a lock in Redis is compared with: the same work on one server without one.
func baseline(name string, start func(s *round) (turnOf, error), unlocked bool) Subject {
	return Subject{Name: name, Kind: Baseline, Nodes: 1, start: start, unlocked: unlocked}
}

// Around puts the five baselines around the locks: first what is there without
// any lock in Redis, last what Redis does without a lock.
func Around(locks ...Subject) []Subject {
	return slices.Concat([]Subject{serialLimit, baseline("no-lock", withoutLock, false),
		baseline("mutex-per-service", behindMutexes, false)}, locks,
		[]Subject{baseline("watch-multi", withTransactions, true), baseline("lua-decrement", scripted, true)})
}

// withoutLock lets everybody in.
func withoutLock(*round) (turnOf, error) {
	return func(c *client) (turn, error) {
		return func(ctx context.Context) error {
			own, cancel := detached(ctx)
			defer cancel()
			return c.section(ctx, own, -1)
		}, nil
	}, nil
}

// behindMutexes is what stands in many a service before it is scaled out: a mutex
// that knows nothing of the other processes.
func behindMutexes(*round) (turnOf, error) {
	mutexes := make([]mutex, imagined)
	for i := range mutexes {
		mutexes[i] = mutex{semaphore.NewWeighted(1)}
	}
	return func(c *client) (turn, error) {
		return c.behind(mutexes[c.number%len(mutexes)]), nil
	}, nil
}

// mutex is locked while its weight is taken. The wait for a sync.Mutex would not end
// with the context.
type mutex struct{ *semaphore.Weighted }

func (m mutex) TryLock(context.Context) (bool, error) { return m.TryAcquire(1), nil }
func (m mutex) Lock(ctx context.Context) error        { return m.Acquire(ctx, 1) }

func (m mutex) Unlock(context.Context) error {
	m.Release(1)
	return nil
}

// optimistic sells without a lock: an attempt is refused when the stock has changed since it was
// read. Refused clients wait as long as those of a lock do, until an attempt is accepted or the row
// ends. A client's wait ends when the attempt that is accepted begins. An attempt that has begun is
// made to its end: half of a transaction would leave a connection that still watches.
func optimistic(attempt func(context.Context) (accepted, taken bool, err error)) turnOf {
	return func(c *client) (turn, error) {
		opts, err := lock.Configure([]redis.UniversalClient{c.rdb}, c.env.Key, c.env.TTL, c.options())
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			stamp := Stamp{Asked: c.now()}
			err := lock.Poll(ctx, c.stockKey, opts, func(ctx context.Context) (bool, error) {
				ctx, cancel := detached(ctx)
				defer cancel()
				stamp.Entered = c.now()
				c.result.Asked++
				accepted, taken, err := attempt(ctx)
				if err != nil {
					return false, lock.Failed(ctx, "take from", c.stockKey, err)
				}
				c.result.Refused += one(!accepted)
				c.result.Taken += one(taken)
				return accepted, nil
			})
			if err != nil && ctx.Err() != nil {
				return errCut
			}
			if err == nil {
				stamp.Left = stamp.Entered
				c.result.Stamps = append(c.result.Stamps, stamp)
				c.sections.Add(1)
			}
			return err
		}, nil
	}
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// withTransactions sells without a lock: a client watches the stock that it has read.
func withTransactions(s *round) (turnOf, error) { return optimistic(s.transaction), nil }

// transaction takes one, unless the stock has changed since it was read.
func (s *round) transaction(ctx context.Context) (accepted, taken bool, err error) {
	err = s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		left, err := tx.Get(ctx, s.stockKey).Int()
		if err != nil || left <= 0 {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return p.Decr(ctx, s.stockKey).Err()
		})
		taken = err == nil
		return err
	}, s.stockKey)
	if errors.Is(err, redis.TxFailedErr) {
		return false, false, nil
	}
	return true, taken, err
}

// scripted sells without a lock: the server runs a script as one step.
func scripted(s *round) (turnOf, error) {
	ctx, cancel := detached(context.Background())
	defer cancel()
	if err := decrement.Load(ctx, s.rdb).Err(); err != nil {
		return nil, fmt.Errorf("load the script: %w", err)
	}
	return func(c *client) (turn, error) {
		return func(ctx context.Context) error {
			ctx, cancel := detached(ctx)
			defer cancel()
			took, err := decrement.Run(ctx, c.rdb, []string{c.stockKey}).Bool()
			if err != nil {
				return lock.Failed(ctx, "take from", c.stockKey, err)
			}
			c.result.Taken += one(took)
			c.sections.Add(1)
			return nil
		}, nil
	}, nil
}
