// Package command is the program around the benchmark: its flags, its table, its files. The
// repository's bench and the one with the libraries are this program with different locks.
package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/internal/terminal"
)

// Command is a benchmark program.
type Command struct {
	// Intro is what -help says first.
	Intro string

	// Locks are the rows that there are, but for the baselines. Users choose among them by name.
	Locks []bench.Subject

	// Programs are rows of other languages, which a run has with -programs only; none: there
	// is no such flag.
	Programs []bench.Subject

	// Note is a line below the header, "" for none.
	Note string
}

// Main runs the command as a process and ends it.
func (c Command) Main() {
	// The library would add lines of its own to the one that says what failed.
	logging.Disable()
	// A reader that goes away must end the run, not the process, because the run
	// removes its keys from the servers at its end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(c.Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Run runs the command until it is through or ctx ends. It returns the exit status.
func (c Command) Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := c.parse(args, stdout)
	if err != nil {
		return terminal.Refused(stderr, "bench", err)
	}
	if err = o.measure(ctx, stdout, stderr); err == nil {
		return terminal.OK
	}
	terminal.Say(stderr, "bench: %v", err)
	if ctx.Err() != nil {
		return terminal.Interrupted
	}
	return terminal.Failed
}

// measure runs every subject and writes what was measured as it comes. When ctx
// ends it writes what there is by then, and returns an error.
func (o *options) measure(ctx context.Context, stdout, stderr io.Writer) (err error) {
	// Whether a file can be written is found out before the long run.
	files := slices.DeleteFunc(o.outputs(), func(f output) bool {
		return f.file == "" || f.file == "-"
	})
	for _, output := range files {
		if err := recording.Replace(output.file, nil); err != nil {
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
	late, err := o.job.Late(ctx, o.servers)
	if err != nil {
		return err
	}
	o.run.Subjects = append(o.run.Subjects, late...)

	o.out = bufio.NewWriter(stdout)
	if o.alone() { // only JSON is wanted
		o.out.Reset(io.Discard)
	}
	report := &o.report
	report.Schema, report.Env = 2, o.environment(ctx)
	o.print(o.wrapped(o.plan.Header + where(report.Env, o.started())))
	report.Rows, err = o.tables(ctx, stderr)
	report.Env.Interrupted = errors.Is(err, bench.ErrInterrupted)
	found := append(o.job.Findings(o.report), o.plan.Layout.Choices(report.Rows)...)
	for rows, tables := report.Rows, o.plan.Tables; len(rows) > 0; tables = tables[1:] {
		n := min(len(rows), len(o.run.Subjects))
		o.print("\n" + tables[0].Title + o.plan.Layout.Table(rows[:n], report.Rows))
		rows = rows[n:]
	}
	if err != nil && !report.Env.Interrupted {
		return errors.Join(err, o.out.Flush())
	}
	o.print("\n" + o.wrapped(strings.TrimSpace(o.plan.Layout.Legend()+"More figures: -html report.html, -json report.json. What each lock is: README.md, docs/matrix.md.\n"+
		o.notMeasured()+"\n"+strings.Join(found, "\n\n"))))
	if failed := o.out.Flush(); failed != nil {
		err = errors.Join(err, failed)
	} else if o.alone() {
		err = errors.Join(err, report.Write(stdout))
	}
	for _, output := range files {
		// A page says that it is of a part of the run. JSON may be what later runs are compared with.
		part := report.Env.Interrupted && len(report.Rows) > 0 && output.flag == "html"
		if err != nil && !part {
			err = fmt.Errorf("%w; %s is not written", err, output.file)
			continue
		}
		failed := recording.Replace(output.file, func(w io.Writer) error { return output.write(*report, w) })
		if failed == nil {
			o.print("\nwrote " + output.file + map[bool]string{true: ", with what was measured"}[part] + "\n")
		}
		err = errors.Join(err, failed)
	}
	return err
}

// print shows a text at once. Nothing follows what can't be shown.
func (o *options) print(text string) {
	o.out.WriteString(text)
	o.out.Flush()
}

// wrapped is a text in lines as wide as the table may be. A table's lines, which are indented, stay.
func (o *options) wrapped(text string) (all string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			line = strings.Join(terminal.Wrap(line, o.plan.Layout.Width, 0), "\n") + "\n"
		}
		all += line
	}
	return all
}

// tables measures one table after the other, the rows of each in turns. Ended by ctx, it says where.
func (o *options) tables(ctx context.Context, stderr io.Writer) (measured []bench.Row, err error) {
	for _, table := range o.plan.Tables {
		table.Servers = o.servers
		stop := terminal.Progress(stderr, func() string {
			return strings.ReplaceAll(table.Title, "\n\n", ", ") + table.Progress()
		})
		rows, failed := table.MeasureAll(ctx, o.run.Subjects)
		stop()
		measured = append(measured, rows...)
		if err = cmp.Or(failed, o.out.Flush()); err != nil {
			break
		}
	}
	return measured, err
}

// connect makes the servers of a run. down takes down what was made, also after
// the context has ended.
func (o *options) connect(ctx context.Context) (down func(context.Context) error, err error) {
	count := max(1, o.plan.Nodes)
	for _, subject := range o.run.Subjects {
		count = max(count, subject.Nodes)
	}
	o.servers, down, err = bench.Open(ctx, o.asked, count, o.plan.Config)
	return down, err
}
