package cache

import (
	"flag"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/jobs"
	"github.com/lockladder/lockladder/lock"
)

// Workload sends requests for a value that has expired, behind one lock after the
// other, on the same servers.
type Workload struct {
	jobs.Crowd
	requests int           // of all services together
	services int           // at least 1
	load     time.Duration // that the database takes
	poll     time.Duration // the longest pause of a refused request
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
		return w.Plan(1, w.header(), figures.Head(), legend), w.check()
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
	return w.Check()
}

// Subjects are the locks, with the baselines in front.
func (w *Workload) Subjects(locks []bench.Subject) []bench.Subject {
	return append(bench.Baselines(jobs.NoLock, mutexPerService),
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

const legend = `loads: of the database; saw: requests that were answered 100, and 99
cache holds: at the end; last: until the last answer; p50, p99: until an answer
commands: from the miss on, with the attempts at the lock
`
