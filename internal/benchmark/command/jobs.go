package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/jobs/cache"
	"github.com/lockladder/lockladder/internal/jobs/imports"
	"github.com/lockladder/lockladder/lock"
)

// The workloads.
const (
	saleWorkload   = "sale"
	cacheWorkload  = "cache"
	importWorkload = "import"
)

// job is a workload other than the sale: its flags and its rows.
type job interface {
	name() string
	intro() string
	define(s *settings, flags *flag.FlagSet)
	check(s *settings) error
	subjects(locks []benchmark.Subject) []benchmark.Subject

	// header says what is done, head stands above the rows, legend below.
	header(s *settings) string
	head() string
	legend() string

	// measure measures a subject and gives emit its rows. When ctx ends before
	// a row is finished it gives what there is, and returns the error of ctx.
	measure(ctx context.Context, s *settings, subject benchmark.Subject,
		emit func(row any, text string)) error
	progress() string
}

// job returns the workload that the arguments name, nil for the sale, and the
// other arguments.
func (c Command) job(args []string) (job, []string, error) {
	var rest []string
	name := saleWorkload
	for i := 0; i < len(args); i++ {
		key, value, with := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		if strings.TrimPrefix(key, "-") != "workload" ||
			!strings.HasPrefix(args[i], "-") {
			rest = append(rest, args[i])
			continue
		}
		if i++; !with && i == len(args) {
			return nil, nil, errors.New("flag needs an argument: -workload")
		}
		if name = value; !with {
			name = args[i]
		} else {
			i--
		}
	}
	switch name {
	case saleWorkload:
		return nil, rest, nil
	case cacheWorkload:
		return &cacheJob{}, rest, nil
	case importWorkload:
		return &importJob{}, rest, nil
	}
	return nil, nil, fmt.Errorf("there is no workload %q, there are %s, %s and %s",
		name, saleWorkload, cacheWorkload, importWorkload)
}

// parseJob understands the arguments of a job, as parse does those of the sale.
func (c Command) parseJob(j job, args []string, stdout io.Writer) (
	*settings, error) {
	s := &settings{clients: []int{1}, polls: []time.Duration{0}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	j.define(s, flags)
	names := s.define(flags)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			Command{Intro: j.intro()}.help(flags, stdout)
		}
		return nil, expected(flags, err)
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := s.understand(flags, given); err != nil {
		return nil, err
	}
	var locks []benchmark.Subject
	for _, subject := range c.Subjects {
		if subject.Build != nil && subject.Kind != benchmark.Baseline {
			locks = append(locks, subject)
		}
	}
	if err := s.choose(j.subjects(locks), *names, given["rungs"]); err != nil {
		return nil, err
	}
	return s, j.check(s)
}

// jobReport is what a job writes as JSON.
type jobReport struct {
	Schema   int           `json:"schema"` // 1
	Workload string        `json:"workload"`
	Env      benchmark.Env `json:"env"`
	Rows     []any         `json:"rows"`
}

func (r jobReport) write(w io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// measureJob measures every subject and writes what was measured as it comes,
// as measure does for the sale.
func (s *settings) measureJob(ctx context.Context, j job,
	stdout, stderr io.Writer) (err error) {
	var file *replacement
	if s.json != "" && s.json != "-" {
		if file, err = replace(s.json); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.close()) }()
	}
	down, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(ctx)) }()

	out := &page{w: stdout, quiet: s.quiet()}
	report := jobReport{Schema: 1, Workload: j.name(), Env: s.env(ctx, nil),
		Rows: []any{}}
	out.text(j.header(s) + environment(report.Env, s.auto) + "\n\n" + j.head())
	err = s.jobRows(ctx, j, &report, out, stderr)
	report.Env.Interrupted = errors.Is(err, errInterrupted)
	if err != nil && !report.Env.Interrupted {
		return errors.Join(err, out.err)
	}
	out.text("\n" + j.legend())
	if s.json == "-" && out.err == nil {
		out.err = report.write(stdout)
	}
	if err = errors.Join(err, out.err); err == nil && file != nil {
		err = file.commit(report.write)
	}
	return err
}

func (s *settings) jobRows(ctx context.Context, j job, report *jobReport,
	out *page, stderr io.Writer) error {
	for i, subject := range s.subjects {
		if ctx.Err() != nil {
			return fmt.Errorf("%w before row %d of %d", errInterrupted, i+1,
				len(s.subjects))
		}
		line := showProgress(stderr, func() string {
			return fmt.Sprintf("%d/%d %s: %s", i+1, len(s.subjects),
				subject.Name, j.progress())
		})
		var texts []string
		err := j.measure(ctx, s, subject, func(row any, text string) {
			report.Rows = append(report.Rows, row)
			texts = append(texts, text)
		})
		line.stop()
		out.text(strings.Join(texts, ""))
		if ctx.Err() != nil && err != nil {
			return fmt.Errorf("%w in row %d of %d", errInterrupted, i+1,
				len(s.subjects))
		}
		if err = errors.Join(err, out.err); err != nil {
			return err
		}
	}
	return nil
}

// cut is the error of ctx, unless the row was finished before.
func cut(ctx context.Context, finished bool) error {
	if finished {
		return nil
	}
	return ctx.Err()
}

// cacheJob is the cache that is refilled.
type cacheJob struct{ cache.Runner }

func (j *cacheJob) name() string { return cacheWorkload }

func (j *cacheJob) intro() string {
	return "Sends many requests to several services for a cached value that " +
		"has just expired,\nbehind every lock, and counts how often the " +
		"database is asked."
}

func (j *cacheJob) define(s *settings, flags *flag.FlagSet) {
	flags.IntVar(&j.Requests, "requests", cache.DefaultRequests,
		"how many `requests` there are, to all services together")
	flags.IntVar(&j.Services, "services", cache.DefaultServices,
		"how many `services` there are, each with connections of its own")
	flags.DurationVar(&j.Load, "load", cache.DefaultLoad,
		"how long the database takes")
	flags.DurationVar(&s.runner.TTL, "ttl", cache.DefaultTTL,
		"the lease of the lock")
	flags.DurationVar(&j.Poll, "poll", lock.DefaultPoll,
		"the longest pause of a refused request")
	flags.DurationVar(&s.runner.Timeout, "timeout", cache.DefaultTimeout,
		"ends a row that takes longer; it is reported all the same")
}

func (j *cacheJob) check(s *settings) error {
	j.TTL, j.Timeout = s.runner.TTL, s.runner.Timeout
	return j.Check()
}

func (j *cacheJob) subjects(locks []benchmark.Subject) []benchmark.Subject {
	return cache.Around(locks...)
}

func (j *cacheJob) header(s *settings) string {
	return fmt.Sprintf("%d requests to %d services have found that a value is "+
		"no longer in the cache.\nThe database takes %v; it has 100, and 99 "+
		"from the first load on.\nLease %v, at most %v a row. Refused requests "+
		"ask again within %v, with full jitter.\n", j.Requests, j.Services,
		j.Load, j.TTL, j.Timeout, j.Poll)
}

func (j *cacheJob) head() string   { return cache.Head() }
func (j *cacheJob) legend() string { return cache.Legend() }

func (j *cacheJob) measure(ctx context.Context, s *settings,
	subject benchmark.Subject, emit func(any, string)) error {
	j.Servers = s.runner.Servers
	row, err := j.Measure(ctx, subject)
	if err != nil {
		return err
	}
	emit(row, row.Text())
	return cut(ctx, row.Finished)
}

func (j *cacheJob) progress() string {
	answered, of := j.Answered()
	return fmt.Sprintf("%d of %d requests", answered, of)
}

// importJob is the grouped import.
type importJob struct {
	imports.Runner
	groups []int
}

func (j *importJob) name() string { return importWorkload }

func (j *importJob) intro() string {
	return "Lets workers import tasks, those of one group one after the other " +
		"and in order,\nbehind every lock. With -redis each worker is a process."
}

func (j *importJob) define(s *settings, flags *flag.FlagSet) {
	j.Form, j.groups = imports.Improved, []int{imports.DefaultGroups}
	flags.Func("form", "the `form`: source, as the source has it, or improved "+
		"(default improved)", func(text string) error {
		j.Form = imports.Form(text)
		return nil
	})
	flags.Func("groups", fmt.Sprintf("how many `groups` the tasks belong to "+
		"(default %d); several numbers,\nseparated by commas, make a row each",
		imports.DefaultGroups), list(&j.groups, strconv.Atoi))
	flags.IntVar(&j.Workers, "workers", imports.DefaultWorkers,
		"how many `workers` there are")
	flags.IntVar(&j.Tasks, "tasks", imports.DefaultTasks,
		"how many `tasks` there are")
	flags.IntVar(&j.Ungrouped, "ungrouped", imports.DefaultUngrouped,
		"how many of a `hundred` tasks have no group")
	flags.DurationVar(&j.Work, "work", imports.DefaultWork,
		"how long a task takes")
	flags.DurationVar(&s.runner.TTL, "ttl", imports.DefaultTTL,
		"the lease of the locks, and of the claims")
	flags.DurationVar(&j.Poll, "poll", imports.DefaultPoll, "the pause of a "+
		"worker after each round in the source's form (there 2s),\nand the "+
		"longest of a refused owner")
	flags.DurationVar(&s.runner.Timeout, "timeout", imports.DefaultTimeout,
		"ends a row that takes longer; it is reported all the same")
	flags.IntVar(&j.Kill, "kill", 0, "how many `workers` are killed with kill "+
		"-9, spread over the run; needs -redis")
	flags.IntVar(&j.Fail, "fail", 0, "how many `tasks` fail at their first start")
	flags.IntVar(&j.Overrun, "overrun", 0,
		"how many `tasks` take two leases at their first start")
	flags.Uint64Var(&j.Seed, "seed", 1, "decides who is killed")
}

func (j *importJob) check(s *settings) error {
	j.TTL, j.Timeout = s.runner.TTL, s.runner.Timeout
	if s.real() {
		j.Launch = imports.Launch
	}
	for _, groups := range j.groups {
		if groups < 1 {
			return fmt.Errorf("there are %d groups, at least 1 is needed", groups)
		}
	}
	if j.Kill > 0 && !s.real() {
		return errors.New("-kill needs workers that are processes, and those a " +
			"real server, see -redis")
	}
	return j.Check()
}

func (j *importJob) subjects(locks []benchmark.Subject) []benchmark.Subject {
	return locks
}

func (j *importJob) header(s *settings) string {
	workers := "goroutines"
	if j.Launch != nil {
		workers = "processes"
	}
	text := fmt.Sprintf("%d tasks of %v each, %d %% of them without a group; %d "+
		"workers, which are %s.\nThe form is %s; lease %v, at most %v a row; "+
		"pauses of %v.\n", j.Tasks, j.Work, j.Ungrouped, j.Workers, workers,
		j.Form, j.TTL, j.Timeout, j.Poll)
	if j.Kill+j.Fail+j.Overrun > 0 {
		text += fmt.Sprintf("%d workers are killed; %d tasks fail and %d take "+
			"two leases, at their first start.\n", j.Kill, j.Fail, j.Overrun)
	}
	return text
}

func (j *importJob) head() string   { return imports.Head() }
func (j *importJob) legend() string { return imports.Legend() }

func (j *importJob) measure(ctx context.Context, s *settings,
	subject benchmark.Subject, emit func(any, string)) error {
	j.Servers = s.runner.Servers
	for _, groups := range j.groups {
		row, err := j.Measure(ctx, subject, groups)
		if err != nil {
			return err
		}
		emit(row, row.Text())
		if err := cut(ctx, row.Finished); err != nil {
			return err
		}
	}
	return nil
}

func (j *importJob) progress() string {
	done, of := j.Progress()
	return fmt.Sprintf("%d of %d tasks", done, of)
}
