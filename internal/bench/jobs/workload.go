package jobs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

const (
	// pairedRounds is how often a row on real servers is measured.
	pairedRounds = 3

	// learnWithin bounds what a round does before it begins.
	learnWithin = 5 * time.Second

	// byScript is a baseline, and so is noLock.
	byScript = "script"
)

// These are counted, and the first two take a time.
const (
	read   = "read"
	change = "change"
	half   = "half" // a reader saw half a change
)

// CatalogWorkload lets clients read and change a list of prices behind one lock after the
// other, on the same servers.
type CatalogWorkload struct {
	crowd
	clients int           // each has a connection
	writes  int           // how many of a hundred clients change the prices
	rounds  int           // how often a row is measured
	poll    time.Duration // the longest pause of a refused client; 0: see pause
	rtt     time.Duration
	named   string // what -against names
	locks   []bench.Subject

	// usual is measured before each round of a row, which is compared with it;
	// nil: nothing is.
	usual *bench.Subject
}

// Flags defines the flags.
func (w *CatalogWorkload) Flags(flags *flag.FlagSet) func(bench.Run) (bench.Plan, error) {
	flags.IntVar(&w.clients, "clients", 1000,
		"how many `clients` start at one instant")
	flags.IntVar(&w.writes, "writes", 5,
		"how many of a `hundred` clients change the prices")
	flags.IntVar(&w.rounds, "rounds", 0, fmt.Sprintf("how often a row is "+
		"measured (default %d on real servers, 1 on embedded ones)", pairedRounds))
	flags.StringVar(&w.named, "against", "", "the `name` of a lock that is "+
		"measured before each round of a row, for\ncomparison (default none)")
	flags.DurationVar(&w.ttl, "ttl", 10*time.Second, "the lease of the lock")
	flags.DurationVar(&w.poll, "poll", 0, "the longest pause of a refused client "+
		"(default 100ms, on embedded servers\nat least 1ms for each client and "+
		"node)")
	flags.DurationVar(&w.timeout, "timeout", 30*time.Second,
		"ends a round that takes longer; its row is reported all the same")
	flags.DurationVar(&w.rtt, "rtt", 0,
		"adds this to the network's round-trip time")
	return func(run bench.Run) (bench.Plan, error) {
		if err := w.check(run.Given, run.Real); err != nil {
			return bench.Plan{}, err
		}
		nothing := listed{CatalogWorkload: w, tally: newTally(bench.Subject{}, 1, read, change)}
		plan := w.plan(run, w.clients, w.header(), nothing.row())
		plan.Config.RTT = w.rtt
		return plan, nil
	}
}

// check returns what is wrong with the settings, if anything.
func (w *CatalogWorkload) check(given map[string]bool, real bool) error {
	if !given["rounds"] {
		w.rounds = 1
		if real {
			w.rounds = pairedRounds
		}
	}
	if given["against"] {
		found, err := bench.Select(w.locks, w.named)
		if err != nil {
			return fmt.Errorf("-against: %w", err)
		}
		if len(found) > 1 {
			return errors.New("-against needs the name of one lock")
		}
		w.usual = &found[0]
	}
	switch {
	case w.clients < 1:
		return fmt.Errorf("there are %d clients, at least 1 is needed", w.clients)
	case w.clients > 10_000:
		return fmt.Errorf("there are %d clients, at most 10000 can each have a"+
			" connection", w.clients)
	case w.writes < 0 || w.writes > 100:
		return fmt.Errorf("%d of a hundred clients change the prices, it must be"+
			" 0 to 100", w.writes)
	case w.rounds < 1:
		return fmt.Errorf("there are %d rounds, at least 1 is needed", w.rounds)
	case given["poll"] && w.poll <= 0:
		return fmt.Errorf("the poll interval is %v, it must be positive", w.poll)
	case w.rtt < 0:
		return fmt.Errorf("the network's round-trip time is %v, it must not be "+
			"negative", w.rtt)
	}
	return bench.Settings{TTL: w.ttl, Timeout: w.timeout}.CheckTimes()
}

// Subjects are the locks, with the baselines in front.
func (w *CatalogWorkload) Subjects(locks []bench.Subject) []bench.Subject {
	w.locks = bench.Locks(locks)
	return append(bench.Baselines(noLock, byScript), w.locks...)
}

// header says what is done.
func (w *CatalogWorkload) header() string {
	text := fmt.Sprintf("%d clients come to a list of prices; %d %% of them change it, "+
		"the others read.\nLease %v, at most %v a round, %s.", w.clients, w.writes,
		w.ttl, w.timeout, bench.Plural(w.rounds, "round"))
	if w.rtt > 0 {
		text += fmt.Sprintf(" Round trips take %v more.", w.rtt)
	}
	return text + "\n"
}

// listed is what was measured of one lock. Counts are of all rounds together, and
// figures are those of the median round.
type listed struct {
	*CatalogWorkload
	*tally
	shared bool      // readers read together
	lost   int       // changes that a later one did not know of
	rounds []float64 // seconds
	times  []float64 // as fast as usual, in each round
}

// Measure lets all clients begin at one instant, in every round. It returns an
// error when the row could not begin.
func (w *CatalogWorkload) Measure(ctx context.Context, run bench.Run,
	subject bench.Subject) (bench.Row, error) {
	w.servers = run.Servers
	m := w.listed(subject)
	for range w.rounds {
		usual, err := w.against(ctx, subject)
		if err != nil {
			return bench.Row{}, fmt.Errorf("-against %s: %w", w.usual.Name, err)
		}
		if err := m.round(ctx); err != nil {
			return bench.Row{}, fmt.Errorf("read and change the list behind %s: %w", subject.Name, err)
		}
		m.rounds = append(m.rounds, bench.Rounded(m.took.Seconds(), 4))
		if usual > 0 {
			m.times = append(m.times, usual.Seconds()/m.took.Seconds())
		}
		if m.cut > 0 || ctx.Err() != nil {
			break
		}
	}
	return m.row(), nil
}

func (w *CatalogWorkload) listed(subject bench.Subject) *listed {
	return &listed{CatalogWorkload: w,
		tally: newTally(subject, w.servers.Nodes(), read, change)}
}

// against measures what a row is compared with, and returns how long that took, 0 when
// there is nothing.
func (w *CatalogWorkload) against(ctx context.Context, subject bench.Subject) (
	time.Duration, error) {
	if w.usual == nil || w.usual.Name == subject.Name {
		return 0, nil
	}
	m := w.listed(*w.usual)
	switch err := m.round(ctx); {
	case err != nil || ctx.Err() != nil:
		return 0, err
	case m.cut > 0:
		return 0, fmt.Errorf("%d clients were not through when the timeout was over", m.cut)
	}
	return m.took, m.first
}

// pause is the longest of a refused client.
func (m *listed) pause() time.Duration {
	s := bench.Settings{Clients: m.clients, Poll: m.poll}
	return s.Pause(m.subject, m.servers != nil && m.servers.Embedded())
}

// round lets every client come to the list.
func (m *listed) round(ctx context.Context) error {
	m.servers.Clear()
	warm, err := m.servers.Warm(ctx, max(m.subject.Nodes, 1))
	if err != nil {
		return err
	}
	// No two rounds have a key in common, so keys that an interrupted round has
	// left behind are in nobody's way.
	list := List{RDB: warm[0], Key: m.servers.Prefix(fmt.Sprintf("catalog:%s:%d",
		m.subject.Name, time.Now().UnixNano())) + "list"}
	if err := list.Begin(ctx); err != nil {
		return err
	}
	clients := make([]access, m.clients)
	for i := range clients {
		if clients[i], err = m.client(warm, list); err != nil {
			return err
		}
	}
	m.learn(ctx, warm, List{RDB: warm[0], Key: list.Key + ":warm-up"})
	before := m.counts[change]
	m.run(ctx, m.tally, len(clients), ahead{},
		func(ctx context.Context, i int, ready func() time.Time) {
			m.come(ctx, clients[i], changes(i, m.writes), ready())
		})
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if price, _, err := list.ReadAtOnce(last); err == nil && m.cut == 0 {
		m.lost += max(m.counts[change]-before-price, 0)
	}
	return nil
}

// changes says whether the i-th client is one of so many of a hundred.
func changes(i, writes int) bool { return (i+1)*writes/100 != i*writes/100 }

// learn lets the servers learn the scripts. It ignores errors, because they come
// up in the round as well, and are counted there.
func (m *listed) learn(ctx context.Context, warm []redis.UniversalClient, list List) {
	ctx, cancel := context.WithTimeout(ctx, min(m.timeout, learnWithin))
	defer cancel()
	client, err := m.client(warm, list)
	if err == nil && list.Begin(ctx) == nil {
		_, _, _ = client.read(ctx)
		_ = client.change(ctx)
	}
}

// access is how one client comes to the list.
type access struct {
	read   func(ctx context.Context) (price int, half bool, err error)
	change func(ctx context.Context) error
}

// client is a client's access to a list. Readers share a lock that lets them.
func (m *listed) client(warm []redis.UniversalClient, list List) (access, error) {
	switch m.subject.Name {
	case noLock:
		return access{list.Read, list.Change}, nil
	case byScript:
		return access{list.ReadAtOnce, list.ChangeAtOnce}, nil
	}
	l, err := m.subject.Build(m.env(warm, list.Key+":lock", m.pause()))
	if err != nil {
		return access{}, fmt.Errorf("build the lock: %w", err)
	}
	acquire, release := l.Lock, l.Unlock
	if rw, ok := l.(lock.ReadWrite); ok {
		m.shared = true
		acquire, release = rw.RLock, rw.RUnlock
	}
	return access{
		read: func(ctx context.Context) (price int, half bool, err error) {
			if err := acquire(ctx); err != nil {
				return 0, false, err
			}
			price, half, err = list.Read(ctx)
			return price, half, errors.Join(err, release(ctx))
		},
		change: func(ctx context.Context) error {
			if err := l.Lock(ctx); err != nil {
				return err
			}
			return errors.Join(list.Change(ctx), l.Unlock(ctx))
		},
	}, nil
}

// come is one access to the list.
func (m *listed) come(ctx context.Context, client access, changes bool, began time.Time) {
	if changes {
		err := client.change(ctx)
		m.add(ctx, err, time.Since(began), change)
		return
	}
	what := []string{read}
	_, saw, err := client.read(ctx)
	if saw {
		what = append(what, half)
	}
	m.add(ctx, err, time.Since(began), what...)
}

func (m *listed) row() bench.Row {
	reads, writes := m.clocks[read], m.clocks[change]
	perSecond := 0.0
	if m.done > 0 {
		perSecond = bench.Rounded(float64(m.done)/float64(len(m.rounds))/median(m.rounds), 0)
	}
	against := bench.Figure{Name: "against"}
	times := bench.Figure{Name: "times", Column: bench.NewColumn("", "times", 7, 2)}
	if m.usual != nil {
		times.Legend = "times: how many times as fast as " + m.usual.Name + ", which was" +
			" measured before each round; the median of the rounds"
	}
	if len(m.times) > 0 && m.cut == 0 {
		against.Value, times.Value = m.usual.Name, bench.Rounded(median(m.times), 2)
	}
	return m.tally.row("turn", m.clients*len(m.rounds), []bench.Figure{
		{Name: "shared", Value: m.shared},
		{Name: "clients", Value: m.clients},
		{Name: "writes_percent", Value: m.writes},
		{Name: "poll_ms", Value: bench.Milliseconds(m.pause())},
		{Name: "reads", Value: m.counts[read], Column: bench.NewColumn("", "reads", 7, 0)},
		{Name: "half_changes_seen", Value: m.counts[half], Column: bench.NewColumn("", "half", 6, 0),
			Legend: "half: reads that saw half a change"},
		{Name: "changes", Value: m.counts[change], Column: bench.NewColumn("", "changes", 8, 0)},
		{Name: "lost_changes", Value: m.lost, Column: bench.NewColumn("", "lost", 6, 0),
			Legend: "lost: changes that a later one overwrote unseen"},
		{Name: "round_seconds", Value: m.rounds},
		{Name: "ops_per_second", Value: perSecond, Column: bench.NewColumn("", "ops/s", 8, 0)},
		against, times,
		{Name: "read_ms.p50", Value: reads.At(50), Column: bench.NewColumn("read", "p50 ms", 8, 1),
			Legend: "p50: median time of a read and of a change, with the wait for the lock"},
		{Name: "read_ms.p99", Value: reads.At(99)},
		{Name: "read_ms.max", Value: reads.At(100)},
		{Name: "change_ms.p50", Value: writes.At(50),
			Column: bench.NewColumn("change", "p50 ms", 8, 1)},
		{Name: "change_ms.p99", Value: writes.At(99)},
		{Name: "change_ms.max", Value: writes.At(100)},
		{Name: "commands_per_op", Value: bench.Rounded(
			float64(m.commands)/float64(max(m.done, 1)), 2),
			Column: bench.NewColumn("commands", "/op", 9, 1),
			Legend: "commands/op: commands for each read or change"},
	})
}

// median of at least one.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
