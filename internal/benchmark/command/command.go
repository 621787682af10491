// Package command is the program around the benchmark: its flags, its table, its
// files. The repository's bench and the one with the libraries are this program
// with different subjects.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/jobs/imports"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// Exit statuses.
const (
	OK     = 0 // every row was measured
	Failed = 1 // any other failure, or an interrupt
	Usage  = 2 // the arguments were not understood
)

// reachWithin bounds the search for a sign of life of the servers.
const reachWithin = 5 * time.Second

// Command is a benchmark program.
type Command struct {
	// Intro is what -help says first.
	Intro string

	// Subjects are the rows that there are, with the baselines. Users choose
	// among them by name.
	Subjects []benchmark.Subject

	// Note is a line below the header, "" for none.
	Note string
}

// Main runs the command as a process and ends it.
func (c Command) Main() {
	// The library would add lines of its own to the one that says what failed.
	logging.Disable()
	imports.Serve(c.lock) // where this process is a worker
	// A reader that goes away must end the run, not the process: what the run
	// has on a server is removed at its end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	if os.Getenv(benchmark.ServiceVariable) != "" {
		c.serve()
	}
	os.Exit(c.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// serve is Main for a process that another one has started as one of several. A
// signal from the terminal is for that one, which then ends this.
func (c Command) serve() {
	err := benchmark.Serve(context.Background(), c.Subjects, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, oneLine(err))
		os.Exit(Failed)
	}
	os.Exit(OK)
}

// lock finds a lock by its name.
func (c Command) lock(name string) (lock.Build, error) {
	found, err := benchmark.Select(c.Subjects, name)
	if err != nil {
		return nil, err
	}
	return found[0].Build, nil
}

// Run runs the command until it is through or ctx ends. It returns the exit
// status.
func (c Command) Run(ctx context.Context, args []string,
	stdout, stderr io.Writer) int {
	job, args, err := c.job(args)
	var s *settings
	switch {
	case err != nil:
	case job != nil:
		s, err = c.parseJob(job, args, stdout)
	default:
		s, err = c.parse(args, stdout)
	}
	if errors.Is(err, flag.ErrHelp) {
		return OK
	}
	if err != nil {
		help := "-help"
		if job != nil { // it has flags of its own
			help = "-workload " + job.name() + " -help"
		}
		fmt.Fprintf(stderr, "bench: %s (%s lists the flags)\n", oneLine(err), help)
		return Usage
	}
	switch {
	case job != nil:
		err = s.measureJob(ctx, job, stdout, stderr)
	case s.sizeTTL:
		err = s.size(ctx, stdout)
	default:
		err = s.measure(ctx, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %s\n", oneLine(err))
		return Failed
	}
	return OK
}

// oneLine keeps joined errors together.
func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// measure runs every subject and writes what was measured as it comes. When ctx
// ends it writes what there is by then, and returns an error.
func (s *settings) measure(ctx context.Context, stdout, stderr io.Writer) (
	err error) {
	// Whether a file can be written is found out before the long run.
	files, err := s.files()
	defer func() { err = errors.Join(err, files.close()) }()
	if err != nil {
		return err
	}
	if err := s.installed(); err != nil {
		return err
	}
	down, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(ctx)) }()
	pinned, undo, err := s.pinned(ctx)
	if err != nil {
		return err
	}
	defer undo()
	if s.services > 1 {
		s.runner.Crew, err = benchmark.StartCrew(ctx, s.services, s.most(),
			s.runner.Servers, s.config())
		if err != nil {
			return s.unless(ctx, err, "the services were started")
		}
		defer func() { err = errors.Join(err, s.runner.Crew.Close()) }()
	}

	out := &page{w: stdout, quiet: s.quiet(), table: benchmark.Table{
		Width:  width(stdout),
		Name:   s.longestName(),
		Paired: s.runner.Rounds > 1 || s.real(),
		Struck: s.struck(),
		Loop:   s.runner.Loop > 0,
	}}
	report := benchmark.Report{Schema: 1, Env: s.env(ctx, pinned)}
	out.text(s.header(report.Env))
	err = s.blocks(ctx, &report, out, stderr)
	report.Env.Interrupted = errors.Is(err, errInterrupted)
	peak := benchmark.PeakMemory()
	if s.runner.Crew != nil {
		peak = s.runner.Crew.PeakMemory() // the clients are there
	}
	if peak > 0 {
		report.Env.PeakMemoryMB = new(math.Round(float64(peak) / (1 << 20)))
	}
	if err != nil && !report.Env.Interrupted {
		return errors.Join(err, out.err)
	}
	out.text("\n" + out.table.Legend())
	if report.Env.PeakMemoryMB != nil {
		whose := "The clients' process had"
		if s.runner.Crew != nil {
			whose = "The clients' processes together had"
		}
		out.text(fmt.Sprintf("%s %.0f MB of memory at most.\n", whose,
			*report.Env.PeakMemoryMB))
	}
	out.text(s.notMeasured())
	if out.err == nil {
		out.err = s.alone(report, stdout)
	}
	if err = errors.Join(err, out.err); err == nil {
		err = files.commit(report)
	}
	return err
}

// sizings is how many sections a lease is sized by.
const sizings = 10_000

// size measures what a lease is sized by.
func (s *settings) size(ctx context.Context, stdout io.Writer) (err error) {
	down, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(ctx)) }()
	sizing, err := benchmark.SizeTTL(ctx, s.runner.Servers, sizings)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w while a lease was sized", errInterrupted)
	}
	if len(sizing.Work.All) > 0 {
		_, failed := fmt.Fprint(stdout, sizing)
		err = errors.Join(err, failed)
	}
	return err
}

// alone writes what stands alone on standard output, if anything.
func (s *settings) alone(report benchmark.Report, stdout io.Writer) error {
	switch {
	case s.json == "-":
		return report.Write(stdout)
	case s.stat == "-":
		return report.WriteBenchstat(stdout)
	}
	return nil
}

// errInterrupted says that the run was ended from outside.
var errInterrupted = errors.New("interrupted")

// blocks measures one table after the other: one for each number of clients and
// each pause.
func (s *settings) blocks(ctx context.Context, report *benchmark.Report,
	out *page, stderr io.Writer) error {
	done := 0
	for _, clients := range s.clients {
		for _, poll := range s.polls {
			s.runner.Clients, s.runner.Poll = clients, poll
			if title := s.title(); title != "" {
				if done > 0 {
					title = "\n" + title
				}
				out.text(title)
			}
			out.text(out.table.Head())
			if err := s.rows(ctx, report, out, stderr, &done); err != nil {
				return err
			}
		}
	}
	return nil
}

// title stands above a table when there are several.
func (s *settings) title() string {
	var words []string
	if len(s.clients) > 1 {
		words = append(words, plural(s.runner.Clients, "client"))
	}
	if len(s.polls) > 1 {
		words = append(words, fmt.Sprintf("asking again within %v",
			s.runner.Poll))
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, ", ") + "\n\n"
}

// rows measures one subject after the other. Ended by ctx, it says where. An
// interrupt that comes when the last row is complete interrupts nothing.
func (s *settings) rows(ctx context.Context, report *benchmark.Report,
	out *page, stderr io.Writer, done *int) error {
	n := len(s.subjects) * len(s.clients) * len(s.polls)
	for _, subject := range s.subjects {
		*done++
		if ctx.Err() != nil {
			return fmt.Errorf("%w before row %d of %d", errInterrupted, *done, n)
		}
		name := fmt.Sprintf("%d/%d %s", *done, n, subject.Name)
		line := showProgress(stderr, func() string {
			return progressText(name, s.runner.Progress())
		})
		row, err := s.runner.Measure(ctx, subject)
		line.stop()
		if err == nil {
			report.Rows = append(report.Rows, row)
			out.text(out.table.Row(row))
		}
		if ctx.Err() != nil && (err != nil || !row.Complete()) {
			return fmt.Errorf("%w in row %d of %d", errInterrupted, *done, n)
		}
		if err = errors.Join(err, out.err); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the runner's servers. down takes down what was made, also after
// the context has ended.
func (s *settings) connect(ctx context.Context) (
	down func(context.Context) error, err error) {
	config := s.config()
	if !s.real() {
		s.runner.Servers = benchmark.Embed(s.nodes(), config)
		return s.runner.Servers.Close, nil
	}
	stop := func() {}
	addresses := s.servers
	if s.auto {
		started, err := servers.StartAll(ctx, s.nodes(), "--maxclients",
			strconv.Itoa(max(10_000, s.most()*2+1000)))
		if errors.Is(err, servers.ErrMissing) {
			return nil, fmt.Errorf("%w; install it, or name a server with "+
				"-redis host:port", err)
		}
		if err != nil {
			return nil, s.unless(ctx, err, "servers were started")
		}
		stop = func() { servers.StopAll(started) }
		_, config.Password = started[0].Auth()
		addresses = nil
		for _, server := range started {
			addresses = append(addresses, server.Addr())
		}
	}
	reach, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	s.runner.Servers, err = benchmark.Connect(reach, addresses, config)
	if err != nil {
		stop()
		return nil, s.unless(ctx, err, "servers were asked for a sign of life")
	}
	return func(ctx context.Context) error {
		defer stop()
		return s.runner.Servers.Close(ctx)
	}, nil
}

// config is how the clients reach the servers.
func (s *settings) config() benchmark.Config {
	return benchmark.Config{Clients: s.most(), Pool: s.pool, RTT: s.rtt}
}

// unless is err, unless that comes from an interrupt.
func (s *settings) unless(ctx context.Context, err error, doing string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w while %s", errInterrupted, doing)
	}
	return err
}

// pinned puts servers and clients on one CPU, if that is wanted.
func (s *settings) pinned(ctx context.Context) (cpu *int, undo func(),
	err error) {
	if !s.pin {
		return nil, func() {}, nil
	}
	pids, err := s.runner.Servers.PIDs(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("-pin: %w", err)
	}
	threads := 1
	if s.rtt > 0 {
		threads = 2
	}
	on, undo, err := benchmark.Pin(threads, pids...)
	if err != nil {
		return nil, nil, fmt.Errorf("-pin: %w", err)
	}
	return &on, undo, nil
}

// header says what is measured, on what.
func (s *settings) header(env benchmark.Env) string {
	r := &s.runner
	var b strings.Builder
	fmt.Fprintf(&b, "%s; stock %d, lease %v, at most %v a row.\n", s.who(),
		r.Stock, r.TTL, r.Timeout)
	if s.struck() {
		fmt.Fprintf(&b, "%g %% of the clients die inside, %g %% work for 1.5 "+
			"leases; seed %d.\n", 100*r.Crash, 100*r.Overrun, r.Seed)
	}
	fmt.Fprintf(&b, "Refused clients ask again within %s.\n", s.pauses())
	fmt.Fprintf(&b, "Connections are warmed up before the clock starts%s.\n",
		s.pooled())
	if r.Servers.CollectorStaysAway() {
		b.WriteString("The clients' garbage is collected between the rounds.\n")
	}
	if r.Rounds > 1 {
		fmt.Fprintf(&b, "Every row is measured %d times, each time just after "+
			"the serial limit.\n", r.Rounds)
	}
	if s.rtt > 0 {
		fmt.Fprintf(&b, "%v are added to every round trip.\n", s.rtt)
	}
	b.WriteString(s.note)
	b.WriteString(environment(env, s.auto) + "\n\n")
	return b.String()
}

// who says who the clients are.
func (s *settings) who() string {
	r := &s.runner
	var counts []string
	for _, clients := range s.clients {
		counts = append(counts, strconv.Itoa(clients))
	}
	text := strings.Join(counts, ", ") + " clients start at one instant"
	if s.services > 1 {
		text = fmt.Sprintf("%s clients in %d processes start at one instant",
			strings.Join(counts, ", "), s.services)
	}
	switch {
	case r.Loop > 0:
		text += fmt.Sprintf(" and take turns for %v", r.Loop)
	case r.Ops > 1:
		text += fmt.Sprintf(" and take %d turns each", r.Ops)
	}
	return text
}

// pooled says how many connections there are, if that is not one a client.
func (s *settings) pooled() string {
	if s.pool == 0 {
		return ""
	}
	return fmt.Sprintf("; the clients of a process share %d", s.pool)
}

// pauses says how often refused clients ask again.
func (s *settings) pauses() string {
	r := &s.runner
	jitter := ", with full jitter"
	if r.FixedPoll {
		jitter = ", each time after as long"
	}
	if len(s.polls) > 1 {
		var all []string
		for _, poll := range s.polls {
			all = append(all, poll.String())
		}
		return strings.Join(all, ", ") + jitter
	}
	r.Clients, r.Poll = s.most(), s.polls[0]
	usual := r.Pause(benchmark.Subject{})
	text := usual.String()
	for _, subject := range s.subjects {
		if pause := r.Pause(subject); pause != usual {
			text += fmt.Sprintf(" (%s: %v)", subject.Name, pause)
		}
	}
	text += jitter
	if usual != lock.DefaultPoll {
		text = fmt.Sprintf("%s\n(the source: %v)", text, lock.DefaultPoll)
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
