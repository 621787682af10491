package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/bench/nodes"
)

// maxClients keeps the connections below what one address can have.
const maxClients = 60_000

// loopStock is the stock of a closed loop. With the usual one all but the first
// moments would be spent on a stock that has sold out, where a turn costs less.
const loopStock = 1_000_000

// trips is how many round trips a section of the serial limit takes.
const trips = 4

// pairedRounds is how often a row on real servers is measured.
const pairedRounds = 5

// Inventory is the workload as a program runs it: a table for each number of clients
// and each pause.
type Inventory struct {
	Note string // a line below the header, "" for none

	// SizeTTL asks for nothing but the measure of a lease, see
	// SizeTTL.
	SizeTTL bool

	settings Settings // but for the clients and the pause
	clients  []int
	polls    []time.Duration // 0 is the default
	services int
	pool     int
	rtt      time.Duration

	benchstat, html string // files

	runners []*Runner // of each table
	current atomic.Pointer[Runner]
	memory  int64 // most of the processes that the clients lived in, in bytes
	rows    []Row
}

// Flags defines the flags.
func (w *Inventory) Flags(flags *flag.FlagSet) func(Run) (Plan, error) {
	s := &w.settings
	s.Grace = DefaultGrace
	w.clients, w.polls = []int{DefaultClients}, []time.Duration{0}
	flags.Func("clients", fmt.Sprintf("how many `clients` start at one instant "+
		"(default %d); several\nnumbers, separated by commas, make a table each",
		DefaultClients), List(&w.clients, strconv.Atoi))
	flags.Func("poll", "the longest pause of a refused client, a `duration` "+
		"(default 100ms, on\nembedded servers at least 1ms for each client and "+
		"node); several make a\ntable each", List(&w.polls, positive))
	flags.IntVar(&s.Stock, "stock", DefaultStock, fmt.Sprintf("how many `units` "+
		"there are to sell; with -loop the default is\n%d, so that every turn "+
		"does the same work", loopStock))
	flags.DurationVar(&s.TTL, "ttl", DefaultTTL, "the lease of the lock")
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
	flags.Uint64Var(&s.Seed, "seed", 0, "decides on the jitter (default chance)")
	flags.BoolVar(&w.SizeTTL, "size-ttl", false, "measure how long a lease "+
		"should be, and nothing else")
	flags.StringVar(&w.benchstat, "benchstat", "", "also write them as text for "+
		"benchstat to this `file`, or -")
	flags.StringVar(&w.html, "html", "",
		"also write them as a page with charts to this `file`")
	return w.plan
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

// check completes the settings, and returns what is wrong with them.
func (w *Inventory) check(given map[string]bool, real bool) error {
	for name := range given {
		if w.SizeTTL && name != "size-ttl" && name != "redis" {
			return fmt.Errorf("-size-ttl measures no rungs, -%s does not "+
				"go with it", name)
		}
	}
	s := &w.settings
	if s.Loop > 0 && !given["stock"] {
		s.Stock = loopStock
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
	case given["pool"] && w.pool < 1:
		return fmt.Errorf("the pool has %d connections, at least 1 is needed",
			w.pool)
	case w.rtt < 0:
		return fmt.Errorf("the network's round-trip time is %v, it must not be "+
			"negative", w.rtt)
	case trips*w.rtt > s.Timeout:
		return fmt.Errorf("the network's round-trip time is %v, it must be shorter "+
			"than a quarter of the timeout of a row, %v: each client needs %d of them "+
			"(example: -rtt 20ms)", w.rtt, s.Timeout, trips)
	case w.services < 1:
		return fmt.Errorf("there are %d processes, at least 1 is needed",
			w.services)
	case w.services > 1 && !real:
		return errors.New("-services needs a real server, see -redis: the " +
			"embedded ones are inside this process")
	}
	return nil
}

// plan says what is to be done.
func (w *Inventory) plan(run Run) (Plan, error) {
	if err := w.check(run.Given, run.Real); err != nil {
		return Plan{}, err
	}
	s := &w.settings
	p := Plan{TTL: s.TTL, Timeout: s.Timeout, Seed: s.Seed,
		Config: nodes.Config{Clients: slices.Max(w.clients), Pool: w.pool, RTT: w.rtt},
		Header: w.header(run), Legend: w.layout(run).Legend(),
		Progress: w.progress, Memory: peakMemory, Processes: "process",
		Outputs: []Output{
			{Flag: "benchstat", File: &w.benchstat, Alone: true,
				Write: w.written(WriteBenchstat)},
			{Flag: "html", File: &w.html, Write: w.written(WritePage)},
		}}
	if w.services > 1 {
		p.Memory = func() int64 { return w.memory }
		p.Processes = "processes together"
	}
	for _, clients := range w.clients {
		for _, poll := range w.polls {
			p.Tables = append(p.Tables, Table{Title: w.title(clients, poll),
				Head: w.layout(run).Head()})
			s.Clients, s.Poll = clients, poll
			w.runners = append(w.runners, &Runner{Settings: *s, Services: w.services})
		}
	}
	return p, nil
}

// written writes the rows that were measured.
func (w *Inventory) written(write func(Report, io.Writer) error) func(Env,
	io.Writer) error {
	return func(env Env, to io.Writer) error {
		return write(Report{Schema: 2, Env: env, Rows: w.rows}, to)
	}
}

// layout is that of the tables.
func (w *Inventory) layout(run Run) Layout {
	text := Layout{Width: run.Width, Loop: w.settings.Loop > 0,
		Paired: w.settings.Rounds > 1 || run.Real}
	for _, subject := range run.Subjects {
		text.Name = max(text.Name, len(subject.Name))
	}
	return text
}

// Subjects are all locks, with the baselines around them.
func (w *Inventory) Subjects(locks []Subject) []Subject {
	all := Around(locks...)
	for i := range all {
		all[i].Unfit = w.unfit(all[i])
	}
	return all
}

// unfit says why a row can't be measured with the settings, "" when it can.
func (w *Inventory) unfit(subject Subject) string {
	ttl := w.settings.TTL
	switch {
	case subject.OwnServer && w.services > 1:
		return "the server started for the row is one process's, not with " +
			"-services"
	case subject.Sell != nil && (w.services > 1 || w.settings.Loop > 0 || w.rtt > 0 ||
		w.pool > 0):
		return "its clients live in a program of their own, not with -services, " +
			"-loop, -rtt or -pool"
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

// Measure measures a row.
func (w *Inventory) Measure(ctx context.Context, run Run,
	subject Subject) ([]Measured, error) {
	r := w.runners[run.Table]
	r.Servers = run.Servers
	w.current.Store(r)
	row, err := r.Measure(ctx, subject)
	if err != nil {
		return nil, err
	}
	w.memory = max(w.memory, r.memory)
	row.text = w.layout(run).Row(row)
	w.rows = append(w.rows, row)
	return []Measured{row}, CutOff(ctx, row.Complete())
}

// progress is how far the row under way is.
func (w *Inventory) progress() string {
	if r := w.current.Load(); r != nil {
		return r.Progress()
	}
	return ""
}
