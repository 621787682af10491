package cache

import (
	"context"
	"flag"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

// Workload sends requests for a value that has expired, behind one lock after the
// other, on the same servers.
type Workload struct {
	bench.Common
	requests int           // of all services together
	services int           // at least 1
	load     time.Duration // that the database takes
	poll     time.Duration // the longest pause of a refused request

	answered, under atomic.Int64
}

// Flags defines the flags.
func (w *Workload) Flags(flags *flag.FlagSet) func(bench.Run) (bench.Plan, error) {
	flags.IntVar(&w.requests, "requests", 100_000,
		"how many `requests` there are, to all services together")
	flags.IntVar(&w.services, "services", 4,
		"how many `services` there are, each with connections of its own")
	flags.DurationVar(&w.load, "load", 50*time.Millisecond,
		"how long the database takes")
	flags.DurationVar(&w.TTL, "ttl", 10*time.Second, "the lease of the lock")
	flags.DurationVar(&w.poll, "poll", lock.DefaultPoll,
		"the longest pause of a refused request")
	flags.DurationVar(&w.Timeout, "timeout", 2*time.Minute,
		"ends a row that takes longer; it is reported all the same")
	return func(bench.Run) (bench.Plan, error) {
		return w.Plan(1, w.header(), columns.Heads("lock", bench.NameWidth), legend,
			" requests", func() (done, of int) {
				return int(w.answered.Load()), int(w.under.Load())
			}), w.check()
	}
}

// check returns what is wrong with the settings, if anything.
func (w *Workload) check() error {
	switch {
	case w.requests < 1:
		return fmt.Errorf("there are %d requests, at least 1 is needed",
			w.requests)
	case w.requests > 1_000_000:
		return fmt.Errorf("there are %d requests, at most 1000000 are sent at"+
			" one instant", w.requests)
	case w.services < 1:
		return fmt.Errorf("there are %d services, at least 1 is needed",
			w.services)
	case w.services > 100:
		return fmt.Errorf("there are %d services, at most 100 are connected",
			w.services)
	case w.load < 0:
		return fmt.Errorf("a load takes %v, it must not be negative", w.load)
	case w.poll <= 0:
		return fmt.Errorf("the poll interval is %v, it must be positive", w.poll)
	}
	return w.Common.Check()
}

// Subjects are the locks, with the baselines in front.
func (w *Workload) Subjects(locks []bench.Subject) []bench.Subject {
	return append(bench.Baselines(noLock, mutexPerService),
		bench.Locks(locks)...)
}

// header says what is done.
func (w *Workload) header() string {
	return fmt.Sprintf("%d requests to %d services have found that a value is "+
		"no longer in the cache.\nThe database takes %v; it has 100, and 99 "+
		"from the first load on.\nLease %v, at most %v a row. Refused requests "+
		"ask again within %v, with full jitter.\n", w.requests, w.services,
		w.load, w.TTL, w.Timeout, w.poll)
}

// Measure measures one row.
func (w *Workload) Measure(ctx context.Context, run bench.Run,
	subject bench.Subject) ([]bench.Measured, error) {
	w.Servers = run.Servers
	row, err := w.measure(ctx, subject)
	if err != nil {
		return nil, fmt.Errorf("refill the cache behind %s: %w", subject.Name, err)
	}
	return []bench.Measured{row}, bench.CutOff(ctx, row.Finished)
}

const legend = `loads: of the database; saw: requests that were answered 100, and 99
cache holds: at the end; last: until the last answer; p50, p99: until an answer
commands: from the miss on, with the attempts at the lock
`

var columns = bench.Columns[Row]{
	bench.NewColumn("", "loads", 7, 0, func(r Row) any { return r.Loads }),
	bench.NewColumn("saw", "100", 8, 0, func(r Row) any { return r.Values["100"] }),
	bench.NewColumn("saw", "99", 8, 0, func(r Row) any { return r.Values["99"] }),
	bench.NewColumn("cache", "holds", 7, 0, func(r Row) any {
		if r.Cached == nil {
			return bench.NotMeasured
		}
		return *r.Cached
	}),
	bench.NewColumn("last", "s", 8, 2, func(r Row) any { return r.Seconds }),
	bench.NewColumn("p50", "ms", 8, 0, func(r Row) any {
		return r.Answer.Show(0, func(t *bench.Times) float64 { return t.P50 })
	}),
	bench.NewColumn("p99", "ms", 8, 0, func(r Row) any {
		return r.Answer.Show(0, func(t *bench.Times) float64 { return t.P99 })
	}),
	bench.NewColumn("commands", "/request", 9, 2, func(r Row) any {
		return r.CommandsPerRequest
	}),
}

// Text is a row of the table. Lines that say what went wrong follow it.
func (r Row) Text() string {
	text := columns.Line(r.Rung, bench.NameWidth, r)
	if !r.Finished {
		answered := 0
		for _, n := range r.Values {
			answered += n
		}
		text += bench.Note("cut off after %.1f s: %d of %d requests were"+
			" answered", r.Seconds, answered, r.Requests)
	}
	return text + bench.FirstFailure(
		fmt.Sprintf("requests that failed: %d", r.Failures), r.FirstFailure)
}
