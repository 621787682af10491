package imports_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench/jobs/imports"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
)

const (
	second = time.Second
	prefix = "i:"
	lease  = 10 * second
)

func TestMain(m *testing.M) { locktest.Main(m) }

// scenario is an import in a world of its own, in virtual time.
type scenario struct {
	*lab.World
	t       *testing.T
	rung    ladder.Rung
	form    imports.Form
	poll    time.Duration
	workers map[string]*worker
	end     context.Context // ends the workers
	stop    func()
}

// worker is a process.
type worker struct {
	*lab.Client
	worker imports.Worker
	rdb    redis.UniversalClient
	err    error // what Run has returned
}

// runScenario runs an import and returns what the judge says of it.
func runScenario(t *testing.T, form imports.Form, rung string,
	script func(s *scenario)) (figures imports.Figures, timeline string) {
	t.Helper()
	found := locktest.Find(t, rung)
	config := lab.Config{Nodes: found.Nodes, TTL: lease,
		Key: prefix + imports.GroupLock + "order:1"}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s := &scenario{World: w, t: t, rung: found, form: form,
			poll: imports.ArticlePoll, workers: map[string]*worker{}}
		s.end, s.stop = context.WithCancel(w.Context())
		defer s.stop()
		script(s)
		w.Play()
		require.Empty(t, w.Failures())
		figures = s.judged()
		timeline = w.Render(-1)
	}))
	return figures, timeline
}

// worker makes a process that has a slot. Its work lasts as long as lasts says.
func (s *scenario) worker(name string, slot int,
	work func(w *worker, t imports.Task, start int) error) *worker {
	c := s.Client(name)
	env := c.Env("")
	w := &worker{Client: c, rdb: env.Nodes[0]}
	w.worker = imports.Worker{
		Queue: imports.Queue{RDB: w.rdb, Prefix: prefix},
		Form:  s.form,
		Slot:  slot,
		Name:  name,
		TTL:   lease,
		Poll:  s.poll,
		Build: s.rung.Build,
		Env:   env,
		Work: func(ctx context.Context, t imports.Task, start int) error {
			w.Note("works on task %d of %s", t.ID, t.Group())
			return work(w, t, start)
		},
	}
	s.workers[name] = w
	return w
}

// run lets a worker work from a moment on.
func (s *scenario) run(from time.Duration, w *worker) {
	w.Go(func() {
		if from > 0 {
			w.Sleep(from)
		}
		w.err = w.worker.Run(s.end)
		if w.err != nil {
			w.Step("ends", func() { w.Note("ends: %v", w.err) })
		}
	})
}

// push pushes tasks at the beginning.
func (s *scenario) push(tasks ...imports.Task) {
	c := s.Client("producer")
	env := c.Env(prefix + imports.QueueLock)
	l, err := s.rung.Build(env)
	require.NoError(s.t, err)
	p := imports.Producer{Lock: l,
		Queue: imports.Queue{RDB: env.Nodes[0], Prefix: prefix}}
	c.Go(func() {
		ctx := context.Background()
		if err := errors.Join(p.Load(ctx), p.Push(ctx, tasks...)); err != nil {
			s.Fail("push: %w", err)
		}
	})
	s.Play()
	s.Record()
}

// until ends all workers at a moment, and notes the deaths of those that have
// died by then.
func (s *scenario) until(moment time.Duration) {
	c := s.Client("~")
	c.Go(func() {
		c.Sleep(moment)
		c.Step("ends the run", s.stop)
	})
}

// judged reads the log and what is left.
func (s *scenario) judged() (figures imports.Figures) {
	c := s.Client("judge")
	q := imports.Queue{RDB: c.Env("").Nodes[0], Prefix: prefix}
	c.Go(func() {
		var err error
		if figures, err = q.Judge(context.Background()); err != nil {
			s.Fail("judge: %w", err)
		}
	})
	s.Play()
	require.Empty(s.t, s.Failures())
	return figures
}

// lasting is work that takes so long.
func lasting(d time.Duration) func(*worker, imports.Task, int) error {
	return func(w *worker, _ imports.Task, _ int) error {
		w.Sleep(d)
		return nil
	}
}

// crashing is work during which the process dies.
func crashing(after time.Duration) func(*worker, imports.Task, int) error {
	return func(w *worker, _ imports.Task, _ int) error {
		w.Sleep(after)
		w.Step("dies", w.Crash)
		runtime.Goexit()
		return nil
	}
}

var errImport = errors.New("the file is broken")

// failing is work that fails.
func failing(after time.Duration) func(*worker, imports.Task, int) error {
	return func(w *worker, _ imports.Task, start int) error {
		w.Sleep(after)
		if start > 1 {
			return nil
		}
		return errImport
	}
}

// alwaysFailing is work that never succeeds.
func alwaysFailing(*worker, imports.Task, int) error { return errImport }

func task(id, tenant int) imports.Task {
	return imports.Task{ID: id, Entity: "order", Tenant: tenant, Grouped: true}
}

// tasks are n tasks, spread over that many groups in turn.
func tasks(n, groups int) []imports.Task {
	all := make([]imports.Task, n)
	for i := range all {
		all[i] = task(i+1, i%groups+1)
	}
	return all
}

func ungrouped(id int) imports.Task {
	return imports.Task{ID: id, Entity: "order", Tenant: 1}
}

// supervise notes a death at a moment.
func (s *scenario) supervise(moment time.Duration, dead *worker) {
	c := s.Client("supervisor")
	q := imports.Queue{RDB: c.Env("").Nodes[0], Prefix: prefix}
	c.Go(func() {
		c.Sleep(moment)
		if err := q.Died(context.Background(), dead.Name); err != nil {
			s.Fail("supervise: %w", err)
		}
	})
}

// crashesBefore lets a worker die before it sends a command, and starts another
// one with its slot after its lease.
func (s *scenario) crashesBefore(command func(redis.Cmder) bool) {
	a := s.worker("A", 1, lasting(second))
	a.before(command, func() {
		a.Step("dies", a.Crash)
		runtime.Goexit()
	})
	s.run(0, a)
	s.supervise(12*second, a)
	s.run(12*second, s.worker("A2", 1, lasting(second)))
}

// named is a command of that name.
func named(name string) func(redis.Cmder) bool {
	return func(cmd redis.Cmder) bool { return cmd.Name() == name }
}

// before does something before such a command is sent.
func (w *worker) before(command func(redis.Cmder) bool, do func()) {
	w.rdb.AddHook(locktest.Around(func(cmd redis.Cmder, send func() error) error {
		if command(cmd) {
			do()
		}
		return send()
	}))
}

// crashesAtWork lets a worker die while it works, and starts another one with its
// slot at a moment.
func (s *scenario) crashesAtWork(restart time.Duration) {
	a := s.worker("A", 1, crashing(second))
	s.run(0, a)
	s.supervise(restart, a)
	s.run(restart, s.worker("A2", 1, lasting(second)))
}

// waiting is work that ends with its context.
func waiting(ctx context.Context, _ imports.Task, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

// operator does something to the server at a moment.
func (s *scenario) operator(moment time.Duration,
	do func(rdb redis.UniversalClient)) {
	c := s.Client("operator")
	rdb := c.Env("").Nodes[0]
	c.Go(func() {
		c.Sleep(moment)
		do(rdb)
	})
}
