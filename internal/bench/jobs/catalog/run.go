package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/jobs"
	"github.com/lockladder/lockladder/lock"
)

// learnWithin bounds what a round does before it begins.
const learnWithin = 5 * time.Second

// script is a baseline, and so is jobs.NoLock.
const script = "script"

// These are counted, and the first two take a time.
const (
	read   = "read"
	change = "change"
	half   = "half" // a reader saw half a change
)

// measured is what was measured of one lock. Counts are of all rounds together, and
// figures are those of the median round.
type measured struct {
	*Workload
	*jobs.Tally
	shared bool      // readers read together
	lost   int       // changes that a later one did not know of
	rounds []float64 // seconds
	times  []float64 // as fast as usual, in each round
}

// Measure lets all clients begin at one instant, in every round. It returns an
// error when the row could not begin.
func (w *Workload) Measure(ctx context.Context, run bench.Run, subject bench.Subject) (
	[]bench.Measured, error) {
	w.Servers = run.Servers
	m := measured{Workload: w, Tally: w.Tally(subject, read, change)}
	for range w.rounds {
		usual, err := w.against(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("-against %s: %w", w.usual.Name, err)
		}
		if err := m.round(ctx); err != nil {
			return nil, fmt.Errorf("read and change the list behind %s: %w", subject.Name, err)
		}
		m.rounds = append(m.rounds, bench.Rounded(m.Took.Seconds(), 4))
		if usual > 0 {
			m.times = append(m.times, usual.Seconds()/m.Took.Seconds())
		}
		if m.Cut > 0 || ctx.Err() != nil {
			break
		}
	}
	return figures.Rows(ctx, m, w.clients*w.ops*len(m.rounds), "were through", "accesses")
}

// against measures what a row is compared with, and returns how long that took, 0 when
// there is nothing.
func (w *Workload) against(ctx context.Context, subject bench.Subject) (time.Duration,
	error) {
	if w.usual == nil || w.usual.Name == subject.Name {
		return 0, nil
	}
	m := measured{Workload: w, Tally: w.Tally(*w.usual, read, change)}
	switch err := m.round(ctx); {
	case err != nil || ctx.Err() != nil:
		return 0, err
	case m.Cut > 0:
		return 0, fmt.Errorf("%d clients were not through when the timeout was over", m.Cut)
	}
	return m.Took, m.First
}

// median of at least one.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// pause is the longest of a refused client. An embedded server has no time for the
// one that has the lock when 1000 clients ask ten times a second.
func (w *Workload) pause(subject bench.Subject) time.Duration {
	if w.Servers.Embedded() && w.poll == 0 {
		return max(lock.DefaultPoll, time.Duration(w.clients*
			max(subject.Nodes, 1))*time.Millisecond)
	}
	return cmp.Or(w.poll, subject.Poll, lock.DefaultPoll)
}

// round lets every client come to the list.
func (m *measured) round(ctx context.Context) error {
	w := m.Workload
	w.Servers.Clear()
	warm, err := w.Servers.Warm(ctx, max(m.Subject.Nodes, 1))
	if err != nil {
		return err
	}
	// No two rounds have a key in common, so keys that an interrupted round has
	// left behind are in nobody's way.
	key := w.Servers.Prefix(fmt.Sprintf("catalog:%s:%d", m.Subject.Name,
		time.Now().UnixNano())) + "list"
	list := List{RDB: warm[0], Key: key}
	if err := list.Begin(ctx); err != nil {
		return err
	}
	clients := make([]access, w.clients)
	for i := range clients {
		if clients[i], err = m.client(warm, key); err != nil {
			return err
		}
	}
	w.learn(ctx, clients[0], List{RDB: warm[0], Key: key + ":warm-up"})
	before := m.Counts[change]
	w.Run(ctx, m.Tally, w.clients, jobs.Ahead{},
		func(ctx context.Context, i int, ready func() time.Time) {
			began := ready()
			for range w.ops {
				m.come(ctx, clients[i], list, changes(i, w.writes), began)
				began = time.Now()
			}
		})
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if price, _, err := list.ReadAtOnce(last); err == nil && m.Cut == 0 {
		m.lost += max(m.Counts[change]-before-price, 0)
	}
	return nil
}

// changes says whether the i-th client is one of so many of a hundred.
func changes(i, writes int) bool { return (i+1)*writes/100 != i*writes/100 }

// client is how a client comes to the list of a key.
func (m *measured) client(warm []redis.UniversalClient, key string) (access, error) {
	switch m.Subject.Name {
	case jobs.NoLock:
		return free(), nil
	case script:
		return scripted(), nil
	}
	l, err := m.Subject.Build(m.Env(warm, key+":lock", m.pause(m.Subject)))
	if err != nil {
		return access{}, fmt.Errorf("build the lock: %w", err)
	}
	_, m.shared = l.(lock.ReadWrite)
	return behind(l), nil
}

// learn lets the servers learn the scripts. It ignores errors, because they come
// up in the round as well, and are counted there.
func (w *Workload) learn(ctx context.Context, client access, list List) {
	ctx, cancel := context.WithTimeout(ctx, min(w.Timeout, learnWithin))
	defer cancel()
	if list.Begin(ctx) == nil {
		_, _ = client.read(ctx, list)
		_ = client.change(ctx, list)
	}
}

// come is one access to the list.
func (m *measured) come(ctx context.Context, client access, list List, changes bool,
	began time.Time) {
	if changes {
		err := client.change(ctx, list)
		m.Add(ctx, err, time.Since(began), change)
		return
	}
	what := []string{read}
	saw, err := client.read(ctx, list)
	if saw {
		what = append(what, half)
	}
	m.Add(ctx, err, time.Since(began), what...)
}

var figures = jobs.Figures[measured]{
	jobs.Value("shared", func(m measured) any { return m.shared }),
	jobs.Value("clients", func(m measured) any { return m.clients }),
	jobs.Value("writes_percent", func(m measured) any { return m.writes }),
	jobs.Value("ops", func(m measured) any { return m.ops }),
	jobs.Value("poll_ms", func(m measured) any {
		return bench.Milliseconds(m.pause(m.Subject))
	}),
	jobs.Shown("reads", "", "reads", 7, 0, func(m measured) any { return m.Counts[read] }),
	jobs.Shown("half_changes_seen", "", "half", 6, 0, func(m measured) any {
		return m.Counts[half]
	}),
	jobs.Shown("changes", "", "changes", 8, 0, func(m measured) any {
		return m.Counts[change]
	}),
	jobs.Shown("lost_changes", "", "lost", 6, 0, func(m measured) any { return m.lost }),
	jobs.Value("round_seconds", func(m measured) any { return m.rounds }),
	jobs.Shown("ops_per_second", "", "ops/s", 8, 0, func(m measured) any {
		if m.Done == 0 {
			return 0.0
		}
		return bench.Rounded(float64(m.Done)/float64(len(m.rounds))/median(m.rounds), 0)
	}),
	jobs.Value("against", func(m measured) any {
		if m.compared() {
			return m.usual.Name
		}
		return nil
	}),
	jobs.Shown("times", "", "times", 7, 2, func(m measured) any {
		if m.compared() {
			return bench.Rounded(median(m.times), 2)
		}
		return nil
	}),
	jobs.Value("read_ms", func(m measured) any { return m.Clocks[read].Times() }),
	jobs.Value("change_ms", func(m measured) any { return m.Clocks[change].Times() }),
	jobs.Shown("", "read", "p50 ms", 8, 0, func(m measured) any { return m.p50(read) }),
	jobs.Shown("", "change", "p50 ms", 8, 0, func(m measured) any { return m.p50(change) }),
	jobs.Shown("commands_per_op", "commands", "/op", 9, 1, func(m measured) any {
		return bench.Rounded(float64(m.Commands)/float64(max(m.Done, 1)), 2)
	}),
}

// compared says whether each round was compared with another one.
func (m measured) compared() bool { return len(m.times) > 0 && m.Cut == 0 }

func (m measured) p50(what string) string {
	return m.Clocks[what].Times().Show(1, func(t *bench.Times) float64 { return t.P50 })
}
