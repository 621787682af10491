package benchmark

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lock"
)

// The settings of a run for which nothing else was asked.
const (
	DefaultClients = 1000
	DefaultStock   = 100
	DefaultTTL     = 10 * time.Second
	DefaultTimeout = 30 * time.Second
	DefaultGrace   = 20 * time.Second
)

// Runner measures subjects one after the other on the same servers. Its fields
// are set before the first Measure, and it is used by one goroutine at a time,
// Progress by any.
type Runner struct {
	Servers *Servers
	Clients int           // at least 1
	Stock   int           // at least 0
	TTL     time.Duration // the lease, at least 1 ms
	Poll    time.Duration // the longest pause of a refused client, 0: see Pause
	Timeout time.Duration // bounds one row, above 0

	// Grace is how long after its end a row waits for clients that have not
	// returned; they are then left behind. Only a lock that does not end with
	// its context needs it.
	Grace time.Duration

	// Think is called inside every critical section between the reading of
	// the stock and the taking, with a context that ends with the row. Tests
	// force an interleaving with it; nil does nothing.
	Think func(ctx context.Context)

	serial  *float64 // hand-overs a second of the serial limit
	current atomic.Pointer[sale]
}

// Pause is the longest pause of a refused client in a row of the subject: Poll,
// or if that is 0 the source's pause, and on embedded servers at least a
// millisecond for each client and node. A script costs such a server some 100 µs,
// and 1000 clients that ask every 50 ms leave it no time for the one that has the
// lock; on several nodes they also take them from each other.
func (r *Runner) Pause(subject Subject) time.Duration {
	switch {
	case r.Poll > 0:
		return r.Poll
	case r.Servers.Embedded():
		return max(lock.DefaultPoll, time.Duration(r.Clients*
			max(subject.Nodes, 1))*time.Millisecond)
	}
	return lock.DefaultPoll
}

// Progress is how far the row under way is.
type Progress struct {
	Sections, Turns int
	Elapsed         time.Duration
}

// Progress reports on the row under way, with zeroes when the clock of none is
// running.
func (r *Runner) Progress() Progress {
	s := r.current.Load()
	if s == nil {
		return Progress{}
	}
	return Progress{int(s.sections.Load()), s.turns, time.Since(s.started)}
}

// Measure lets all clients of one subject start at one instant, and returns what
// they did when all are through, when the timeout is over or when ctx ends: the
// clients then stop waiting, and who has the lock finishes and releases it. The
// row says whether all were through.
//
// It returns an error when the row could not begin: no server answers, a lock
// cannot be built, ctx has ended. What it has written by then is under the
// servers' prefix, and their Close removes it.
func (r *Runner) Measure(ctx context.Context, subject Subject) (Row, error) {
	row, err := r.measure(ctx, subject)
	if err != nil {
		return Row{}, fmt.Errorf("measure %s: %w", subject.Name, told(ctx, err))
	}
	return row, nil
}

func (r *Runner) measure(ctx context.Context, subject Subject) (Row, error) {
	nodes, err := r.Servers.warm(ctx, max(subject.Nodes, 1))
	if err != nil {
		return Row{}, err
	}
	r.Servers.clear()
	// The braces keep all keys of a row in one slot of a cluster, and make a
	// lock that adds keys of its own keep the prefix in front.
	prefix := r.Servers.prefix + "{" + subject.Name + "}:"
	s := &sale{
		env: lock.Env{
			Key:     prefix + "lock",
			TTL:     r.TTL,
			Dial:    r.Servers.dial,
			Options: []lock.Option{lock.PollEvery(r.Pause(subject))},
		},
		rdb:      nodes[0],
		stockKey: prefix + "stock",
		think:    r.Think,
		turns:    r.Clients,
	}
	if subject.Nodes > 0 {
		s.env.Nodes = nodes
	}
	// Should this process be killed, the stock removes itself.
	if err := s.rdb.Set(ctx, s.stockKey, r.Stock,
		r.Timeout+time.Hour).Err(); err != nil {
		return Row{}, fmt.Errorf("set the stock: %w", err)
	}
	clients, each := r.Clients, 1
	if subject.alone {
		clients, each = 1, r.Clients
	}
	if subject.Share != nil {
		var end func()
		subject.Build, end = subject.Share()
		defer end()
	}
	turns, err := s.seat(ctx, subject, clients)
	if err != nil {
		return Row{}, err
	}
	runtime.GC() // so that no row pays for the one before it
	if ctx.Err() != nil {
		return Row{}, ctx.Err()
	}

	commands := r.Servers.traffic.commands.Load()
	trips := r.Servers.traffic.roundTrips.Load()
	absent, took := r.open(ctx, s, turns, each)
	commands = r.Servers.traffic.commands.Load() - commands
	trips = r.Servers.traffic.roundTrips.Load() - trips

	row := s.row(subject, took, absent)
	row.Clients, row.Stock, row.Turns = clients, r.Stock, r.Clients
	row.Nodes, row.meant = len(s.env.Nodes), subject.Nodes
	row.PollMs = ms(r.Pause(subject))
	row.Oversold = max(0, row.Sold-int64(r.Stock))
	if subject.Nodes > 0 {
		row.CommandsPerSection = per(commands, row.Sections)
		row.RoundTripsPerSection = per(trips, row.Sections)
	}
	own, cancel := detached(ctx)
	defer cancel()
	if left, err := s.rdb.Get(own, s.stockKey).Int64(); err == nil {
		row.Left = &left
	}
	if subject.Name == serialLimit.Name && row.Finished {
		r.serial = row.HandoversPerSecond
	}
	if r.serial != nil && row.HandoversPerSecond != nil && *r.serial > 0 {
		row.RatioToSerial = new(
			round(*row.HandoversPerSecond / *r.serial, 4))
	}
	return row, nil
}

// seat makes every client's turn.
func (s *sale) seat(ctx context.Context, subject Subject, clients int) (
	[]turn, error) {
	start := subject.start
	if start == nil && subject.Build == nil {
		return nil, fmt.Errorf("%w: nothing builds the lock", lock.ErrInvalid)
	}
	if start == nil {
		warmUp(ctx, subject, s.env)
		start = func(s *sale) (seating, error) {
			return func(int) (turn, error) {
				l, err := subject.Build(s.env)
				if err != nil {
					return nil, fmt.Errorf("build the lock: %w", err)
				}
				return s.behind(l), nil
			}, nil
		}
	}
	next, err := start(s)
	if err != nil {
		return nil, err
	}
	turns := make([]turn, clients)
	for i := range turns {
		if turns[i], err = next(i); err != nil {
			return nil, err
		}
	}
	return turns, nil
}

// warmUp takes and releases a lock of another name, so that the servers know
// the scripts. What goes wrong here goes wrong in the row as well, and is
// counted there.
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

// open lets the clients start at one instant and waits until all are through,
// but not much longer than until the timeout or the end of ctx. It returns how
// many clients it left behind, and the time from the start to the end.
func (r *Runner) open(ctx context.Context, s *sale, turns []turn, each int) (
	absent int, took time.Duration) {
	// Without a deadline: the client would give up commands under way at it,
	// and nobody would know whether they were granted the lock.
	ctx, end := context.WithCancel(ctx)
	defer end()

	gate := make(chan struct{})
	ready, through := make(chan struct{}), make(chan struct{})
	for _, take := range turns {
		go func() {
			ready <- struct{}{}
			<-gate
			s.client(ctx, each, take)
			through <- struct{}{}
		}()
	}
	for range turns {
		<-ready
	}
	s.started = time.Now()
	r.current.Store(s)
	defer r.current.Store(nil)
	timeout := time.AfterFunc(r.Timeout, end)
	defer timeout.Stop()
	close(gate)

	ended := ctx.Done()
	var patience <-chan time.Time
	for left := len(turns); left > 0; {
		select {
		case <-through:
			left--
		case <-ended:
			ended = nil
			patience = time.After(r.Grace)
		case <-patience:
			go func() { // so that those who do return need not wait for it
				for range left {
					<-through
				}
			}()
			return left, time.Since(s.started)
		}
	}
	return 0, time.Since(s.started)
}

// row is what has happened so far.
func (s *sale) row(subject Subject, took time.Duration, absent int) Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := Row{
		Rung:     subject.Name,
		Kind:     subject.Kind,
		Sections: s.sections.Load(),
		Sold:     s.sold.Load(),
		Finished: s.cut == 0 && absent == 0,
		Seconds:  round(took.Seconds(), 6),
		Wait:     waits(s.waits),
		Failures: s.failures.Load(),
		Absent:   absent,
	}
	if !subject.unlocked {
		row.MaxHolders = new(s.most.Load())
	}
	if took > 0 {
		row.HandoversPerSecond = new(
			round(float64(row.Sections)/took.Seconds(), 3))
	}
	if s.asked.Load() > 0 {
		row.Retries = new(s.refused.Load())
	}
	if !subject.alone && absent == 0 {
		row.Jain = jain(s.served)
	}
	if s.first != nil {
		row.FirstFailure = new(s.first.Error())
	}
	return row
}

// Check returns what is wrong with the settings, if anything.
func (r *Runner) Check() error {
	switch {
	case r.Clients < 1:
		return fmt.Errorf("there are %d clients, at least 1 is needed", r.Clients)
	case r.Stock < 0:
		return fmt.Errorf("the stock is %d, it must not be negative", r.Stock)
	case r.TTL < time.Millisecond:
		return fmt.Errorf("the ttl is %v, Redis needs at least 1ms", r.TTL)
	case r.Poll < 0:
		return fmt.Errorf("the poll interval is %v, it must be positive", r.Poll)
	case r.Timeout <= 0:
		return fmt.Errorf("the timeout is %v, it must be positive", r.Timeout)
	}
	return nil
}
