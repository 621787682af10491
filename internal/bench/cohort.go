package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// cohort are the clients of this process in a round that is about to begin: each has
// its lock.
type cohort struct {
	round   *round
	clients []*client
	each    int // turns of each client, 0 in a closed loop
	ends    []func()
	left    func(context.Context) (int64, error) // nil when Redis has the stock
}

// end gives back what the locks had in common. It may be called for nil.
func (st *cohort) end() {
	if st == nil {
		return
	}
	for _, end := range st.ends {
		end()
	}
}

// assign makes the turn of every client of this process, and makes the process
// ready for a round.
func (r *Runner) assign(ctx context.Context, subject Subject,
	clients []redis.UniversalClient) (*cohort, error) {
	services := max(r.of, 1)
	s := &round{
		env:     lock.Env{TTL: r.TTL, Dial: r.Servers.Dial},
		rdb:     clients[0],
		think:   r.Think,
		mutexes: imagined,
		seed:    r.Seed,
	}
	s.env.Key, s.stockKey = r.keys(subject)
	s.env.Options = []lock.Option{lock.PollEvery(r.Pause(subject, r.Servers.Embedded()))}
	if r.FixedPoll {
		s.env.Options = append(s.env.Options, lock.FixedPoll())
	}
	if services > 1 {
		s.mutexes = 1
	}
	if subject.Nodes > 0 {
		s.env.Nodes = clients
	}
	st := &cohort{round: s, each: max(r.Ops, 1)}
	for i := r.service; i < r.Clients; i += services {
		st.clients = append(st.clients, &client{round: s, number: i})
	}
	if isSerialLimit(subject) {
		st.clients = []*client{{round: s}}
		st.each, _ = r.size(subject)
	}
	if r.Loop > 0 {
		st.each = 0
	}
	s.turns = st.each * len(st.clients)
	next, err := r.turns(ctx, st, subject)
	for _, c := range st.clients {
		if err == nil {
			c.take, err = next(c)
		}
	}
	if err == nil {
		st.ends = append(st.ends, r.Servers.Tidy())
	}
	return st, err
}

// turns prepares what the clients of a subject have in common, and returns what makes
// the turn of each: behind a lock of its own, but for the baselines and other stocks.
func (r *Runner) turns(ctx context.Context, st *cohort, subject Subject) (
	turnOf, error) {
	if start := baselines[subject.Name].start; start != nil {
		return start(st.round)
	}
	if subject.Open != nil {
		_, amount := r.size(subject)
		store, err := subject.Open(ctx, amount)
		if err != nil {
			return nil, err
		}
		st.ends, st.left = append(st.ends, store.Close), store.Left
		return optimistic(store.Take), nil
	}
	if subject.Share != nil {
		build, end, err := subject.Share(ctx)
		if err != nil {
			return nil, err
		}
		subject.Build = build
		st.ends = append(st.ends, end)
	}
	if subject.Build == nil {
		return nil, fmt.Errorf("%w: nothing builds the lock", lock.ErrInvalid)
	}
	warmUp(ctx, subject, st.round.env)
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

// warmUp takes and releases a lock of another name, so that the servers know
// the scripts. It ignores errors, because they come up in the row as well, and
// are counted there.
func warmUp(ctx context.Context, subject Subject, env lock.Env) {
	env.Key += ":warm-up"
	ctx, cancel := context.WithTimeout(ctx, finishWithin)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l, err := subject.Build(env)
		if err != nil {
			return
		}
		if granted, err := l.TryLock(ctx); granted && err == nil {
			_ = l.Unlock(ctx)
		}
	}()
	select {
	case <-done:
	case <-ctx.Done(): // left behind: a lock that does not end with its context
	}
}

// open lets the clients start at one instant, not before at, and waits until all
// are through, but not much longer than until the timeout or the end of ctx.
func (r *Runner) open(ctx context.Context, st *cohort, at time.Time) Counts {
	// Without a deadline: the client would give up commands under way at it,
	// and nobody would know whether they were granted the lock.
	ctx, end := context.WithCancel(ctx)
	defer end()

	s := st.round
	gate := make(chan struct{})
	ready, through := make(chan struct{}), make(chan struct{})
	for i, c := range st.clients {
		go func() {
			ready <- struct{}{}
			<-gate
			if r.Apart > 0 {
				_ = lock.Sleep(ctx, time.Duration(i)*r.Apart)
			}
			c.serve(ctx, st.each)
			through <- struct{}{}
		}()
	}
	for range st.clients {
		<-ready
	}
	commands, trips := r.Servers.Traffic()
	cpu := processTime()
	time.Sleep(time.Until(at))
	s.started = time.Now()
	if r.of > 1 {
		// Stamps of several processes are compared: they count from the same
		// moment, by the clock that all of them see, however late one woke up.
		s.started = s.started.Add(at.Sub(s.started))
	}
	r.cohort.Store(st)
	defer r.cohort.Store(nil)
	timeout := time.AfterFunc(r.limit(), end)
	defer timeout.Stop()
	close(gate)

	absent := st.await(ctx, r.Grace, through)
	took := time.Since(s.started)
	sent, passed := r.Servers.Traffic()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Add(&Counts{
		Absent:   absent,
		Took:     took,
		CPU:      processTime() - cpu,
		Commands: sent - commands,
		Trips:    passed - trips,
		Most:     s.most.Load(),
		Sections: s.sections.Load(),
		Failures: s.failures.Load(),
	})
	result := s.result
	s.result = Counts{} // an absent client adds to nothing that is read
	return result
}

// await waits for the clients, and when ctx ends no longer than the grace. It
// returns how many it left behind.
func (st *cohort) await(ctx context.Context, grace time.Duration,
	through chan struct{}) int {
	ended := ctx.Done()
	var patience <-chan time.Time
	for left := len(st.clients); left > 0; {
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
