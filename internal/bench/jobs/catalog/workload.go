package catalog

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/jobs"
)

// pairedRounds is how often a row on real servers is measured.
const pairedRounds = 3

// Workload lets clients read and change a list of prices behind one lock after the
// other, on the same servers.
type Workload struct {
	jobs.Crowd
	clients int           // each has a connection
	writes  int           // how many of a hundred clients change the prices
	ops     int           // how often each client comes
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
func (w *Workload) Flags(flags *flag.FlagSet) func(bench.Run) (bench.Plan, error) {
	flags.IntVar(&w.clients, "clients", 1000,
		"how many `clients` start at one instant")
	flags.IntVar(&w.writes, "writes", 5,
		"how many of a `hundred` clients change the prices")
	flags.IntVar(&w.ops, "ops", 1, "how many `times` each client comes")
	flags.IntVar(&w.rounds, "rounds", 0, fmt.Sprintf("how often a row is "+
		"measured (default %d on real servers, 1 on embedded ones)", pairedRounds))
	flags.StringVar(&w.named, "against", "", "the `name` of a lock that is "+
		"measured before each round of a row, for\ncomparison (default none)")
	flags.DurationVar(&w.TTL, "ttl", 10*time.Second, "the lease of the lock")
	flags.DurationVar(&w.poll, "poll", 0, "the longest pause of a refused client "+
		"(default 100ms, on embedded servers\nat least 1ms for each client and "+
		"node)")
	flags.DurationVar(&w.Timeout, "timeout", 30*time.Second,
		"ends a round that takes longer; its row is reported all the same")
	flags.DurationVar(&w.rtt, "rtt", 0,
		"adds this to the network's round-trip time")
	return func(run bench.Run) (bench.Plan, error) {
		if err := w.check(run.Given, run.Real); err != nil {
			return bench.Plan{}, err
		}
		plan := w.Plan(w.clients, w.header(), figures.Head(), w.legend())
		plan.Config.RTT = w.rtt
		return plan, nil
	}
}

// check returns what is wrong with the settings, if anything.
func (w *Workload) check(given map[string]bool, real bool) error {
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
	case w.ops < 1:
		return fmt.Errorf("each client comes %d times, at least 1 is needed", w.ops)
	case w.rounds < 1:
		return fmt.Errorf("there are %d rounds, at least 1 is needed", w.rounds)
	case given["poll"] && w.poll <= 0:
		return fmt.Errorf("the poll interval is %v, it must be positive", w.poll)
	case w.rtt < 0:
		return fmt.Errorf("the network's round-trip time is %v, it must not be "+
			"negative", w.rtt)
	}
	return w.Check()
}

// Subjects are the locks, with the baselines in front.
func (w *Workload) Subjects(locks []bench.Subject) []bench.Subject {
	w.locks = bench.Locks(locks)
	return append(bench.Baselines(jobs.NoLock, script), w.locks...)
}

// header says what is done.
func (w *Workload) header() string {
	text := fmt.Sprintf("%d clients come to a list of prices %s; %d %% of them "+
		"change it, the others read.\nLease %v, at most %v a round, %s.",
		w.clients, times(w.ops), w.writes, w.TTL, w.Timeout,
		bench.Plural(w.rounds, "round"))
	if w.rtt > 0 {
		text += fmt.Sprintf(" Round trips take %v more.", w.rtt)
	}
	return text + "\n"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// legend explains the heads.
func (w *Workload) legend() string {
	text := `half: reads that saw half a change; lost: changes that a later one overwrote unseen
p50: median time of a read and of a change, with the wait for the lock
commands/op: commands for each read or change
`
	if w.usual != nil {
		text += "times: how many times as fast as " + w.usual.Name +
			", which was measured before each round;\nthe median of the rounds\n"
	}
	return text
}
