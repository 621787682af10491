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
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/jobs"
	"github.com/lockladder/lockladder/internal/servers"
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

// job is a workload, and what -help says first.
type job struct {
	name, intro string
	bench.Workload
}

// jobs are what can be done behind the locks; the first is the usual one.
func (c Command) jobs() []job {
	return []job{
		{"inventory", c.Intro, &bench.Inventory{Note: c.Note}},
		{"cache", "Sends many requests to several services for a cached value " +
			"that has just expired,\nbehind every lock, and counts how often the " +
			"database is asked.", &jobs.CacheWorkload{}},
		{"catalog", "Lets clients read a list of prices, and a few of them change " +
			"it, behind every lock,\nand counts the readers that see half a " +
			"change.", &jobs.CatalogWorkload{}},
	}
}

// Main runs the command as a process and ends it.
func (c Command) Main() {
	// The library would add lines of its own to the one that says what failed.
	logging.Disable()
	// A reader that goes away must end the run, not the process, because the run
	// removes its keys from the servers at its end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(c.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
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
	if err := o.measure(ctx, stdout, stderr); err != nil {
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
	files := slices.DeleteFunc(slices.Clone(o.outputs), func(f bench.Output) bool {
		return *f.File == "" || *f.File == "-"
	})
	for _, output := range files {
		if err := replace(*output.File, nil); err != nil {
			return err
		}
	}
	if err := o.installed(); err != nil {
		return err
	}
	down, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(ctx)) }()

	out := &page{w: stdout, quiet: slices.ContainsFunc(o.outputs, alone)}
	report := &o.report
	report.Schema, report.Env = 2, o.environment(ctx)
	if !o.usual {
		report.Workload = o.job.name
	}
	out.text(o.plan.Header + where(report.Env, o.auto) + "\n\n")
	report.Rows, err = o.tables(ctx, out, stderr)
	report.Env.Interrupted = errors.Is(err, errInterrupted)
	if err != nil && !report.Env.Interrupted {
		return errors.Join(err, out.err)
	}
	out.text("\n" + o.plan.Layout.Legend(o.plan.Empty) + o.memory(&report.Env) + o.notMeasured())
	for _, output := range o.outputs {
		if alone(output) && out.err == nil {
			out.err = output.Write(*report, stdout)
		}
	}
	err = errors.Join(err, out.err)
	for _, output := range files {
		if err != nil {
			err = fmt.Errorf("%w; %s is not written", err, *output.File)
			continue
		}
		err = replace(*output.File, func(w io.Writer) error {
			return output.Write(*report, w)
		})
	}
	return err
}

// memory is a line about the memory of the clients, where anybody wants to know it.
func (o *options) memory(env *bench.Env) string {
	if o.plan.Memory == nil {
		return ""
	}
	peak := o.plan.Memory()
	if peak == 0 {
		return ""
	}
	env.PeakMemoryMB = new(math.Round(float64(peak) / (1 << 20)))
	return fmt.Sprintf("The clients' process had %.0f MB of memory at most.\n",
		*env.PeakMemoryMB)
}

// tables measures the rows of one table after the other. Ended by ctx, it says
// where. An interrupt that comes when the last row is complete interrupts nothing.
func (o *options) tables(ctx context.Context, out *page, stderr io.Writer) (
	measured []bench.Row, err error) {
	run, n, of := o.run, 0, len(o.run.Subjects)*len(o.plan.Tables)
	for i, title := range o.plan.Tables {
		run.Table = i
		if i > 0 {
			out.text("\n")
		}
		out.text(title + o.plan.Layout.Head(o.plan.Empty))
		for _, subject := range run.Subjects {
			n++
			if ctx.Err() != nil {
				return measured, fmt.Errorf("%w before row %d of %d", errInterrupted,
					n, of)
			}
			stop := showProgress(stderr, func() string {
				return fmt.Sprintf("%d/%d %s%s", n, of, subject.Name,
					o.plan.Progress())
			})
			row, err := o.job.Measure(ctx, run, subject)
			stop()
			if err == nil {
				measured = append(measured, row)
				out.text(o.plan.Layout.Row(row))
			}
			if ctx.Err() != nil && (err != nil || !row.Complete()) {
				return measured, fmt.Errorf("%w in row %d of %d", errInterrupted, n,
					of)
			}
			if err = errors.Join(err, out.err); err != nil {
				return measured, err
			}
		}
	}
	return measured, nil
}

// connect makes the servers of a run. down takes down what was made, also after
// the context has ended.
func (o *options) connect(ctx context.Context) (down func(context.Context) error,
	err error) {
	config := o.plan.Config
	count := 1
	for _, subject := range o.run.Subjects {
		count = max(count, subject.Nodes)
	}
	if !o.run.Real {
		o.run.Servers = bench.Embed(count, config)
		return o.run.Servers.Close, nil
	}
	stop := func() {}
	addresses := o.addresses
	if o.auto {
		started, err := servers.StartAll(ctx, count, "--maxclients",
			strconv.Itoa(max(10_000, config.Clients*2+1000)))
		if errors.Is(err, servers.ErrMissing) {
			return nil, fmt.Errorf("%w; install it, or name a server with "+
				"-redis host:port", err)
		}
		if err != nil {
			return nil, unless(ctx, err, "servers were started")
		}
		stop = func() { servers.StopAll(started) }
		_, config.Password = started[0].Auth()
		for _, server := range started {
			addresses = append(addresses, server.Addr())
		}
	}
	reach, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	o.run.Servers, err = bench.Connect(reach, addresses, config)
	if err != nil {
		stop()
		return nil, unless(ctx, err, "servers were asked for a sign of life")
	}
	return func(ctx context.Context) error {
		defer stop()
		return o.run.Servers.Close(ctx)
	}, nil
}
