package inventory

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/machine"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/internal/bench/report"
)

// maxClients keeps the connections below what one address can have.
const maxClients = 60_000

// loopStock is the stock of a closed loop. With the usual one all but the first
// moments would be spent on a stock that has sold out, where a turn costs less.
const loopStock = 1_000_000

// struckTTL is the lease of a run with faults. An orphaned lock blocks the other
// clients for so long, and with the usual ten seconds a run would show little else.
const struckTTL = 200 * time.Millisecond

// pairedRounds is how often a row on real servers is measured.
const pairedRounds = 5

// Workload is the inventory as a program runs it: a table for each number of clients
// and each pause.
type Workload struct {
	About string // what -help says first
	Note  string // a line below the header, "" for none

	// SizeTTL asks for nothing but the measure of a lease, see
	// bench.SizeTTL.
	SizeTTL bool

	settings Settings // but for the clients and the pause
	clients  []int
	polls    []time.Duration // 0 is the default
	services int
	pool     int
	rtt      time.Duration
	pin      bool
	real     bool

	run     bench.Run
	pinned  *int
	workers *Workers
}

// Name is inventory.
func (w *Workload) Name() string { return "inventory" }

// Intro is what it is about.
func (w *Workload) Intro() string { return w.About }

// Define defines the flags.
func (w *Workload) Define(flags *flag.FlagSet) {
	s := &w.settings
	s.Grace = DefaultGrace
	w.clients, w.polls = []int{DefaultClients}, []time.Duration{0}
	flags.Func("clients", fmt.Sprintf("how many `clients` start at one instant "+
		"(default %d); several\nnumbers, separated by commas, make a table each",
		DefaultClients), bench.List(&w.clients, strconv.Atoi))
	flags.Func("poll", "the longest pause of a refused client, a `duration` "+
		"(default 100ms, on\nembedded servers at least 1ms for each client and "+
		"node); several make a\ntable each", bench.List(&w.polls, positive))
	flags.IntVar(&s.Stock, "stock", DefaultStock, fmt.Sprintf("how many `units` "+
		"there are to sell; with -loop the default is\n%d, so that every turn "+
		"does the same work", loopStock))
	flags.DurationVar(&s.TTL, "ttl", DefaultTTL, "the lease of the lock; with "+
		"faults the default is "+struckTTL.String())
	flags.DurationVar(&s.Timeout, "timeout", DefaultTimeout, "ends a row, or one "+
		"of its rounds, that takes longer; it is reported\nall the same")
	flags.BoolVar(&s.FixedPoll, "fixed-poll", false,
		"every pause is as long as the longest, without jitter")
	flags.IntVar(&s.Ops, "ops", 1, "how many `turns` each client takes")
	flags.DurationVar(&s.Loop, "loop", 0,
		"instead, each client takes turns for this long")
	flags.IntVar(&w.services, "services", 1,
		"how many `processes` the clients live in; needs -redis")
	flags.IntVar(&w.pool, "pool", 0, "how many `connections` the clients of a "+
		"process share (default one each, and 8)")
	flags.IntVar(&s.Rounds, "rounds", 0, fmt.Sprintf("how often a row is "+
		"measured, each time after the serial limit (default %d\non real "+
		"servers, 1 on embedded ones)", pairedRounds))
	flags.DurationVar(&w.rtt, "rtt", 0,
		"adds this to the network's round-trip time")
	flags.BoolVar(&w.pin, "pin", false,
		"puts servers and clients on one CPU (Linux); needs -redis")
	flags.Float64Var(&s.Crash, "crash", 0,
		"the `share` of the clients that die inside, such as 0.01")
	flags.Float64Var(&s.Overrun, "overrun", 0,
		"the `share` of the clients that work longer than the lease")
	flags.Uint64Var(&s.Seed, "seed", 0, "decides on jitter and faults (default "+
		"chance; with faults 1)")
	flags.BoolVar(&w.SizeTTL, "size-ttl", false, "measure how long a lease "+
		"should be, and nothing else")
}

// positive understands a duration above 0.
func positive(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration, such as 20ms", text)
	}
	if d <= 0 {
		return 0, fmt.Errorf("the poll interval is %v, it must be positive", d)
	}
	return d, nil
}

// Formats are the text that benchstat compares, and a page with charts.
func (w *Workload) Formats() []bench.Format {
	return []bench.Format{{
		Flag:  "benchstat",
		Usage: "also write them as text for benchstat to this `file`, or -",
		Alone: true,
		Write: func(r bench.ReportOf[any], to io.Writer) error {
			return bench.WriteBenchstat(bench.Of[bench.Row](r), to)
		},
	}, {
		Flag:  "html",
		Usage: "also write them as a page with charts to this `file`",
		Write: func(r bench.ReportOf[any], to io.Writer) error {
			return report.Write(bench.Of[bench.Row](r), to)
		},
	}}
}

// Settle checks what only a run has, and the settings of every table.
func (w *Workload) Settle(given map[string]bool, real bool) error {
	for name := range given {
		if w.SizeTTL && name != "size-ttl" && name != "redis" {
			return fmt.Errorf("-size-ttl measures no rungs, -%s does not "+
				"go with it", name)
		}
	}
	s := &w.settings
	w.real = real
	if s.Loop > 0 && !given["stock"] {
		s.Stock = loopStock
	}
	if s.struck() && !given["ttl"] {
		s.TTL = struckTTL
	}
	if s.struck() && !given["seed"] {
		s.Seed = 1
	}
	if real && !given["rounds"] {
		s.Rounds = pairedRounds
	}
	for _, clients := range w.clients {
		switch {
		case clients < 1:
			return fmt.Errorf("there are %d clients, at least 1 is needed", clients)
		case clients > maxClients:
			return fmt.Errorf("there are %d clients, at most %d can each have "+
				"a connection", clients, maxClients)
		case w.services > clients:
			return fmt.Errorf("there are %d processes for %d clients, each "+
				"needs at least one", w.services, clients)
		}
	}
	switch {
	case s.Stock < 0:
		return fmt.Errorf("the stock is %d, it must not be negative", s.Stock)
	case s.TTL < time.Millisecond:
		return fmt.Errorf("the ttl is %v, Redis needs at least 1ms", s.TTL)
	case s.TTL%time.Millisecond != 0:
		return fmt.Errorf("the ttl is %v, Redis counts whole milliseconds", s.TTL)
	case s.Timeout <= 0:
		return fmt.Errorf("the timeout is %v, it must be positive", s.Timeout)
	case s.Ops < 1:
		return fmt.Errorf("there are %d turns of each client, at least 1 is "+
			"needed", s.Ops)
	case given["loop"] && s.Loop <= 0:
		return fmt.Errorf("the loop lasts %v, it must be positive", s.Loop)
	case s.Loop >= s.Timeout:
		return fmt.Errorf("the loop lasts %v, it must be shorter than the "+
			"timeout, %v", s.Loop, s.Timeout)
	case s.Loop > 0 && s.Ops > 1:
		return fmt.Errorf("there are %d turns of each client and a loop of %v, "+
			"one of them is possible", s.Ops, s.Loop)
	case given["rounds"] && s.Rounds < 1:
		return fmt.Errorf("there are %d rounds, at least 1 is needed", s.Rounds)
	case !(0 <= s.Crash && s.Crash <= 1) || !(0 <= s.Overrun && s.Overrun <= 1):
		return fmt.Errorf("the shares of faults are %v and %v, they must be "+
			"between 0 and 1", s.Crash, s.Overrun)
	case s.Crash+s.Overrun > 1:
		return fmt.Errorf("the shares of faults, %v and %v, are more than 1 "+
			"together", s.Crash, s.Overrun)
	case given["pool"] && w.pool < 1:
		return fmt.Errorf("the pool has %d connections, at least 1 is needed",
			w.pool)
	case w.rtt < 0:
		return fmt.Errorf("the network's round-trip time is %v, it must not be "+
			"negative", w.rtt)
	case w.rtt >= s.Timeout:
		return fmt.Errorf("the network's round-trip time is %v, it must be shorter "+
			"than the timeout of a row, %v (example: -rtt 20ms)", w.rtt, s.Timeout)
	case w.services < 1:
		return fmt.Errorf("there are %d processes, at least 1 is needed",
			w.services)
	case w.services > 1 && !real:
		return errors.New("-services needs a real server, see -redis: the " +
			"embedded ones are inside this process")
	case w.pin && !real:
		return errors.New("-pin needs a real server, see -redis: the embedded " +
			"ones are inside this process")
	}
	return nil
}

// table are the settings of one table.
func (w *Workload) table(clients int, poll time.Duration) Settings {
	s := w.settings
	s.Clients, s.Poll = clients, poll
	return s
}

// Subjects are all locks, with the baselines around them.
func (w *Workload) Subjects(locks []bench.Subject) []bench.Subject {
	return Around(locks...)
}

// Unfit says why a row can't be measured with the settings, "" when it can.
func (w *Workload) Unfit(subject bench.Subject) string {
	ttl := w.settings.TTL
	switch {
	case subject.OwnServer && w.services > 1:
		return "the server started for the row is one process's, not with " +
			"-services"
	case subject.OwnServer && w.settings.Crash > 0:
		return "who crashes has connections of its own, and here it would be " +
			"a server of its own, not with -crash"
	case subject.Sell != nil && (w.services > 1 || w.settings.Loop > 0 || w.rtt > 0 ||
		w.pool > 0 || w.settings.Crash+w.settings.Overrun > 0):
		return "its clients live in a program of their own, not with -services, " +
			"-loop, -rtt, -pool, -crash or -overrun"
	case subject.Sell != nil &&
		slices.Max(w.clients)*max(w.settings.Ops, 1) > subject.MostSections:
		return fmt.Sprintf("it sells in %d sections at most, see -clients and -ops",
			subject.MostSections)
	case subject.Lease != nil && subject.Lease(ttl) != ttl:
		return fmt.Sprintf("its lease is %v, whatever -ttl says",
			subject.Lease(ttl))
	}
	return ""
}

// Config has a connection for each of the most clients, unless there is a pool.
func (w *Workload) Config() nodes.Config {
	return nodes.Config{Clients: slices.Max(w.clients), Pool: w.pool, RTT: w.rtt}
}

// Begin pins the processes to a CPU and starts the services, as far as wanted.
func (w *Workload) Begin(ctx context.Context, run bench.Run) (
	end func() error, err error) {
	w.run = run
	undo := func() {}
	if w.pin {
		cpu, back, err := run.Servers.Pin(ctx)
		if err != nil {
			return nil, fmt.Errorf("-pin: %w", err)
		}
		w.pinned, undo = &cpu, back
	}
	if w.services > 1 {
		if w.workers, err = StartWorkers(ctx, w.services, run.Servers,
			w.Config()); err != nil {
			undo()
			return nil, err
		}
	}
	return func() error {
		defer undo()
		if w.workers == nil {
			return nil
		}
		return w.workers.Close()
	}, nil
}

// Describe sets the settings, and the memory that the clients have had so far.
func (w *Workload) Describe(env *bench.Env) {
	s := &w.settings
	env.Pinned = w.pinned
	env.RTTms = bench.Milliseconds(w.rtt)
	env.TTLms = bench.Milliseconds(s.TTL)
	env.TimeoutMs = bench.Milliseconds(s.Timeout)
	env.Crash, env.Overrun = s.Crash, s.Overrun
	if s.Seed != 0 {
		env.Seed = &s.Seed
	}
	peak := machine.PeakMemory()
	if w.workers != nil {
		peak = w.workers.PeakMemory() // the clients are there
	}
	if peak > 0 {
		env.PeakMemoryMB = new(math.Round(float64(peak) / (1 << 20)))
	}
}

// Tables are one for each number of clients and each pause.
func (w *Workload) Tables() []bench.Table {
	text := bench.Layout{
		Width:  w.run.Width,
		Paired: w.settings.Rounds > 1 || w.real,
		Struck: w.settings.struck(),
	}
	for _, subject := range w.run.Subjects {
		text.Name = max(text.Name, len(subject.Name))
	}
	var all []bench.Table
	for _, clients := range w.clients {
		for _, poll := range w.polls {
			r := &Runner{Settings: w.table(clients, poll),
				Servers: w.run.Servers, Workers: w.workers}
			all = append(all, bench.Table{
				Title: w.title(clients, poll),
				Head:  text.Head(),
				Measure: func(ctx context.Context, subject bench.Subject,
					emit func(any, string)) error {
					row, err := r.Measure(ctx, subject)
					if err != nil {
						return err
					}
					emit(row, text.Row(row))
					return bench.CutOff(ctx, row.Complete())
				},
				Progress: func() string { return r.Progress().String() },
			})
		}
	}
	return all
}
