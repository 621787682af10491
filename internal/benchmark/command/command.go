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
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/lock"
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
	// A reader that goes away must end the run, not the process: what the run
	// has on a server is removed at its end.
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
	s, err := c.parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return OK
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %s (-help lists the flags)\n", oneLine(err))
		return Usage
	}
	if err := s.measure(ctx, stdout, stderr); err != nil {
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
	report.Env.Interrupted = errors.Is(err, errInterrupted)
	if err == nil || report.Env.Interrupted {
		out.text("\n" + out.table.Legend())
		if len(s.left) > 0 {
			out.text(fmt.Sprintf("Not measured: %s; they need a real server,"+
				" see -redis.\n", strings.Join(s.left, ", ")))
		}
	}
	if s.json == "-" && out.err == nil &&
		(err == nil || report.Env.Interrupted) {
		out.err = report.Write(stdout)
	}
	if err = errors.Join(err, out.err); err == nil && file != nil {
		err = file.commit(report.Write)
	}
	return err
}

// errInterrupted says that the run was ended from outside.
var errInterrupted = errors.New("interrupted")

// rows measures one subject after the other. Ended by ctx, it says where. An
// interrupt that comes when the last row is complete interrupts nothing.
func (s *settings) rows(ctx context.Context, report *benchmark.Report,
	out *page, stderr io.Writer) error {
	n := len(s.subjects)
	for i, subject := range s.subjects {
		if ctx.Err() != nil {
			return fmt.Errorf("%w before row %d of %d", errInterrupted, i+1, n)
		}
		line := showProgress(stderr, fmt.Sprintf("%d/%d %s", i+1, n,
			subject.Name), s.runner.Progress)
		row, err := s.runner.Measure(ctx, subject)
		line.stop()
		if err == nil {
			report.Rows = append(report.Rows, row)
			out.text(out.table.Row(row))
		}
		if ctx.Err() != nil && (err != nil || !row.Finished) {
			return fmt.Errorf("%w in row %d of %d", errInterrupted, i+1, n)
		}
		if err = errors.Join(err, out.err); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) connect(ctx context.Context) (*benchmark.Servers, error) {
	config := benchmark.Config{Clients: s.runner.Clients}
	if len(s.servers) == 0 {
		nodes := 1
		for _, subject := range s.subjects {
			nodes = max(nodes, subject.Nodes)
		}
		return benchmark.Embed(nodes, config), nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	return benchmark.Connect(ctx, s.servers, config)
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
		"%s%s; %s %s/%s, %d CPUs.\n\n",
		r.Clients, r.Stock, r.TTL, r.Timeout, s.pauses(), s.note, server,
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
