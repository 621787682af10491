package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/bench/nodes"
)

// Workload is a job that is done behind one lock after the other. It has its
// settings, and describes itself; a program reads the flags and prints.
type Workload interface {
	// Name is what users type; Intro is what -help says first.
	Name() string
	Intro() string

	// Define defines the flags of the settings. Settle is called when they are
	// parsed: it completes the settings and returns what is wrong with them. It
	// is told which flags were given, and whether the servers are real ones.
	Define(flags *flag.FlagSet)
	Settle(given map[string]bool, real bool) error

	// Formats are what a run can be written as, besides JSON.
	Formats() []Format

	// Subjects are the rows when there are these locks: those that the job can
	// be done behind, and its baselines. Unfit says why a row can't be measured
	// with the settings, "" when it can.
	Subjects(locks []Subject) []Subject
	Unfit(subject Subject) string

	// Config is how the clients reach the servers.
	Config() nodes.Config

	// Begin prepares a run, and end takes down what was prepared. A failure
	// leaves nothing behind.
	Begin(ctx context.Context, run Run) (end func() error, err error)

	// These are called while a run is prepared. Describe sets what the
	// workload knows of the environment, before the run and once more after it.
	// Header says what is done, and Legend explains the tables below the last.
	Describe(env *Env)
	Header() string
	Tables() []Table
	Legend(env Env) string
}

// Run is where a workload runs.
type Run struct {
	Servers  *nodes.Servers
	Subjects []Subject // the rows
	Width    int       // columns of the reader's terminal, 0 when unknown
}

// Table has a row, or several, for every subject of a run.
type Table struct {
	Title string // "" for the only one
	Head  string

	// Measure measures a subject and gives emit its rows. When ctx ends before
	// a row is complete it emits what there is and returns the error of ctx.
	Measure func(ctx context.Context, subject Subject,
		emit func(row any, text string)) error

	// Progress continues the name of the subject that is measured with how far
	// it is. Any goroutine may call it.
	Progress func() string
}

// Measured is a row of a workload that has one table.
type Measured interface {
	Text() string   // its lines
	Complete() bool // nothing was cut off
}

// OneTable is the only table of a workload. Each measure has a row of every subject;
// an error says what they were doing. Progress is how many of what are done, of how
// many.
func OneTable[R Measured](columns Columns[R], doing, what string,
	progress func() (done, of int),
	measures ...func(context.Context, Subject) (R, error)) []Table {
	return []Table{{
		Head: columns.Heads("lock", NameWidth),
		Measure: func(ctx context.Context, subject Subject,
			emit func(any, string)) error {
			for _, measure := range measures {
				row, err := measure(ctx, subject)
				if err != nil {
					return fmt.Errorf("%s behind %s: %w", doing, subject.Name, err)
				}
				emit(row, row.Text())
				if err := CutOff(ctx, row.Complete()); err != nil {
					return err
				}
			}
			return nil
		},
		Progress: func() string {
			done, of := progress()
			return fmt.Sprintf(": %d of %d%s", done, of, what)
		},
	}}
}

// CutOff is the error of ctx, nil when the row was complete before that ended.
func CutOff(ctx context.Context, complete bool) error {
	if complete {
		return nil
	}
	return ctx.Err()
}

// Format is what a run can be written as.
type Format struct {
	Flag, Usage string
	Alone       bool // it can have standard output for itself, as "-"
	Write       func(ReportOf[any], io.Writer) error
}

// Basic are the settings that all workloads have besides the inventory, and what such a
// one has to say of itself where there is nothing special.
type Basic struct {
	Servers *nodes.Servers
	TTL     time.Duration // the lease of the locks
	Timeout time.Duration // bounds one row
}

// Check returns what is wrong with the settings, if anything.
func (b *Basic) Check() error {
	switch {
	case b.TTL < time.Millisecond:
		return fmt.Errorf("the ttl is %v, Redis needs at least 1ms", b.TTL)
	case b.TTL%time.Millisecond != 0:
		return fmt.Errorf("the ttl is %v, Redis counts whole milliseconds", b.TTL)
	case b.Timeout <= 0:
		return fmt.Errorf("the timeout is %v, it must be positive", b.Timeout)
	}
	return nil
}

// Formats are none but JSON.
func (b *Basic) Formats() []Format { return nil }

// Unfit is no row.
func (b *Basic) Unfit(Subject) string { return "" }

// Config has no connections for clients: the workload makes its own.
func (b *Basic) Config() nodes.Config { return nodes.Config{Clients: 1} }

// Begin sets the servers.
func (b *Basic) Begin(_ context.Context, run Run) (func() error, error) {
	b.Servers = run.Servers
	return func() error { return nil }, nil
}

// Describe sets the settings.
func (b *Basic) Describe(env *Env) {
	env.TTLms, env.TimeoutMs = Milliseconds(b.TTL), Milliseconds(b.Timeout)
}

// List understands the values of a flag that are separated by commas.
func List[T any](into *[]T, one func(string) (T, error)) func(string) error {
	return func(text string) error {
		*into = nil
		for word := range strings.SplitSeq(text, ",") {
			value, err := one(strings.TrimSpace(word))
			if _, is := errors.AsType[*strconv.NumError](err); is {
				return fmt.Errorf("%q is no number", word)
			}
			if err != nil {
				return err
			}
			*into = append(*into, value)
		}
		return nil
	}
}
