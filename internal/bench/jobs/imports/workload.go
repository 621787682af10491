package imports

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
)

// Workload is the import as a program runs it: a row for each number of groups.
type Workload struct {
	Runner
	groups []int
}

// Flags defines the flags.
func (w *Workload) Flags(flags *flag.FlagSet) func(bench.Run) (bench.Plan, error) {
	r := &w.Runner
	r.Form, w.groups = Improved, []int{50}
	flags.Func("form", "the `form`: article, as [queue] has it, or improved "+
		"(default improved)", func(text string) error {
		r.Form = Form(text)
		return nil
	})
	flags.Func("groups", "how many `groups` the tasks belong to (default 50); "+
		"several numbers,\nseparated by commas, make a row each",
		bench.List(&w.groups, strconv.Atoi))
	flags.IntVar(&r.Workers, "workers", 8,
		"how many `workers` there are")
	flags.IntVar(&r.Tasks, "tasks", 1000, "how many `tasks` there are")
	flags.IntVar(&r.Ungrouped, "ungrouped", 10,
		"how many of a `hundred` tasks have no group")
	flags.DurationVar(&r.Work, "work", 5*time.Millisecond, "how long a task takes")
	flags.DurationVar(&r.TTL, "ttl", 2*time.Second,
		"the lease of the locks, and of the claims")
	flags.DurationVar(&r.Poll, "poll", 5*time.Millisecond, "the pause of a worker after "+
		"each round in the article's form (there 2s),\nand the longest of a "+
		"refused owner")
	flags.DurationVar(&r.Timeout, "timeout", 3*time.Minute,
		"ends a row that takes longer; it is reported all the same")
	flags.IntVar(&r.Kill, "kill", 0, "how many `workers` are killed with kill "+
		"-9, spread over the run; needs -redis")
	flags.IntVar(&r.Fail, "fail", 0, "how many `tasks` fail at their first start")
	flags.IntVar(&r.Overrun, "overrun", 0,
		"how many `tasks` take two leases at their first start")
	flags.Uint64Var(&r.Seed, "seed", 1, "decides who is killed")
	return func(run bench.Run) (bench.Plan, error) {
		err := w.check(run.Real)
		return w.Plan(1, w.header(), columns.Heads("lock", bench.NameWidth), legend,
			" tasks", w.Progress), err
	}
}

// check returns what is wrong with the settings, if anything. On real servers the
// workers are processes.
func (w *Workload) check(real bool) error {
	if real {
		w.Launch = Launch
	}
	for _, groups := range w.groups {
		if groups < 1 {
			return fmt.Errorf("there are %d groups, at least 1 is needed", groups)
		}
	}
	if w.Kill > 0 && !real {
		return errors.New("-kill needs workers that are processes, and those a " +
			"real server, see -redis")
	}
	return w.Check()
}

// Subjects are the locks.
func (w *Workload) Subjects(locks []bench.Subject) []bench.Subject {
	return bench.Locks(locks)
}

// header says what is done.
func (w *Workload) header() string {
	r := &w.Runner
	workers := "goroutines"
	if r.Launch != nil {
		workers = "processes"
	}
	text := fmt.Sprintf("%d tasks of %v each, %d %% of them without a group; %d "+
		"workers, which are %s.\nThe form is %s; lease %v, at most %v a row; "+
		"pauses of %v.\n", r.Tasks, r.Work, r.Ungrouped, r.Workers, workers,
		r.Form, r.TTL, r.Timeout, r.Poll)
	if r.Kill+r.Fail+r.Overrun > 0 {
		text += fmt.Sprintf("%d workers are killed; %d tasks fail and %d take "+
			"two leases, at their first start.\n", r.Kill, r.Fail, r.Overrun)
	}
	return text
}

// Measure measures a row for each number of groups.
func (w *Workload) Measure(ctx context.Context, run bench.Run,
	subject bench.Subject) (rows []bench.Measured, err error) {
	w.Servers = run.Servers
	for _, groups := range w.groups {
		row, err := w.Runner.Measure(ctx, subject, groups)
		if err != nil {
			return rows, fmt.Errorf("import behind %s: %w", subject.Name, err)
		}
		rows = append(rows, row)
		if err := bench.CutOff(ctx, row.Finished); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

const legend = `lost: not done, and in no queue or slot; done twice: tasks that ended twice
overlapped: starts while another task of the group was worked on
out of order: ends after the end of a later task; started again: starts of a task
that had been started before, after its worker died or its work failed
`

var columns = bench.Columns[Row]{
	bench.NewColumn("", "groups", 7, 0, func(r Row) any { return r.Groups }),
	bench.NewColumn("", "done", 7, 0, func(r Row) any { return r.Done }),
	bench.NewColumn("", "lost", 6, 0, func(r Row) any { return r.Lost }),
	bench.NewColumn("done", "twice", 6, 0, func(r Row) any { return r.DoneTwice }),
	bench.NewColumn("over-", "lapped", 7, 0, func(r Row) any { return r.Overlapped }),
	bench.NewColumn("out of", "order", 7, 0, func(r Row) any { return r.OutOfOrder }),
	bench.NewColumn("started", "again", 8, 0, func(r Row) any { return r.StartedAgain }),
	bench.NewColumn("", "s", 7, 2, func(r Row) any { return r.Seconds }),
	bench.NewColumn("tasks", "/s", 7, 0, func(r Row) any { return r.TasksPerSecond }),
}

// Text is a row of the table. Lines that say what went wrong follow it.
func (r Row) Text() string {
	text := columns.Line(r.Rung, bench.NameWidth, r)
	if !r.Finished {
		text += bench.Note("cut off after %.1f s: %d of %d tasks were done; in"+
			" a queue or a slot: %d", r.Seconds, r.Done, r.Tasks, r.Left)
	}
	for _, count := range []struct {
		n    int
		what string
	}{
		{r.Killed, "workers that were killed"},
		{r.Refused, "ends that came too late and did not count"},
		{r.AgainUnforced, "starts again without a reason"},
	} {
		if count.n > 0 {
			text += bench.Note("%s: %d", count.what, count.n)
		}
	}
	return text + bench.FirstFailure(fmt.Sprintf(
		"workers that ended by themselves: %d", r.Failures), r.FirstFailure)
}
