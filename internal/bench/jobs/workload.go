package jobs

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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

	// These are baselines.
	noLock   = "no-lock" // its clients don't exclude each other
	byScript = "script"
)

// CatalogWorkload lets clients read and change a list of prices behind one lock after the
// other, on the same servers. They begin at one instant.
type CatalogWorkload struct {
	clients int // each has a connection
	writes  int // how many of a hundred clients change the prices
	rounds  int // how often a row is measured
	rtt     time.Duration
	timeout time.Duration // bounds one round
	named   string        // what -against names
	locks   []bench.Subject

	// usual is measured before each round of a row, which is compared with it;
	// nil: nothing is.
	usual *bench.Subject

	servers *bench.Servers
	ended   atomic.Int64 // clients of the round under way
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
	flags.DurationVar(&w.timeout, "timeout", bench.DefaultTimeout,
		"ends a round that takes longer; its row is reported all the same")
	flags.DurationVar(&w.rtt, "rtt", 0,
		"adds this to the network's round-trip time")
	return func(run bench.Run) (bench.Plan, error) {
		if err := w.check(run.Given, run.Real); err != nil {
			return bench.Plan{}, err
		}
		return bench.Plan{Config: bench.Config{Clients: w.clients, RTT: w.rtt},
			TTL: bench.DefaultTTL, Timeout: w.timeout, Header: w.header(),
			Layout: bench.Layout{Width: run.Width},
			Empty:  w.listed(bench.Subject{}, 1).row(), Tables: []string{""},
			Progress: func() string {
				return fmt.Sprintf(": %d of %d", w.ended.Load(), w.clients)
			}}, nil
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
	case w.rtt < 0:
		return fmt.Errorf("the network's round-trip time is %v, it must not be "+
			"negative", w.rtt)
	}
	return bench.Settings{TTL: bench.DefaultTTL, Timeout: w.timeout}.CheckTimes()
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
		bench.DefaultTTL, w.timeout, bench.Plural(w.rounds, "round"))
	if w.rtt > 0 {
		text += fmt.Sprintf(" Round trips take %v more.", w.rtt)
	}
	return text + "\n"
}

// listed is what was measured of one lock. Counts are of all rounds together, and
// figures are those of the median round.
type listed struct {
	*CatalogWorkload
	subject bench.Subject
	nodes   int       // servers that the lock was on
	shared  bool      // readers read together
	lost    int       // changes that a later one did not know of
	rounds  []float64 // seconds
	times   []float64 // as fast as usual, in each round

	took     time.Duration // the newest round, until the last client's end
	commands int64

	mu             sync.Mutex  // guards what follows while clients run
	reads, changes bench.Clock // how long each took, with the wait for the lock
	half           int         // readers that saw half a change
	read, changed  int         // clients that did so
	cut            int         // what the timeout or an interrupt cut off
	failed         int
	first          error // of those that failed
}

func (w *CatalogWorkload) listed(subject bench.Subject, servers int) *listed {
	return &listed{CatalogWorkload: w, subject: subject, reads: bench.NewClock(),
		changes: bench.NewClock(), nodes: min(max(subject.Nodes, 1), servers)}
}

// Measure lets all clients begin at one instant, in every round. It returns an
// error when the row could not begin.
func (w *CatalogWorkload) Measure(ctx context.Context, run bench.Run,
	subject bench.Subject) (bench.Row, error) {
	w.servers = run.Servers
	m := w.listed(subject, w.servers.Nodes())
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

// against measures what a row is compared with, and returns how long that took, 0 when
// there is nothing.
func (w *CatalogWorkload) against(ctx context.Context, subject bench.Subject) (
	time.Duration, error) {
	if w.usual == nil || w.usual.Name == subject.Name {
		return 0, nil
	}
	m := w.listed(*w.usual, w.servers.Nodes())
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
	return bench.Settings{Clients: m.clients}.Pause(m.subject,
		m.servers != nil && m.servers.Embedded())
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
	before := m.changed
	m.run(ctx, clients)
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if price, _, err := list.ReadAtOnce(last); err == nil && m.cut == 0 {
		m.lost += max(m.changed-before-price, 0)
	}
	return nil
}

// run lets the clients begin at one instant, and returns when all have ended. The timeout
// ends them, and so does ctx.
func (m *listed) run(ctx context.Context, clients []access) {
	running, end := context.WithCancel(ctx)
	defer end()
	m.ended.Store(0)
	runtime.GC() // so that no row pays for the one before it
	var open time.Time
	var ready, through sync.WaitGroup
	ready.Add(len(clients))
	gate := make(chan struct{})
	for i, client := range clients {
		through.Go(func() {
			ready.Done()
			<-gate
			m.come(running, client, changes(i, m.writes), open)
			m.ended.Add(1)
		})
	}
	ready.Wait()
	before, _ := m.servers.Traffic()
	open = time.Now()
	timeout := time.AfterFunc(m.timeout, end)
	defer timeout.Stop()
	close(gate)
	through.Wait()
	m.took = time.Since(open)
	sent, _ := m.servers.Traffic()
	m.commands += sent - before
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
	// A client that queues for a connection behind thousands is late, not lost.
	late := lock.NodeTimeout(bench.DefaultTTL / 2)
	l, err := m.subject.Build(lock.Env{Nodes: warm, Key: list.Key + ":lock",
		TTL: bench.DefaultTTL, Options: []lock.Option{lock.PollEvery(m.pause()), late}})
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

// come is one access to the list, and counts it.
func (m *listed) come(ctx context.Context, client access, changes bool, began time.Time) {
	half := false
	var err error
	if changes {
		err = client.change(ctx)
	} else {
		_, half, err = client.read(ctx)
	}
	took := time.Since(began)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil && ctx.Err() != nil:
		m.cut++
	case err != nil:
		m.failed++
		m.first = cmp.Or(m.first, err)
	case changes:
		m.changed++
		m.changes.Record(took)
	default:
		m.read++
		m.reads.Record(took)
		if half {
			m.half++
		}
	}
}

func (m *listed) row() bench.Row {
	done, perSecond := m.read+m.changed, 0.0
	if done > 0 {
		perSecond = bench.Rounded(float64(done)/float64(len(m.rounds))/median(m.rounds), 0)
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
	var first any
	if m.first != nil {
		first = m.first.Error()
	}
	return bench.NewRow(
		bench.Figure{Name: "rung", Value: m.subject.Name},
		bench.Figure{Name: "kind", Value: string(m.subject.Kind)},
		bench.Figure{Name: "nodes", Value: m.nodes},
		bench.Figure{Name: "shared", Value: m.shared},
		bench.Figure{Name: "clients", Value: m.clients},
		bench.Figure{Name: "writes_percent", Value: m.writes},
		bench.Figure{Name: "poll_ms", Value: bench.Milliseconds(m.pause())},
		bench.Figure{Name: "reads", Value: m.read, Column: bench.NewColumn("", "reads", 7, 0)},
		bench.Figure{Name: "half_changes_seen", Value: m.half,
			Column: bench.NewColumn("", "half", 6, 0),
			Legend: "half: reads that saw half a change"},
		bench.Figure{Name: "changes", Value: m.changed,
			Column: bench.NewColumn("", "changes", 8, 0)},
		bench.Figure{Name: "lost_changes", Value: m.lost, Column: bench.NewColumn("", "lost", 6, 0),
			Legend: "lost: changes that a later one overwrote unseen"},
		bench.Figure{Name: "round_seconds", Value: m.rounds},
		bench.Figure{Name: "ops_per_second", Value: perSecond,
			Column: bench.NewColumn("", "ops/s", 8, 0)},
		against, times,
		bench.Figure{Name: "read_ms.p50", Value: m.reads.At(50),
			Column: bench.NewColumn("read", "p50 ms", 8, 1),
			Legend: "p50: median time of a read and of a change, with the wait for the lock"},
		bench.Figure{Name: "read_ms.p99", Value: m.reads.At(99)},
		bench.Figure{Name: "read_ms.max", Value: m.reads.At(100)},
		bench.Figure{Name: "change_ms.p50", Value: m.changes.At(50),
			Column: bench.NewColumn("change", "p50 ms", 8, 1)},
		bench.Figure{Name: "change_ms.p99", Value: m.changes.At(99)},
		bench.Figure{Name: "change_ms.max", Value: m.changes.At(100)},
		bench.Figure{Name: "commands_per_op",
			Value:  bench.Rounded(float64(m.commands)/float64(max(done, 1)), 2),
			Column: bench.NewColumn("commands", "/op", 9, 1),
			Legend: "commands/op: commands for each read or change"},
		bench.Figure{Name: "finished", Value: m.cut == 0},
		bench.Figure{Name: "failures", Value: m.failed},
		bench.Figure{Name: "first_failure", Value: first},
	).Noted("turn", m.took.Seconds(), done, m.clients*len(m.rounds))
}

// median of at least one.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
