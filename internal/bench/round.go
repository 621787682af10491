package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/lock"
)

// finishWithin is what is left, when a row has ended, to a client inside the
// critical section: it finishes the section and releases the lock.
const finishWithin = 10 * time.Second

// round is one round of a row under way, as one process sees it: one stock, sold
// to all clients.
type round struct {
	env      lock.Env // what locks are built with
	rdb      redis.UniversalClient
	stockKey string
	mutexes  int    // of the mutex baseline, in this process
	seed     uint64 // 0 leaves jitter and tokens to chance
	think    func(context.Context)

	started  time.Time
	turns    int // of all clients together, 0 in a closed loop
	holders  atomic.Int64
	most     atomic.Int64 // holders at one time
	sections atomic.Int64
	failures atomic.Int64

	mu     sync.Mutex // never held while Redis is asked
	result Counts     // of the clients that are through
}

// client is one customer. It is used by one goroutine.
type client struct {
	*round
	number int // among all clients of all processes, from 0
	take   turn

	served int
	result Counts
}

// turn is what a client does once. It returns errCut when the row ended before
// it got anywhere, and any other error for a failure.
type turn func(ctx context.Context) error

var errCut = errors.New("the row has ended")

// turnOf makes the turn of a client. It sends nothing.
type turnOf func(c *client) (turn, error)

// options are the settings of one client's lock, with its own source of jitter
// and of tokens when the run has a seed.
func (c *client) options() []lock.Option {
	if c.seed == 0 {
		return c.env.Options
	}
	n := 0
	return append(slices.Clone(c.env.Options),
		lock.Seed(c.seed+uint64(c.number)),
		lock.Tokens(func() string { // like nobody else's
			n++
			return fmt.Sprintf("%05d#%d", c.number, n)
		}))
}

// detached is the context of what must be finished once it has begun.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
}

// behind is a turn behind a lock.
func (c *client) behind(l lock.Lock) turn {
	return func(ctx context.Context) error {
		var seen nodes.Attempts
		asked := c.now()
		err := l.Lock(seen.Watch(ctx))
		attempts := seen.Count()
		c.result.Asked += attempts
		c.result.Refused += max(0, attempts-one(err == nil))
		if err != nil && ctx.Err() != nil {
			c.result.Waiting = max(c.result.Waiting, c.now()-asked)
			return errCut
		}
		if err != nil {
			return err
		}
		own, cancel := detached(ctx)
		defer cancel()
		err = c.section(ctx, own, asked)
		released := l.Unlock(own)
		if errors.Is(released, lock.ErrNotHeld) {
			c.result.NotHeld++
		}
		return errors.Join(err, released)
	}
}

// section is the critical section: read the stock, and take one if there is any.
// A section that has begun finishes under own, even if ctx has ended.
func (c *client) section(ctx, own context.Context, asked int64) error {
	now := c.holders.Add(1)
	defer c.holders.Add(-1)
	for most := c.most.Load(); now > most; most = c.most.Load() {
		c.most.CompareAndSwap(most, now)
	}
	entered := c.now()
	defer func() {
		c.result.Stamps = append(c.result.Stamps, Stamp{
			Asked: asked, Entered: entered, Left: c.now()})
	}()
	left, err := c.rdb.Get(own, c.stockKey).Int64()
	if err != nil {
		return lock.Failed(own, "read", c.stockKey, err)
	}
	if c.think != nil {
		c.think(ctx)
	}
	if left > 0 {
		after, err := c.rdb.Decr(own, c.stockKey).Result()
		if err != nil {
			return lock.Failed(own, "take from", c.stockKey, err)
		}
		c.result.Sold++
		if after != left-1 {
			c.result.LostUpdates++
		}
	}
	c.sections.Add(1)
	return nil
}

// now is the time since the row began.
func (s *round) now() int64 { return int64(time.Since(s.started)) }

// serve lets a client take n turns, one after the other, until ctx ends; with 0
// as many as it can.
func (c *client) serve(ctx context.Context, n int) {
	for i := 0; i < n || n == 0; i++ {
		if ctx.Err() != nil {
			c.result.Cut++
			break
		}
		err := c.take(ctx)
		if errors.Is(err, errCut) {
			c.result.Cut++
			break
		}
		if err == nil {
			c.served++
			continue
		}
		c.failures.Add(1)
		c.result.First = cmp.Or(c.result.First, err.Error())
	}
	c.result.Served = append(c.result.Served, float64(c.served))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round.result.Add(&c.result)
}
