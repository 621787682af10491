package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/lock"
)

const (
	ok     = 0
	failed = 1
	usage  = 2
)

// reachWithin bounds the search for a sign of life of the servers.
const reachWithin = 5 * time.Second

// maxClients keeps the connections below what one address can have.
const maxClients = 60_000

// settings are the flags, checked.
type settings struct {
	runner   benchmark.Runner
	subjects []benchmark.Subject
	servers  []string // none: embedded ones
	json     string   // a file, "-", or ""
	sizeTTL  bool     // measure what a lease is sized by, and nothing else
}

// run is the whole program. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return ok
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v (-help lists the flags)\n", err)
		return usage
	}
	measure := func() error { return s.measure(ctx, stdout, stderr) }
	if s.sizeTTL {
		measure = func() error { return s.size(ctx, stdout) }
	}
	if err := measure(); err != nil {
		fmt.Fprintf(stderr, "bench: %s\n", oneLine(err))
		return failed
	}
	return ok
}

// oneLine keeps joined errors together.
func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// parse understands and checks the arguments. After -help, which is answered on
// stdout, it returns flag.ErrHelp.
func parse(args []string, stdout io.Writer) (*settings, error) {
	s := &settings{runner: benchmark.Runner{Grace: benchmark.DefaultGrace}}
	r := &s.runner
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&r.Clients, "clients", benchmark.DefaultClients,
		"how many `clients` start at one instant")
	flags.IntVar(&r.Stock, "stock", benchmark.DefaultStock,
		"how many `units` there are to sell")
	flags.DurationVar(&r.TTL, "ttl", benchmark.DefaultTTL,
		"the lease of the lock")
	flags.DurationVar(&r.Timeout, "timeout", benchmark.DefaultTimeout,
		"ends a row that takes longer; it is reported all the same")
	flags.DurationVar(&r.Poll, "poll", 0, "the longest pause of a refused "+
		"client (default 100ms, on\nembedded servers at least 1ms for each "+
		"client and node)")
	redis := flags.String("redis", "", "real servers, `host:port`; redlock "+
		"uses up to five, separated by commas\n(default embedded miniredis)")
	names := flags.String("rungs", "", "the `names` of rungs and baselines, "+
		"separated by commas\n(default all)")
	flags.StringVar(&s.json, "json", "", "also write the figures to this "+
		"`file`; with - they alone go to standard output")
	flags.BoolVar(&s.sizeTTL, "size-ttl", false, "measure how long a lease "+
		"should be, and nothing else")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help(flags, stdout)
		}
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var err error
	if given["redis"] {
		if s.servers, err = addresses(*redis); err != nil {
			return nil, err
		}
	}
	if given["poll"] && r.Poll <= 0 {
		return nil, fmt.Errorf("the poll interval is %v, it must be positive",
			r.Poll)
	}
	if given["json"] && s.json == "" {
		return nil, errors.New("-json needs the name of a file, or -")
	}
	if given["rungs"] && strings.TrimSpace(*names) == "" {
		return nil, errors.New("-rungs needs at least one name")
	}
	for name := range given {
		if s.sizeTTL && name != "size-ttl" && name != "redis" {
			return nil, fmt.Errorf("-size-ttl measures no rungs, -%s does not "+
				"go with it", name)
		}
	}
	if s.subjects, err = benchmark.Select(subjects(), *names); err != nil {
		return nil, err
	}
	if r.Clients > maxClients {
		return nil, fmt.Errorf("there are %d clients, at most %d can each "+
			"have a connection", r.Clients, maxClients)
	}
	return s, r.Check()
}

func help(flags *flag.FlagSet, stdout io.Writer) {
	fmt.Fprint(stdout, "Sells a stock to many clients, behind every rung of "+
		"the ladder and the baselines\naround them, and prints what that "+
		"did and what it cost.\n\nusage: go run ./bench [flags]\n\n")
	flags.SetOutput(stdout)
	flags.PrintDefaults()
}

// addresses splits what -redis was given.
func addresses(list string) ([]string, error) {
	var found []string
	seen := map[string]bool{}
	for address := range strings.SplitSeq(list, ",") {
		address = strings.TrimSpace(address)
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("-redis %q is not host:port", address)
		}
		if seen[address] {
			return nil, fmt.Errorf("-redis names %s twice, a lock on several "+
				"nodes needs different ones", address)
		}
		seen[address] = true
		found = append(found, address)
	}
	return found, nil
}

// subjects are the rungs in the order of the ladder, and the baselines.
func subjects() []benchmark.Subject {
	var rungs []benchmark.Subject
	for _, rung := range ladder.Rungs {
		rungs = append(rungs, benchmark.Subject{
			Name:  rung.Name,
			Kind:  benchmark.Rung,
			Nodes: rung.Nodes,
			Build: rung.Build,
		})
	}
	return benchmark.Around(rungs...)
}

// measure runs every subject and writes what was measured as it comes. When ctx
// ends it writes what there is by then, and returns an error.
func (s *settings) measure(ctx context.Context, stdout, stderr io.Writer) (
	err error) {
	var file *replacement
	if s.json != "" && s.json != "-" {
		if file, err = replace(s.json); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.close()) }()
	}
	servers, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close(ctx)) }()
	s.runner.Servers = servers

	out := &page{w: stdout, quiet: s.json == "-",
		table: benchmark.Table{Width: width(stdout)}}
	out.text(s.header())
	out.text(out.table.Head())
	report := benchmark.Report{Schema: 1, Env: s.env()}
	err = s.rows(ctx, &report, out, stderr)
	report.Env.Interrupted = ctx.Err() != nil
	if err == nil || report.Env.Interrupted {
		out.text("\n" + out.table.Legend())
	}
	if s.json == "-" && out.err == nil &&
		(err == nil || report.Env.Interrupted) {
		out.err = report.Write(stdout)
	}
	if err = errors.Join(err, out.err); err == nil && file != nil {
		err = file.commit(report)
	}
	return err
}

// sizings is how many sections a lease is sized by.
const sizings = 10_000

// size measures what a lease is sized by.
func (s *settings) size(ctx context.Context, stdout io.Writer) (err error) {
	servers, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close(ctx)) }()
	sizing, err := benchmark.SizeTTL(ctx, servers, sizings)
	if err == nil {
		_, err = fmt.Fprint(stdout, sizing)
	}
	return err
}

// rows measures one subject after the other.
func (s *settings) rows(ctx context.Context, report *benchmark.Report,
	out *page, stderr io.Writer) error {
	for i, subject := range s.subjects {
		line := showProgress(stderr, fmt.Sprintf("%d/%d %s", i+1,
			len(s.subjects), subject.Name), s.runner.Progress)
		row, err := s.runner.Measure(ctx, subject)
		line.stop()
		if err == nil {
			report.Rows = append(report.Rows, row)
			out.text(out.table.Row(row))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d rows",
				len(report.Rows), len(s.subjects))
		}
		if err = errors.Join(err, out.err); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) connect(ctx context.Context) (*benchmark.Servers, error) {
	if len(s.servers) == 0 {
		nodes := 1
		for _, subject := range s.subjects {
			nodes = max(nodes, subject.Nodes)
		}
		return benchmark.Embed(nodes, s.runner.Clients), nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	return benchmark.Connect(ctx, s.servers, s.runner.Clients)
}

// header says what is measured, on what.
func (s *settings) header() string {
	r := &s.runner
	server := "Embedded miniredis, in this process"
	if !r.Servers.Embedded() {
		server = strings.TrimSpace("Redis "+r.Servers.Version) + " at " +
			strings.Join(r.Servers.Addresses, ", ")
	}
	return fmt.Sprintf("%d clients start at one instant; stock %d, lease %v, "+
		"at most %v a row.\nRefused clients ask again within %s.\n"+
		"Connections are warmed up before the clock starts.\n"+
		"%s; %s %s/%s, %d CPUs.\n\n",
		r.Clients, r.Stock, r.TTL, r.Timeout, s.pauses(), server,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// pauses says how often refused clients ask again.
func (s *settings) pauses() string {
	r := &s.runner
	usual := r.Pause(benchmark.Subject{})
	text := fmt.Sprintf("%v", usual)
	for _, subject := range s.subjects {
		if pause := r.Pause(subject); pause != usual {
			text += fmt.Sprintf(" (%s: %v)", subject.Name, pause)
		}
	}
	text += ", with full jitter"
	if usual != lock.DefaultPoll {
		text = fmt.Sprintf("%s\n(the source: %v)", text, lock.DefaultPoll)
	}
	return text
}

func (s *settings) env() benchmark.Env {
	r := &s.runner
	env := benchmark.Env{
		Go:        runtime.Version(),
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		CPUs:      runtime.NumCPU(),
		Server:    "redis",
		Addresses: r.Servers.Addresses,
		TTLms:     milliseconds(r.TTL),
		TimeoutMs: milliseconds(r.Timeout),
	}
	if r.Servers.Embedded() {
		env.Server = "miniredis"
	}
	if r.Servers.Version != "" {
		env.ServerVersion = &r.Servers.Version
	}
	return env
}

func milliseconds(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}
