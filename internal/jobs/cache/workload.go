package cache

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/lock"
)

// Workload is the refill as a program runs it.
type Workload struct{ Runner }

// Name is cache.
func (w *Workload) Name() string { return "cache" }

// Intro says what is done.
func (w *Workload) Intro() string {
	return "Sends many requests to several services for a cached value that " +
		"has just expired,\nbehind every lock, and counts how often the " +
		"database is asked."
}

// Define defines the flags.
func (w *Workload) Define(flags *flag.FlagSet) {
	r := &w.Runner
	flags.IntVar(&r.Requests, "requests", DefaultRequests,
		"how many `requests` there are, to all services together")
	flags.IntVar(&r.Services, "services", DefaultServices,
		"how many `services` there are, each with connections of its own")
	flags.DurationVar(&r.Load, "load", DefaultLoad,
		"how long the database takes")
	flags.DurationVar(&r.TTL, "ttl", DefaultTTL, "the lease of the lock")
	flags.DurationVar(&r.Poll, "poll", lock.DefaultPoll,
		"the longest pause of a refused request")
	flags.DurationVar(&r.Timeout, "timeout", DefaultTimeout,
		"ends a row that takes longer; it is reported all the same")
}

// Settle checks the settings.
func (w *Workload) Settle(map[string]bool, bool) error { return w.Check() }

// Subjects are the locks, with the baselines in front.
func (w *Workload) Subjects(locks []benchmark.Subject) []benchmark.Subject {
	return Around(benchmark.Locks(locks)...)
}

// Header says what is done.
func (w *Workload) Header() string {
	r := &w.Runner
	return fmt.Sprintf("%d requests to %d services have found that a value is "+
		"no longer in the cache.\nThe database takes %v; it has 100, and 99 "+
		"from the first load on.\nLease %v, at most %v a row. Refused requests "+
		"ask again within %v, with full jitter.\n", r.Requests, r.Services,
		r.Load, r.TTL, r.Timeout, r.Poll)
}

// Tables is the one table.
func (w *Workload) Tables() []benchmark.Table {
	return []benchmark.Table{{
		Head: columns.Heads("lock", benchmark.NameWidth),
		Measure: func(ctx context.Context, subject benchmark.Subject,
			emit func(any, string)) error {
			row, err := w.Measure(ctx, subject)
			if err != nil {
				return err
			}
			emit(row, row.Text())
			return benchmark.CutOff(ctx, row.Finished)
		},
		Progress: func() string {
			answered, of := w.Answered()
			return fmt.Sprintf(": %d of %d requests", answered, of)
		},
	}}
}

// Legend explains the heads.
func (w *Workload) Legend(benchmark.Env) string {
	return `loads: of the database; saw: requests that were answered 100, and 99
cache holds: at the end; last: until the last answer; p50, p99: until an answer
commands: from the miss on, with the attempts at the lock
`
}

var columns = benchmark.Columns[Row]{
	benchmark.NewColumn("", "loads", 7, func(r Row) string { return fmt.Sprint(r.Loads) }),
	benchmark.NewColumn("saw", "100", 8, func(r Row) string { return fmt.Sprint(r.Values["100"]) }),
	benchmark.NewColumn("saw", "99", 8, func(r Row) string { return fmt.Sprint(r.Values["99"]) }),
	benchmark.NewColumn("cache", "holds", 7, func(r Row) string {
		if r.Cached == nil {
			return benchmark.NotMeasured
		}
		return *r.Cached
	}),
	benchmark.NewColumn("last", "s", 8, func(r Row) string { return fmt.Sprintf("%.2f", r.Seconds) }),
	benchmark.NewColumn("p50", "ms", 8, func(r Row) string {
		if r.Answer == nil {
			return benchmark.NotMeasured
		}
		return fmt.Sprintf("%.0f", r.Answer.P50)
	}),
	benchmark.NewColumn("p99", "ms", 8, func(r Row) string {
		if r.Answer == nil {
			return benchmark.NotMeasured
		}
		return fmt.Sprintf("%.0f", r.Answer.P99)
	}),
	benchmark.NewColumn("commands", "/request", 9, func(r Row) string {
		return fmt.Sprintf("%.2f", r.CommandsPerRequest)
	}),
}

// Text is a row of the table. Lines that say what went wrong follow it.
func (r Row) Text() string {
	text := columns.Line(r.Rung, benchmark.NameWidth, r)
	if !r.Finished {
		answered := 0
		for _, n := range r.Values {
			answered += n
		}
		text += benchmark.Note("cut off after %.1f s: %d of %d requests were"+
			" answered", r.Seconds, answered, r.Requests)
	}
	if r.FirstFailure != nil {
		text += benchmark.Note("requests that failed: %d, the first: %s",
			r.Failures, strings.ReplaceAll(*r.FirstFailure, "\n", "; "))
	}
	return text
}
