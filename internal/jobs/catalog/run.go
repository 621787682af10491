package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/lock"
)

// The settings of a run for which nothing else was asked.
const (
	DefaultClients = 1000
	DefaultWrites  = 5 // of a hundred
	DefaultTTL     = 10 * time.Second
	DefaultTimeout = 30 * time.Second

	pairedRounds = 3

	// learnWithin bounds what a round does before it begins.
	learnWithin = 5 * time.Second
)

// The baselines.
const (
	noLock = "no-lock"
	script = "script"
)

// Around puts the baselines in front of the locks.
func Around(locks ...benchmark.Subject) []benchmark.Subject {
	return append([]benchmark.Subject{
		{Name: noLock, Kind: benchmark.Baseline, Nodes: 1},
		{Name: script, Kind: benchmark.Baseline, Nodes: 1},
	}, locks...)
}

// Runner lets clients read and change a list of prices behind one lock after the
// other, on the same servers. Its fields are set before the first Measure.
type Runner struct {
	benchmark.Basic
	Clients int           // at least 1, and each has a connection
	Writes  int           // how many of a hundred clients change the prices
	Ops     int           // how often each client comes, at least 1
	Rounds  int           // how often a row is measured, at least 1
	Poll    time.Duration // the longest pause of a refused client; 0: see pause

	// Against is measured before each round of a row, which is compared with it;
	// nil: nothing is.
	Against *benchmark.Subject

	done atomic.Int64 // of the round under way
}

// Check returns what is wrong with the settings, if anything.
func (r *Runner) Check() error {
	switch {
	case r.Clients < 1:
		return fmt.Errorf("there are %d clients, at least 1 is needed", r.Clients)
	case r.Clients > 10_000:
		return fmt.Errorf("there are %d clients, at most 10000 can each have a"+
			" connection", r.Clients)
	case r.Writes < 0 || r.Writes > 100:
		return fmt.Errorf("%d of a hundred clients change the prices, it must be"+
			" 0 to 100", r.Writes)
	case r.Ops < 1:
		return fmt.Errorf("each client comes %d times, at least 1 is needed", r.Ops)
	case r.Rounds < 1:
		return fmt.Errorf("there are %d rounds, at least 1 is needed", r.Rounds)
	case r.TTL < time.Millisecond:
		return fmt.Errorf("the ttl is %v, Redis needs at least 1ms", r.TTL)
	case r.Poll < 0:
		return fmt.Errorf("the poll interval is %v, it must be positive", r.Poll)
	case r.Timeout <= 0:
		return fmt.Errorf("the timeout is %v, it must be positive", r.Timeout)
	}
	return nil
}

// Progress is how many of the round's accesses are over, of how many.
func (r *Runner) Progress() (done, of int) {
	return int(r.done.Load()), r.Clients * r.Ops
}

// Row is what was measured of one lock. Counts are of all rounds together, and
// figures are those of the median round. A figure that was not measured is nil.
type Row struct {
	Rung    string         `json:"rung"`
	Kind    benchmark.Kind `json:"kind"`
	Nodes   int            `json:"nodes"`
	Shared  bool           `json:"shared"` // readers read together
	Clients int            `json:"clients"`
	Writes  int            `json:"writes_percent"`
	Ops     int            `json:"ops"`
	PollMs  float64        `json:"poll_ms"`

	Reads   int `json:"reads"`
	Changes int `json:"changes"`
	Halves  int `json:"half_changes_seen"`
	Lost    int `json:"lost_changes"` // a later one did not know of

	Finished     bool      `json:"finished"` // every client was through
	RoundSeconds []float64 `json:"round_seconds"`
	OpsPerSecond float64   `json:"ops_per_second"`
	Against      *string   `json:"against"`
	Times        *float64  `json:"times"` // as fast as that
	Read         *Wait     `json:"read_ms"`
	Change       *Wait     `json:"change_ms"`

	CommandsPerOp float64 `json:"commands_per_op"`
	Failures      int     `json:"failures"`
	FirstFailure  *string `json:"first_failure"`
	Interrupted   bool    `json:"interrupted"`
}

// Wait is how long accesses took with the wait for the lock, in milliseconds, in
// all rounds.
type Wait struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// tally is what the clients of a row have seen.
type tally struct {
	mu             sync.Mutex
	reads, changes int
	halves, lost   int
	cut, failed    int
	first          error
	read, change   *hdrhistogram.Histogram // in microseconds
}

// errTimeout says that a round has taken too long.
var errTimeout = errors.New("the round has taken too long")

// Measure lets all clients begin at one instant, in every round. It returns an
// error when the row could not begin.
func (r *Runner) Measure(ctx context.Context, subject benchmark.Subject) (Row,
	error) {
	row := Row{Rung: subject.Name, Kind: subject.Kind, Clients: r.Clients,
		Nodes:  min(max(subject.Nodes, 1), r.Servers.Nodes()),
		Writes: r.Writes, Ops: r.Ops, Finished: true,
		PollMs: benchmark.Milliseconds(r.pause(subject))}
	t := &tally{read: hdrhistogram.New(1, time.Hour.Microseconds(), 3),
		change: hdrhistogram.New(1, time.Hour.Microseconds(), 3)}
	var times []float64
	var sent int64
	for range r.Rounds {
		usual := 0.0
		if r.Against != nil && r.Against.Name != subject.Name {
			took, err := r.round(ctx, *r.Against, &tally{}, nil)
			if err != nil {
				return Row{}, err
			}
			usual = took.Seconds()
		}
		commands, _ := r.Servers.Traffic()
		took, err := r.round(ctx, subject, t, &row)
		if err != nil {
			return Row{}, err
		}
		after, _ := r.Servers.Traffic()
		sent += after - commands
		row.RoundSeconds = append(row.RoundSeconds,
			benchmark.Rounded(took.Seconds(), 4))
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
		row.CommandsPerOp = benchmark.Rounded(float64(sent)/float64(done), 2)
		row.OpsPerSecond = benchmark.Rounded(float64(done)/
			float64(len(row.RoundSeconds))/median(row.RoundSeconds), 0)
	}
	if len(times) > 0 && row.Finished {
		row.Against = &r.Against.Name
		row.Times = new(benchmark.Rounded(median(times), 2))
	}
	row.Read, row.Change = waited(t.read), waited(t.change)
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
func (r *Runner) pause(subject benchmark.Subject) time.Duration {
	if r.Servers.Embedded() && r.Poll == 0 {
		return max(lock.DefaultPoll, time.Duration(r.Clients*
			max(subject.Nodes, 1))*time.Millisecond)
	}
	return cmp.Or(r.Poll, subject.Poll, lock.DefaultPoll)
}

// round lets every client come to the list, and returns how long that took. Row is
// nil where only that is asked for.
func (r *Runner) round(ctx context.Context, subject benchmark.Subject, t *tally,
	row *Row) (time.Duration, error) {
	failed := func(err error) (time.Duration, error) {
		return 0, fmt.Errorf("read and change the list behind %s: %w",
			subject.Name, err)
	}
	r.Servers.Clear()
	warm, err := r.Servers.Warm(ctx, max(subject.Nodes, 1))
	if err != nil {
		return failed(err)
	}
	// No two rounds have a key in common: what a round that was cut off has left
	// behind is in nobody's way.
	key := r.Servers.Prefix(fmt.Sprintf("catalog:%s:%d", subject.Name,
		time.Now().UnixNano())) + "list"
	list := List{RDB: warm[0], Key: key}
	if err := list.Begin(ctx); err != nil {
		return failed(err)
	}
	clients := make([]access, r.Clients)
	for i := range clients {
		if clients[i], err = r.client(subject, warm, key); err != nil {
			return failed(err)
		}
	}
	if row != nil && subject.Build != nil {
		row.Shared = shares(subject, r.env(subject, warm, key))
	}
	r.learn(ctx, clients[0], List{RDB: warm[0], Key: key + ":warm-up"})
	if err := list.Begin(ctx); err != nil {
		return failed(err)
	}

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	r.done.Store(0)
	runtime.GC() // so that no row pays for the one before it
	gate := make(chan struct{})
	var ready, through sync.WaitGroup
	var open time.Time
	for i, client := range clients {
		ready.Add(1)
		through.Go(func() {
			ready.Done()
			<-gate
			for n := range r.Ops {
				began := open
				if n > 0 {
					began = time.Now()
				}
				t.come(ctx, client, list, changes(i, r.Writes), began)
				r.done.Add(1)
			}
		})
	}
	ready.Wait()
	changesBefore := t.changes
	open = time.Now()
	timeout := time.AfterFunc(r.Timeout, func() { end(errTimeout) })
	defer timeout.Stop()
	close(gate)
	through.Wait()
	took := time.Since(open)

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
func (r *Runner) env(subject benchmark.Subject, warm []redis.UniversalClient,
	key string) lock.Env {
	return lock.Env{Nodes: warm, Key: key + ":lock", TTL: r.TTL,
		Options: []lock.Option{lock.PollEvery(r.pause(subject)),
			lock.NodeTimeout(max(r.TTL/2, time.Millisecond))}}
}

func (r *Runner) client(subject benchmark.Subject, warm []redis.UniversalClient,
	key string) (access, error) {
	switch {
	case subject.Name == noLock:
		return free(), nil
	case subject.Name == script:
		return scripted(), nil
	case subject.Build == nil:
		return access{}, fmt.Errorf("%w: nothing builds the lock", lock.ErrInvalid)
	}
	l, err := subject.Build(r.env(subject, warm, key))
	if err != nil {
		return access{}, fmt.Errorf("build the lock: %w", err)
	}
	return behind(l), nil
}

// shares says whether the readers of a lock read together.
func shares(subject benchmark.Subject, env lock.Env) bool {
	l, err := subject.Build(env)
	_, is := l.(lock.ReadWrite)
	return err == nil && is
}

// learn lets the servers learn the scripts. What goes wrong here goes wrong in the
// round as well, and is counted there.
func (r *Runner) learn(ctx context.Context, client access, list List) {
	ctx, cancel := context.WithTimeout(ctx, min(r.Timeout, learnWithin))
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
	if waits != nil { // longer than an hour is an hour
		_ = waits.RecordValue(min(took, time.Hour).Microseconds())
	}
}

// waited is nil when nobody has.
func waited(h *hdrhistogram.Histogram) *Wait {
	if h.TotalCount() == 0 {
		return nil
	}
	at := func(percent float64) float64 {
		return benchmark.Rounded(float64(h.ValueAtQuantile(percent))/1000, 3)
	}
	return &Wait{at(50), at(99), at(100)}
}
