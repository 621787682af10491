// Package command is the program around the benchmark: its flags, its table, its
// files. The repository's bench and the one with the libraries are this program
// with different locks.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/inventory"
	"github.com/lockladder/lockladder/internal/bench/jobs/cache"
	"github.com/lockladder/lockladder/internal/bench/jobs/catalog"
	"github.com/lockladder/lockladder/internal/bench/jobs/imports"
	"github.com/lockladder/lockladder/internal/bench/nodes"
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

	// Locks are the rows that there are, but for the baselines. Users choose
	// among them by name.
	Locks []bench.Subject

	// More are rows that have to be asked for: with the flag -More.Flag.
	More More

	// Note is a line below the header of the inventory, "" for none.
	Note string
}

// More are rows that a run doesn't have unless a flag asks for them.
type More struct {
	Flag, Usage string // "" for no such rows
	Locks       []bench.Subject
}

// workloads are what can be done behind the locks; the first is the usual one.
func (c Command) workloads() []bench.Workload {
	return []bench.Workload{
		&inventory.Workload{About: c.Intro, Note: c.Note},
		&cache.Workload{},
		&imports.Workload{},
		&catalog.Workload{},
	}
}

// Main runs the command as a process and ends it.
func (c Command) Main() {
	// The library would add lines of its own to the one that says what failed.
	logging.Disable()
	inventory.Serve(c.Locks) // where this process is one of a run's
	imports.Serve(c.lock)
	// A reader that goes away must end the run, not the process, because the run
	// removes its keys from the servers at its end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(c.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// lock finds a lock by its name.
func (c Command) lock(name string) (lock.Build, error) {
	found, err := bench.Select(c.Locks, name)
	if err != nil {
		return nil, err
	}
	return found[0].Build, nil
}

// Run runs the command until it is through or ctx ends. It returns the exit
// status.
func (c Command) Run(ctx context.Context, args []string,
	stdout, stderr io.Writer) int {
	o, help, err := c.parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return OK
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %s (%s lists the flags)\n", oneLine(err), help)
		return Usage
	}
	run := o.measure
	if w, is := o.workload.(*inventory.Workload); is && w.SizeTTL {
		run = o.size
	}
	if err := run(ctx, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "bench: %s\n", oneLine(err))
		return Failed
	}
	return OK
}

// oneLine keeps joined errors together.
func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// errInterrupted says that the run was ended from outside.
var errInterrupted = errors.New("interrupted")

// unless is err, unless that comes from an interrupt.
func unless(ctx context.Context, err error, doing string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w while %s", errInterrupted, doing)
	}
	return err
}

// measure runs every subject and writes what was measured as it comes. When ctx
// ends it writes what there is by then, and returns an error.
func (o *options) measure(ctx context.Context, stdout, stderr io.Writer) (
	err error) {
	// Whether a file can be written is found out before the long run.
	files := o.files()
	for _, wanted := range files {
		if err := writable(wanted.file); err != nil {
			return err
		}
	}
	if err := o.installed(); err != nil {
		return err
	}
	servers, down, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(ctx)) }()
	end, err := o.workload.Begin(ctx, bench.Run{Servers: servers,
		Subjects: o.subjects, Width: width(stdout)})
	if err != nil {
		return unless(ctx, err, "the services were started")
	}
	defer func() { err = errors.Join(err, end()) }()

	out := &page{w: stdout}
	for _, wanted := range o.formats {
		out.quiet = out.quiet || wanted.alone()
	}
	report := bench.ReportOf[any]{Schema: 2, Env: environment(ctx, servers)}
	if name := o.workload.Name(); name != o.usual {
		report.Workload = name
	}
	o.workload.Describe(&report.Env)
	out.text(o.workload.Header() + where(report.Env, o.auto) + "\n\n")
	err = o.tables(ctx, &report, out, stderr)
	report.Env.Interrupted = errors.Is(err, errInterrupted)
	o.workload.Describe(&report.Env)
	if err != nil && !report.Env.Interrupted {
		return errors.Join(err, out.err)
	}
	out.text("\n" + o.workload.Legend(report.Env) + o.notMeasured())
	for _, wanted := range o.formats {
		if wanted.alone() && out.err == nil {
			out.err = wanted.Write(report, stdout)
		}
	}
	err = errors.Join(err, out.err)
	for _, wanted := range files {
		if err != nil {
			err = fmt.Errorf("%w; %s is not written", err, wanted.file)
			continue
		}
		err = replace(wanted.file, func(w io.Writer) error {
			return wanted.Write(report, w)
		})
	}
	return err
}

// files are the formats that are to be written into files.
func (o *options) files() []*format {
	return slices.DeleteFunc(slices.Clone(o.formats), func(f *format) bool {
		return f.file == "" || f.file == "-"
	})
}

// tables measures the rows of one table after the other. Ended by ctx, it says
// where. An interrupt that comes when the last row is complete interrupts nothing.
func (o *options) tables(ctx context.Context, report *bench.ReportOf[any],
	out *page, stderr io.Writer) error {
	tables := o.workload.Tables()
	row, rows := 0, len(o.subjects)*len(tables)
	for i, table := range tables {
		if i > 0 {
			out.text("\n")
		}
		out.text(table.Title + table.Head)
		for _, subject := range o.subjects {
			row++
			if ctx.Err() != nil {
				return fmt.Errorf("%w before row %d of %d", errInterrupted, row,
					rows)
			}
			line := showProgress(stderr, func() string {
				return fmt.Sprintf("%d/%d %s%s", row, rows, subject.Name,
					table.Progress())
			})
			var texts []string
			err := table.Measure(ctx, subject, func(row any, text string) {
				report.Rows = append(report.Rows, row)
				texts = append(texts, text)
			})
			line.stop()
			out.text(strings.Join(texts, ""))
			if err != nil && ctx.Err() != nil {
				return fmt.Errorf("%w in row %d of %d", errInterrupted, row, rows)
			}
			if err = errors.Join(err, out.err); err != nil {
				return err
			}
		}
	}
	return nil
}

// size measures what a lease is sized by.
func (o *options) size(ctx context.Context, stdout, _ io.Writer) (err error) {
	servers, down, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(ctx)) }()
	sizing, err := bench.SizeTTL(ctx, servers)
	if err != nil {
		err = unless(ctx, err, "a lease was sized")
	}
	if len(sizing.Work.All) > 0 {
		_, failed := fmt.Fprint(stdout, sizing)
		err = errors.Join(err, failed)
	}
	return err
}

// connect makes the servers of a run. down takes down what was made, also after
// the context has ended.
func (o *options) connect(ctx context.Context) (made *nodes.Servers,
	down func(context.Context) error, err error) {
	config := o.workload.Config()
	count := 1
	for _, subject := range o.subjects {
		count = max(count, subject.Nodes)
	}
	if !o.real() {
		made = nodes.Embed(count, config)
		return made, made.Close, nil
	}
	stop := func() {}
	addresses := o.addresses
	if o.auto {
		started, err := servers.StartAll(ctx, count, "--maxclients",
			strconv.Itoa(max(10_000, config.Clients*2+1000)))
		if errors.Is(err, servers.ErrMissing) {
			return nil, nil, fmt.Errorf("%w; install it, or name a server with "+
				"-redis host:port", err)
		}
		if err != nil {
			return nil, nil, unless(ctx, err, "servers were started")
		}
		stop = func() { servers.StopAll(started) }
		_, config.Password = started[0].Auth()
		for _, server := range started {
			addresses = append(addresses, server.Addr())
		}
	}
	reach, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	made, err = nodes.Connect(reach, addresses, config)
	if err != nil {
		stop()
		return nil, nil, unless(ctx, err,
			"servers were asked for a sign of life")
	}
	return made, func(ctx context.Context) error {
		defer stop()
		return made.Close(ctx)
	}, nil
}
