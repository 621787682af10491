package benchmark

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
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
// are not changed while a Measure is under way, and it is used by one goroutine
// at a time, Progress by any.
type Runner struct {
	Servers *Servers
	Clients int           // at least 1
	Stock   int           // at least 0
	TTL     time.Duration // the lease, at least 1 ms
	Poll    time.Duration // the longest pause of a refused client, 0: see Pause
	Timeout time.Duration // bounds one round of a row, above 0

	// Grace is how long after its end a row waits for clients that have not
	// returned; they are then left behind. Only a lock that does not end with
	// its context needs it.
	Grace time.Duration

	// FixedPoll makes every pause of a refused client as long as the longest.
	FixedPoll bool

	// Ops is how many turns a client takes one after the other, 0 means 1.
	// Loop makes it take turns until that time is over instead.
	Ops  int
	Loop time.Duration

	// Rounds is how often a row is measured, 0 means once. More rounds
	// alternate with the serial limit.
	Rounds int

	// Crew are the processes that the clients live in; nil: this one.
	Crew *Crew

	// Crash and Overrun are the shares of the clients that die inside the
	// critical section, and that work there for longer than the lease. Seed
	// decides which, and the jitter of all; 0 leaves the jitter to chance.
	Crash, Overrun float64
	Seed           uint64

	// Apart is the time between the starts of two clients. With 0 all start
	// at one instant.
	Apart time.Duration

	// Think is called inside every critical section between the reading of
	// the stock and the taking, with a context that ends with the row. Tests
	// force an interleaving with it; nil does nothing.
	Think func(ctx context.Context)

	serial  *float64 // hand-overs a second of the serial limit
	lone    []stamp  // its sections, in a closed loop
	service int      // which of the services this process is, from 0
	of      int      // how many there are, 0 and 1: this process alone
	current atomic.Pointer[Progress]
	stage   atomic.Pointer[stage]
}

// Pause is the longest pause of a refused client in a row of the subject: Poll,
// or if that is 0 the subject's, or else the source's, and on embedded servers at
// least a millisecond for each client and node. A script costs such a server some 100 µs,
// and 1000 clients that ask every 50 ms leave it no time for the one that has the
// lock; on several nodes they also take them from each other. There, it is at
// least 200 µs for each client and node on real servers too.
func (r *Runner) Pause(subject Subject) time.Duration {
	switch {
	case r.Poll > 0:
		return r.Poll
	case subject.Poll > 0:
		return subject.Poll
	case r.Servers.Embedded():
		return max(lock.DefaultPoll, time.Duration(r.Clients*
			max(subject.Nodes, 1))*time.Millisecond)
	case subject.Nodes > 1:
		return max(lock.DefaultPoll, time.Duration(r.Clients*
			subject.Nodes)*200*time.Microsecond)
	}
	return lock.DefaultPoll
}

// Progress is how far the row under way is.
type Progress struct {
	Round, Rounds int  // from 1
	Serial        bool // the serial limit is measured, for the row's ratio
	Sections      int
	Turns         int // 0 in a closed loop, or when the clients live elsewhere
	Elapsed       time.Duration

	started time.Time // of clients that live elsewhere
}

// Progress reports on the row under way, with zeroes but for the round when the
// clock of none is running.
func (r *Runner) Progress() Progress {
	var p Progress
	if now := r.current.Load(); now != nil {
		p = *now
	}
	if !p.started.IsZero() {
		p.Elapsed = max(time.Since(p.started), 0)
		p.started = time.Time{}
	}
	if st := r.stage.Load(); st != nil {
		p.Sections, p.Turns = int(st.sale.sections.Load()), st.sale.turns
		p.Elapsed = time.Since(st.sale.started)
	}
	return p
}

// Measure lets all clients of one subject start at one instant, and returns what
// they did when all are through, when the timeout is over or when ctx ends: the
// clients then stop waiting, and who has the lock finishes and releases it. The
// row says whether all were through.
//
// With several rounds it reports the one with the median ratio to the serial
// limit, and the worst of what must not happen. Rounds that ctx cuts off are left
// out when there is a complete one.
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
	rounds := max(r.Rounds, 1)
	defer r.current.Store(nil)
	if rounds == 1 {
		r.current.Store(&Progress{Round: 1, Rounds: 1})
		row, err := r.round(ctx, subject)
		if err != nil {
			return Row{}, err
		}
		r.compare(&row, subject)
		return row, nil
	}
	var done []Row
	for i := range rounds {
		r.serial, r.lone = nil, nil
		if subject.Name != serialLimit.Name {
			r.current.Store(&Progress{Round: i + 1, Rounds: rounds, Serial: true})
			serial, err := r.round(ctx, serialLimit)
			if err != nil && len(done) == 0 {
				return Row{}, err
			}
			if err != nil {
				break
			}
			r.compare(&serial, serialLimit)
		}
		if ctx.Err() != nil && len(done) > 0 {
			break
		}
		r.current.Store(&Progress{Round: i + 1, Rounds: rounds})
		row, err := r.round(ctx, subject)
		if err != nil && len(done) == 0 {
			return Row{}, err
		}
		if err != nil || ctx.Err() != nil && !row.Finished && len(done) > 0 {
			break
		}
		r.compare(&row, subject)
		done = append(done, row)
		if !row.Finished {
			break // the next would take as long
		}
	}
	row := median(done)
	row.rounds = rounds
	return row, nil
}

// compare sets the row's ratio to the serial limit, if that was measured.
func (r *Runner) compare(row *Row, subject Subject) {
	if subject.Name == serialLimit.Name && row.Finished {
		r.serial = row.HandoversPerSecond
	}
	if r.serial != nil && row.HandoversPerSecond != nil && *r.serial > 0 {
		row.RatioToSerial = new(
			round(*row.HandoversPerSecond / *r.serial, 4))
	}
	if subject.Name != serialLimit.Name && r.Loop > 0 && row.Wait != nil {
		row.SerialMaxOverP50 = unevenness(r.lone,
			time.Duration(row.Wait.P50*float64(time.Millisecond)))
	}
}

// round measures a subject once.
func (r *Runner) round(ctx context.Context, subject Subject) (Row, error) {
	if subject.OwnServer && (r.Crew != nil || r.Crash > 0) {
		return Row{}, fmt.Errorf("%w: only this process has the row's server, "+
			"and no client that crashes", lock.ErrInvalid)
	}
	nodes, err := r.Servers.warm(ctx, max(subject.Nodes, 1))
	if err != nil {
		return Row{}, err
	}
	r.Servers.clear()
	// Should this process be killed, the stock removes itself.
	_, stockKey := r.keys(subject)
	_, stock := r.size(subject)
	if err := nodes[0].Set(ctx, stockKey, stock,
		r.Timeout+time.Hour).Err(); err != nil {
		return Row{}, fmt.Errorf("set the stock: %w", err)
	}
	var all part
	var used usage
	if r.Crew != nil && !subject.alone {
		all, used, err = r.Crew.run(ctx, r, subject)
	} else {
		all, used, err = r.here(ctx, subject, nodes)
	}
	if err != nil {
		return Row{}, err
	}
	row := r.row(subject, &all)
	if subject.alone && r.Loop > 0 {
		r.lone = all.Stamps
	}
	row.Nodes = min(subject.Nodes, len(nodes))
	if used.known && row.Sections > 0 && subject.Nodes > 0 {
		row.CallsPerSection = per(used.calls, row.Sections)
	}
	if used.known && row.Sections > 0 && used.cpu > 0 {
		row.CPU = &CPU{
			Server:  *per(used.cpu.Microseconds(), row.Sections),
			Clients: *per(all.CPU.Microseconds(), row.Sections),
		}
	}
	own, cancel := detached(ctx)
	defer cancel()
	if subject.Open != nil {
		row.Left = all.Left
		if all.Left != nil { // each sale should have taken one
			row.LostUpdates = row.Sold + *all.Left - int64(row.Stock)
		}
		return row, nil
	}
	if left, err := nodes[0].Get(own, stockKey).Int64(); err == nil {
		row.Left = &left
	}
	return row, nil
}

// enough is how many turns of the serial limit other rows are compared with, at
// least: a handful says nothing.
const enough = 1000

// size is how many turns all clients take together in a round, and how many
// units they share. Where others are compared with it, the serial limit takes
// more turns than they do when they are few, with a stock to match.
func (r *Runner) size(subject Subject) (turns, stock int) {
	turns, stock = r.Clients*max(r.Ops, 1), r.Stock
	if subject.alone && r.Rounds > 1 && turns < enough {
		stock, turns = stock*enough/turns, enough
	}
	return turns, stock
}

// keys are those of a row: the lock's and the stock's.
func (r *Runner) keys(subject Subject) (lockKey, stockKey string) {
	// The braces keep all keys of a row in one slot of a cluster, and make a
	// lock that adds keys of its own keep the prefix in front.
	prefix := r.Servers.prefix + "{" + subject.Name + "}:"
	return prefix + "lock", prefix + "stock"
}

// here runs all clients in this process.
func (r *Runner) here(ctx context.Context, subject Subject,
	nodes []redis.UniversalClient) (part, usage, error) {
	st, err := r.seat(ctx, subject, nodes)
	defer st.end()
	if err != nil {
		return part{}, usage{}, err
	}
	if ctx.Err() != nil {
		return part{}, usage{}, ctx.Err()
	}
	before := r.Servers.usage(ctx, len(nodes))
	all := r.open(ctx, st, time.Now())
	after := r.Servers.usage(ctx, len(nodes))
	if st.left != nil {
		own, cancel := detached(ctx)
		defer cancel()
		left, err := st.left(own)
		if err != nil {
			return part{}, usage{}, fmt.Errorf("count the stock: %w", err)
		}
		all.Left = &left
	}
	return all, after.since(before), nil
}

// stage is a round that is about to begin: every client has its lock.
type stage struct {
	sale    *sale
	clients []*client
	turns   []turn
	each    int // turns of each client, 0 in a closed loop
	closed  bool
	ends    []func()
	left    func(context.Context) (int64, error) // nil when Redis has the stock
}

// end gives back what the locks had in common. It may be called for nil.
func (st *stage) end() {
	if st == nil {
		return
	}
	for _, end := range st.ends {
		end()
	}
}

// seat makes the turn of every client of this process, and makes the process
// ready for a round.
func (r *Runner) seat(ctx context.Context, subject Subject,
	nodes []redis.UniversalClient) (*stage, error) {
	services := max(r.of, 1)
	s := &sale{
		env:     lock.Env{TTL: r.TTL, Dial: r.Servers.dial},
		rdb:     nodes[0],
		think:   r.Think,
		mutexes: imagined,
		seed:    r.Seed,
	}
	s.env.Key, s.stockKey = r.keys(subject)
	s.env.Options = []lock.Option{lock.PollEvery(r.Pause(subject))}
	if r.FixedPoll {
		s.env.Options = append(s.env.Options, lock.FixedPoll())
	}
	if services > 1 {
		s.mutexes = 1
	}
	if subject.Nodes > 0 {
		s.env.Nodes = nodes
	}
	st := &stage{sale: s, each: max(r.Ops, 1), closed: r.Loop > 0}
	if subject.Share != nil {
		build, end, err := subject.Share(ctx)
		if err != nil {
			return st, err
		}
		subject.Build = build
		st.ends = append(st.ends, end)
	}
	if subject.Open != nil {
		_, stock := r.size(subject)
		shop, err := subject.Open(ctx, stock)
		if err != nil {
			return st, err
		}
		subject.start = func(*sale) (seating, error) { return shop.visit, nil }
		st.ends, st.left = append(st.ends, shop.Close), shop.Left
	}
	drawn := fates(r.Clients, r.Crash, r.Overrun, r.Seed)
	for i := r.service; i < r.Clients; i += services {
		c := &client{sale: s, number: i, fate: drawn[i]}
		st.clients = append(st.clients, c)
	}
	if subject.alone {
		st.clients = []*client{{sale: s}}
		st.each, _ = r.size(subject)
	}
	if st.closed {
		st.each = 0
	}
	s.turns = st.each * len(st.clients)
	next, err := r.start(ctx, s, subject)
	if err != nil {
		return st, err
	}
	for _, c := range st.clients {
		take, err := r.turn(ctx, st, subject, c, next)
		if err != nil {
			return st, err
		}
		st.turns = append(st.turns, take)
	}
	st.ends = append(st.ends, r.Servers.tidy())
	return st, nil
}

// start prepares what the clients of a subject have in common. It returns nil
// when each builds a lock.
func (r *Runner) start(ctx context.Context, s *sale, subject Subject) (
	seating, error) {
	if subject.start != nil {
		return subject.start(s)
	}
	if subject.Build == nil {
		return nil, fmt.Errorf("%w: nothing builds the lock", lock.ErrInvalid)
	}
	warmUp(ctx, subject, s.env)
	return nil, nil
}

// turn makes one client's turn: a lock of its own, or what next makes.
func (r *Runner) turn(ctx context.Context, st *stage, subject Subject,
	c *client, next seating) (turn, error) {
	c.die = func() {}
	if next != nil {
		return next(c)
	}
	env, build := st.sale.env, subject.Build
	env.Options = c.options()
	if c.fate == crashes {
		// Who dies alone has lived alone: with connections of its own.
		own := r.Servers.apart(len(env.Nodes))
		st.ends = append(st.ends, own.close)
		c.die = own.close
		env.Dial = own.dial
		if env.Nodes != nil {
			env.Nodes = own.clients()
		}
		if subject.Share != nil {
			var end func()
			var err error
			if build, end, err = subject.Share(ctx); err != nil {
				return nil, err
			}
			st.ends = append(st.ends, end)
		}
	}
	l, err := build(env)
	if err != nil {
		return nil, fmt.Errorf("build the lock: %w", err)
	}
	return behind(l), nil
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

// open lets the clients start at one instant, not before at, and waits until all
// are through, but not much longer than until the timeout or the end of ctx.
func (r *Runner) open(ctx context.Context, st *stage, at time.Time) part {
	// Without a deadline: the client would give up commands under way at it,
	// and nobody would know whether they were granted the lock.
	ctx, end := context.WithCancel(ctx)
	defer end()

	s := st.sale
	gate := make(chan struct{})
	ready, through := make(chan struct{}), make(chan struct{})
	for i, take := range st.turns {
		go func() {
			ready <- struct{}{}
			<-gate
			c := st.clients[i]
			if r.Apart > 0 {
				_ = lock.Sleep(ctx, time.Duration(i)*r.Apart)
			}
			c.serve(ctx, st.each, take)
			through <- struct{}{}
		}()
	}
	for range st.turns {
		<-ready
	}
	traffic := r.Servers.traffic
	commands, trips := traffic.commands.Load(), traffic.roundTrips.Load()
	cpu := processTime()
	time.Sleep(time.Until(at))
	s.started = time.Now()
	if r.of > 1 {
		// Stamps of several processes are compared: they count from the same
		// moment, by the clock that all of them see, however late one woke up.
		s.started = s.started.Add(at.Sub(s.started))
	}
	r.stage.Store(st)
	defer r.stage.Store(nil)
	limit := r.Timeout
	if st.closed {
		limit = min(limit, r.Loop)
	}
	timeout := time.AfterFunc(limit, end)
	defer timeout.Stop()
	close(gate)

	absent := st.await(ctx, r.Grace, through)
	took := time.Since(s.started)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.add(&part{
		Absent:   absent,
		Took:     took,
		CPU:      processTime() - cpu,
		Commands: traffic.commands.Load() - commands,
		Trips:    traffic.roundTrips.Load() - trips,
		Most:     s.most.Load(),
		Sections: s.sections.Load(),
		Failures: s.failures.Load(),
	})
	result := s.result
	s.result = part{} // who is absent adds to nothing that is read
	return result
}

// await waits for the clients, and when ctx ends no longer than the grace. It
// returns how many it left behind.
func (st *stage) await(ctx context.Context, grace time.Duration,
	through chan struct{}) int {
	ended := ctx.Done()
	var patience <-chan time.Time
	for left := len(st.turns); left > 0; {
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

// row is what has happened.
func (r *Runner) row(subject Subject, all *part) Row {
	if r.Loop > 0 {
		// Who is granted the lock after the end of the loop was let in by it.
		all.Stamps = slices.DeleteFunc(all.Stamps, func(s stamp) bool {
			return s.Entered >= int64(r.Loop)
		})
	}
	row := Row{
		Rung:         subject.Name,
		Kind:         subject.Kind,
		Clients:      r.Clients,
		InTableOf:    r.Clients,
		Services:     max(r.of, 1),
		PollMs:       ms(r.Pause(subject)),
		FixedPoll:    r.FixedPoll,
		Sections:     all.Sections,
		Sold:         all.Sold,
		LostUpdates:  all.LostUpdates,
		Finished:     all.Cut == 0 && all.Absent == 0,
		Seconds:      round(all.Took.Seconds(), 6),
		Failures:     all.Failures,
		NotHeld:      all.NotHeld,
		Crashed:      all.Crashed,
		Overran:      all.Overran,
		Absent:       all.Absent,
		Stuck:        all.Cut,
		StandstillMs: ms(standstill(all.Stamps, all.Took)),
		InOrder:      inOrder(all.Stamps),
		Service:      sampled(orderOfService(all.Stamps)),
		meant:        subject.Nodes,
	}
	row.Turns, row.Stock = r.size(subject)
	row.Oversold = max(0, row.Sold-int64(row.Stock))
	if r.Crew != nil {
		row.Services = r.Crew.size()
	}
	if subject.alone {
		row.Clients, row.Services = 1, 1
	}
	if r.Loop > 0 {
		// Its clients are always cut off: by the end of the loop.
		row.LoopSeconds = new(r.Loop.Seconds())
		row.Turns = int(all.Sections + all.Failures)
		row.Finished = all.Absent == 0 && all.Took >= r.Loop
		row.Stuck = 0
	}
	row.Wait = waits(all.Stamps)
	if row.Wait != nil {
		limit := r.Timeout
		if r.Loop > 0 {
			limit = r.Loop
		}
		row.Wait.Max = max(row.Wait.Max,
			ms(min(time.Duration(all.Waiting), limit)))
	}
	if !subject.unlocked && subject.Open == nil {
		row.MaxHolders = new(all.Most)
		if r.Crew != nil {
			row.MaxHolders = new(max(all.Most, mostInside(all.Stamps)))
		}
	}
	if all.Took > 0 {
		row.HandoversPerSecond = new(
			round(float64(row.Sections)/all.Took.Seconds(), 3))
	}
	if subject.Nodes > 0 {
		row.CommandsPerSection = per(all.Commands, row.Sections)
		row.RoundTripsPerSection = per(all.Trips, row.Sections)
	}
	if all.Asked > 0 {
		row.Retries = new(all.Refused)
	}
	if !subject.alone && all.Absent == 0 {
		row.Jain = jain(all.Served)
	}
	if all.First != "" {
		row.FirstFailure = new(all.First)
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
	case r.Ops < 0:
		return fmt.Errorf("there are %d turns of each client, at least 1 is "+
			"needed", r.Ops)
	case r.Loop < 0:
		return fmt.Errorf("the loop lasts %v, it must be positive", r.Loop)
	case r.Loop >= r.Timeout:
		return fmt.Errorf("the loop lasts %v, it must be shorter than the "+
			"timeout, %v", r.Loop, r.Timeout)
	case r.Loop > 0 && r.Ops > 1:
		return fmt.Errorf("there are %d turns of each client and a loop of %v, "+
			"one of them is possible", r.Ops, r.Loop)
	case r.Rounds < 0:
		return fmt.Errorf("there are %d rounds, at least 1 is needed", r.Rounds)
	case !(0 <= r.Crash && r.Crash <= 1) || !(0 <= r.Overrun && r.Overrun <= 1):
		return fmt.Errorf("the shares of faults are %v and %v, they must be "+
			"between 0 and 1", r.Crash, r.Overrun)
	case r.Crash+r.Overrun > 1:
		return fmt.Errorf("the shares of faults, %v and %v, are more than 1 "+
			"together", r.Crash, r.Overrun)
	}
	return nil
}
