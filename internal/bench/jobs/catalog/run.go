package catalog

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

// learnWithin bounds what a round does before it begins.
const learnWithin = 5 * time.Second

// The baselines.
const (
	noLock = "no-lock"
	script = "script"
)

// Row is what was measured of one lock. Counts are of all rounds together, and
// figures are those of the median round. A figure that was not measured is nil.
type Row struct {
	Rung    string     `json:"rung"`
	Kind    bench.Kind `json:"kind"`
	Nodes   int        `json:"nodes"`
	Shared  bool       `json:"shared"` // readers read together
	Clients int        `json:"clients"`
	Writes  int        `json:"writes_percent"`
	Ops     int        `json:"ops"`
	PollMs  float64    `json:"poll_ms"`

	Reads   int `json:"reads"`
	Changes int `json:"changes"`
	Halves  int `json:"half_changes_seen"`
	Lost    int `json:"lost_changes"` // a later one did not know of

	Finished     bool      `json:"finished"` // every client was through
	RoundSeconds []float64 `json:"round_seconds"`
	OpsPerSecond float64   `json:"ops_per_second"`
	Against      *string   `json:"against"`
	Times        *float64  `json:"times"` // as fast as that

	// Read and Change are how long these took with the wait for the lock, in all
	// rounds.
	Read   *bench.Times `json:"read_ms"`
	Change *bench.Times `json:"change_ms"`

	CommandsPerOp float64 `json:"commands_per_op"`
	Failures      int     `json:"failures"`
	FirstFailure  *string `json:"first_failure"`
	Interrupted   bool    `json:"interrupted"`
}

// tally is what the clients of a row have seen.
type tally struct {
	mu             sync.Mutex
	reads, changes int
	halves, lost   int
	cut, failed    int
	sent           int64 // commands, from the start of a round to its end
	first          error
	read, change   bench.Clock
}

// unfit says why a round is nothing to compare with, if it isn't.
func (t *tally) unfit() error {
	if t.cut > 0 {
		return fmt.Errorf("%d clients were not through when the timeout was over", t.cut)
	}
	return t.first
}

func newTally() *tally {
	return &tally{read: bench.NewClock(), change: bench.NewClock()}
}

// measure lets all clients begin at one instant, in every round. It returns an
// error when the row could not begin.
func (w *Workload) measure(ctx context.Context, subject bench.Subject) (Row,
	error) {
	row := Row{Rung: subject.Name, Kind: subject.Kind, Clients: w.clients,
		Nodes:  min(max(subject.Nodes, 1), w.Servers.Nodes()),
		Writes: w.writes, Ops: w.ops, Finished: true,
		PollMs: bench.Milliseconds(w.pause(subject))}
	t := newTally()
	var times []float64
	for range w.rounds {
		usual := 0.0
		if w.usual != nil && w.usual.Name != subject.Name {
			against := newTally()
			took, err := w.round(ctx, *w.usual, against, nil)
			if err == nil && ctx.Err() == nil {
				err = against.unfit()
			}
			if err != nil {
				return Row{}, fmt.Errorf("-against %s: %w", w.usual.Name, err)
			}
			usual = took.Seconds()
		}
		took, err := w.round(ctx, subject, t, &row)
		if err != nil {
			return Row{}, err
		}
		row.RoundSeconds = append(row.RoundSeconds,
			bench.Rounded(took.Seconds(), 4))
		if usual > 0 {
			times = append(times, usual/took.Seconds())
		}
		if t.cut > 0 || ctx.Err() != nil {
			break
		}
	}
	row.Reads, row.Changes, row.Halves, row.Lost = t.reads, t.changes, t.halves, t.lost
	row.Finished, row.Failures = t.cut == 0, t.failed
	row.Interrupted = ctx.Err() != nil
	if t.first != nil {
		row.FirstFailure = new(t.first.Error())
	}
	if done := t.reads + t.changes; done > 0 {
		row.CommandsPerOp = bench.Rounded(float64(t.sent)/float64(done), 2)
		row.OpsPerSecond = bench.Rounded(float64(done)/
			float64(len(row.RoundSeconds))/median(row.RoundSeconds), 0)
	}
	if len(times) > 0 && row.Finished {
		row.Against = &w.usual.Name
		row.Times = new(bench.Rounded(median(times), 2))
	}
	row.Read, row.Change = t.read.Times(), t.change.Times()
	return row, nil
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

// round lets every client come to the list, and returns how long that took. Row is
// nil where only that is asked for.
func (w *Workload) round(ctx context.Context, subject bench.Subject, t *tally,
	row *Row) (time.Duration, error) {
	w.Servers.Clear()
	warm, err := w.Servers.Warm(ctx, max(subject.Nodes, 1))
	if err != nil {
		return 0, err
	}
	// No two rounds have a key in common, so keys that an interrupted round has
	// left behind are in nobody's way.
	key := w.Servers.Prefix(fmt.Sprintf("catalog:%s:%d", subject.Name,
		time.Now().UnixNano())) + "list"
	list := List{RDB: warm[0], Key: key}
	if err := list.Begin(ctx); err != nil {
		return 0, err
	}
	clients := make([]access, w.clients)
	for i := range clients {
		if clients[i], err = w.client(subject, warm, key); err != nil {
			return 0, err
		}
	}
	if row != nil && subject.Build != nil {
		row.Shared = shares(subject, w.env(subject, warm, key))
	}
	w.learn(ctx, clients[0], List{RDB: warm[0], Key: key + ":warm-up"})
	if err := list.Begin(ctx); err != nil {
		return 0, err
	}

	ctx, end := context.WithCancel(ctx)
	defer end()
	w.done.Store(0)
	runtime.GC() // so that no row pays for the one before it
	gate := make(chan struct{})
	var ready, through sync.WaitGroup
	var open time.Time
	for i, client := range clients {
		ready.Add(1)
		through.Go(func() {
			ready.Done()
			<-gate
			for n := range w.ops {
				began := open
				if n > 0 {
					began = time.Now()
				}
				t.come(ctx, client, list, changes(i, w.writes), began)
				w.done.Add(1)
			}
		})
	}
	ready.Wait()
	changesBefore := t.changes
	sentBefore, _ := w.Servers.Traffic()
	open = time.Now()
	timeout := time.AfterFunc(w.Timeout, end)
	defer timeout.Stop()
	close(gate)
	through.Wait()
	took := time.Since(open)
	sent, _ := w.Servers.Traffic()
	t.sent += sent - sentBefore

	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if price, _, err := list.ReadAtOnce(last); err == nil && t.cut == 0 {
		t.lost += max(t.changes-changesBefore-price, 0)
	}
	return took, nil
}

// changes says whether the i-th client is one of so many of a hundred.
func changes(i, writes int) bool { return (i+1)*writes/100 != i*writes/100 }

// env is what a lock of the subject is built from.
func (w *Workload) env(subject bench.Subject, warm []redis.UniversalClient,
	key string) lock.Env {
	return lock.Env{Nodes: warm, Key: key + ":lock", TTL: w.TTL,
		Options: []lock.Option{lock.PollEvery(w.pause(subject)),
			lock.NodeTimeout(max(w.TTL/2, time.Millisecond))}}
}

func (w *Workload) client(subject bench.Subject, warm []redis.UniversalClient,
	key string) (access, error) {
	switch {
	case subject.Name == noLock:
		return free(), nil
	case subject.Name == script:
		return scripted(), nil
	}
	l, err := subject.Build(w.env(subject, warm, key))
	if err != nil {
		return access{}, fmt.Errorf("build the lock: %w", err)
	}
	return behind(l), nil
}

// shares says whether the readers of a lock read together.
func shares(subject bench.Subject, env lock.Env) bool {
	l, err := subject.Build(env)
	_, is := l.(lock.ReadWrite)
	return err == nil && is
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
func (t *tally) come(ctx context.Context, client access, list List, change bool,
	began time.Time) {
	half, err, waits := false, error(nil), t.read
	if change {
		err, waits = client.change(ctx, list), t.change
	} else {
		half, err = client.read(ctx, list)
	}
	took := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil && change:
		t.changes++
	case err == nil:
		t.reads++
	case ctx.Err() != nil:
		t.cut++
		return
	default:
		t.failed++
		t.first = cmp.Or(t.first, err)
		return
	}
	if half {
		t.halves++
	}
	waits.Record(took)
}
