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

	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
)

// finishWithin is what is left, when a row has ended, to a client inside the
// critical section: it finishes the section and releases the lock.
const finishWithin = 30 * time.Second

// round is one round of a row: one stock, sold to its clients.
type round struct {
	env      lock.Env // what locks are built with
	rdb      redis.UniversalClient
	stockKey string
	seed     uint64 // 0 leaves jitter and tokens to chance
	think    func(context.Context)

	clients []*client
	each    int                                  // turns of each client, 0 in a closed loop
	ends    []func()                             // of what the clients have in common
	left    func(context.Context) (int64, error) // nil when Redis has the stock

	started  time.Time
	holders  atomic.Int64
	most     atomic.Int64 // holders at one time
	sections atomic.Int64
	failures atomic.Int64

	mu     sync.Mutex // never held while Redis is asked
	result Counts     // of the clients that are through
}

// end gives back what the clients had in common.
func (s *round) end() {
	for _, end := range s.ends {
		end()
	}
}

// assign makes the turn of every client, and makes this process ready for a round.
func (r *Runner) assign(ctx context.Context, subject Subject, clients []redis.UniversalClient) (*round, error) {
	s := &round{env: lock.Env{TTL: r.TTL, Dial: r.Servers.Dial}, rdb: clients[0], think: r.Think, seed: r.Seed}
	s.env.Key, s.stockKey = r.keys(subject)
	s.env.Options = []lock.Option{lock.PollEvery(r.Pause(subject, r.Servers.Embedded()))}
	if r.FixedPoll {
		s.env.Options = append(s.env.Options, lock.FixedPoll())
	}
	if subject.Nodes > 0 {
		s.env.Nodes = clients
	}
	for i := range r.Clients {
		s.clients = append(s.clients, &client{round: s, number: i})
	}
	if isSerialLimit(subject) {
		s.clients = []*client{{round: s}}
	}
	if turns, _ := r.size(subject); r.Loop == 0 {
		s.each = turns / len(s.clients)
	}
	next, err := r.turns(ctx, s, subject)
	for _, c := range s.clients {
		if err == nil {
			c.take, err = next(c)
		}
	}
	if err == nil {
		s.ends = append(s.ends, r.Servers.Tidy())
	}
	return s, err
}

// turns prepares what the clients of a subject have in common, and returns what makes
// the turn of each: behind a lock of its own, but for the baselines and other stocks.
func (r *Runner) turns(ctx context.Context, s *round, subject Subject) (turnOf, error) {
	if subject.start != nil {
		return subject.start(s)
	}
	if subject.Open != nil {
		_, amount := r.size(subject)
		store, err := subject.Open(ctx, amount)
		if err != nil {
			return nil, err
		}
		s.ends, s.left = append(s.ends, store.Close), store.Left
		return optimistic(store.Take), nil
	}
	if subject.Share != nil {
		build, end, err := subject.Share(ctx)
		if err != nil {
			return nil, err
		}
		subject.Build = build
		s.ends = append(s.ends, end)
	}
	if subject.Build == nil {
		return nil, fmt.Errorf("%w: nothing builds the lock", lock.ErrInvalid)
	}
	warmUp(ctx, subject, s.env)
	return func(c *client) (turn, error) {
		env := c.env
		env.Options = c.options()
		l, err := subject.Build(env)
		if err != nil {
			return nil, fmt.Errorf("build the lock: %w", err)
		}
		return c.behind(l), nil
	}, nil
}

// warmUp takes and releases a lock of another name, so that the servers know the scripts. It
// ignores errors, because they come up in the row as well, and are counted there.
func warmUp(ctx context.Context, subject Subject, env lock.Env) {
	env.Key += ":warm-up"
	ctx, cancel := context.WithTimeout(ctx, finishWithin)
	defer cancel()
	// A lock that does not end with its context is left behind.
	_, _ = lock.Within(ctx, func() (bool, error) {
		l, err := subject.Build(env)
		if err != nil {
			return false, err
		}
		return true, once(ctx, l)
	})
}

// open lets the clients start at one instant, and waits until all are through, but not
// much longer than until the timeout or the end of ctx.
func (r *Runner) open(ctx context.Context, s *round) Counts {
	// Without a deadline: the client would give up commands under way at it,
	// and nobody would know whether they were granted the lock.
	ctx, end := context.WithCancel(ctx)
	defer end()

	gate := make(chan struct{})
	ready, through := make(chan struct{}), make(chan struct{})
	for i, c := range s.clients {
		go func() {
			ready <- struct{}{}
			<-gate
			if r.Apart > 0 {
				_ = lock.Sleep(ctx, time.Duration(i)*r.Apart)
			}
			c.serve(ctx, s.each)
			through <- struct{}{}
		}()
	}
	for range s.clients {
		<-ready
	}
	commands, trips := r.Servers.Traffic()
	cpu := process.Time()
	s.started = time.Now()
	r.under.Store(s)
	defer r.under.Store(nil)
	timeout := time.AfterFunc(r.limit(), end)
	defer timeout.Stop()
	close(gate)

	absent := s.await(ctx, r.Grace, through)
	took := time.Since(s.started)
	sent, passed := r.Servers.Traffic()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Add(&Counts{Absent: absent, Took: took, CPU: process.Time() - cpu, Commands: sent - commands,
		Trips: passed - trips, Most: s.most.Load(), Sections: s.sections.Load(), Failures: s.failures.Load()})
	result := s.result
	s.result = Counts{} // an absent client adds to nothing that is read
	return result
}

// await waits for the clients, and when ctx ends no longer than the grace. It
// returns how many it left behind.
func (s *round) await(ctx context.Context, grace time.Duration, through chan struct{}) int {
	ended := ctx.Done()
	var patience <-chan time.Time
	for left := len(s.clients); left > 0; {
		select {
		case <-through:
			left--
		case <-ended:
			ended = nil
			patience = time.After(grace)
		case <-patience:
			go func() { // so that those who do return need not wait for it
				for range left {
					<-through
				}
			}()
			return left
		}
	}
	return 0
}

// client is one customer. It is used by one goroutine.
type client struct {
	*round
	number int // from 0
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
	return append(slices.Clone(c.env.Options), lock.Seed(c.seed+uint64(c.number)),
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
		var seen attempts
		asked := c.now()
		err := l.Lock(seen.watch(ctx))
		attempts := seen.count()
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
		return errors.Join(err, l.Unlock(own))
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
	think := func() {
		if c.think != nil {
			c.think(ctx)
		}
	}
	if err := c.result.Take(own, c.rdb, c.stockKey, think); err != nil {
		return err
	}
	c.sections.Add(1)
	return nil
}

// now is the time since the row began.
func (s *round) now() int64 { return int64(time.Since(s.started)) }

// serve lets a client take n turns, one after the other, until ctx ends; with 0 as many as it can.
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
