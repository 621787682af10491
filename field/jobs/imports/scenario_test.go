package imports_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/jobs/imports"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
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
	rung   ladder.Rung
	form   imports.Form
	pushed []imports.Task
	end    context.Context // ends the workers
	stop   func()
}

// worker is a process.
type worker struct {
	*lab.Client
	job imports.Worker
}

// runScenario runs an import of these tasks, and returns what the judge says of it.
func runScenario(t *testing.T, form imports.Form, rung string, tasks []imports.Task,
	script func(s *scenario)) (v verdict, timeline string) {
	t.Helper()
	found := locktest.Find(t, rung)
	config := lab.Config{Nodes: found.Nodes, TTL: lease,
		Key: prefix + imports.GroupLock + "order:1"}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s := &scenario{World: w, rung: found, form: form, pushed: tasks}
		s.end, s.stop = context.WithCancel(w.Context())
		defer s.stop()
		s.at("producer", 0, s.push)
		w.Play()
		w.Record()
		script(s)
		w.Play()
		timeline = w.Render(-1)
		s.at("judge", 0, func(env lock.Env) (err error) {
			v, err = s.judged(env.Nodes[0])
			return err
		})
		w.Play()
		require.Empty(t, w.Failures())
	}))
	return v, timeline
}

// at has a client do something at a moment. Its lock would be the queue's.
func (s *scenario) at(name string, moment time.Duration, do func(env lock.Env) error) {
	c := s.Client(name)
	c.Go(func() {
		c.Sleep(moment)
		if err := do(c.Env(prefix + imports.QueueLock)); err != nil {
			s.Fail("%s: %w", name, err)
		}
	})
}

// push pushes the tasks, as the article has it.
func (s *scenario) push(env lock.Env) error {
	q := imports.Queue{RDB: env.Nodes[0], Prefix: prefix}
	l, err := s.rung.Build(env)
	if err != nil {
		return err
	}
	ctx := s.Context()
	return errors.Join(q.Load(ctx), l.Lock(ctx), q.Push(ctx, s.pushed...), l.Unlock(ctx))
}

// judged reads the log and what is left.
func (s *scenario) judged(rdb redis.UniversalClient) (verdict, error) {
	p := rdb.Pipeline()
	log := p.LRange(s.Context(), prefix+"log", 0, -1)
	queue := p.LRange(s.Context(), prefix+"queue", 0, -1)
	slots := p.HVals(s.Context(), prefix+"slots")
	_, err := p.Exec(s.Context())
	var left []imports.Task
	for _, text := range append(queue.Val(), slots.Val()...) {
		var t imports.Task
		if text != "" { // the article clears a slot so
			err = errors.Join(err, json.Unmarshal([]byte(text), &t))
		}
		left = append(left, t)
	}
	return judge(s.pushed, log.Val(), left), err
}

// work is what a worker does with a task that was started so often.
type work func(ctx context.Context, w *worker, t imports.Task, start int) error

// worker lets a process with a slot work from a moment on.
func (s *scenario) worker(name string, slot int, from time.Duration, do work) *worker {
	c := s.Client(name)
	env := c.Env("")
	w := &worker{Client: c}
	w.job = imports.Worker{
		Queue: imports.Queue{RDB: env.Nodes[0], Prefix: prefix},
		Slot:  slot,
		Name:  name,
		TTL:   lease,
		Poll:  imports.ArticlePoll,
		Build: s.rung.Build,
		Env:   env,
		Work: func(ctx context.Context, t imports.Task, start int) error {
			w.Note("works on task %d of %s", t.ID, t.Group())
			return do(ctx, w, t, start)
		},
	}
	w.Go(func() {
		w.Sleep(from)
		if err := s.form(w.job, s.end); err != nil {
			w.Step("ends", func() { w.Note("ends: %v", err) })
		}
	})
	return w
}

// until ends all workers at a moment.
func (s *scenario) until(moment time.Duration) {
	s.at("~", moment, func(lock.Env) error {
		s.stop()
		return nil
	})
}

func (w *worker) die() {
	w.Step("dies", w.Crash)
	runtime.Goexit()
}

// before does something before such a command is sent.
func (w *worker) before(command func(redis.Cmder) bool, do func()) {
	w.job.RDB.AddHook(locktest.Around(func(cmd redis.Cmder, send func() error) error {
		if command(cmd) {
			do()
		}
		return send()
	}))
}

// lasting is work that takes so long.
func lasting(d time.Duration) work {
	return func(_ context.Context, w *worker, _ imports.Task, _ int) error {
		w.Sleep(d)
		return nil
	}
}

// crashing is work during which the process dies.
func crashing(_ context.Context, w *worker, _ imports.Task, _ int) error {
	w.Sleep(second)
	w.die()
	return nil
}

var errImport = errors.New("the file is broken")

// failing is work that fails so often.
func failing(times int) work {
	return func(_ context.Context, w *worker, _ imports.Task, start int) error {
		w.Sleep(second)
		if start > times {
			return nil
		}
		return errImport
	}
}

// crashesAtWork lets a worker die while it works, and starts another one with its
// slot at a moment.
func (s *scenario) crashesAtWork(restart time.Duration) {
	s.worker("A", 1, 0, crashing)
	s.worker("A2", 1, restart, lasting(second))
}

// crashesBefore lets a worker die before it sends a command, and starts another
// one with its slot after its lease.
func (s *scenario) crashesBefore(command func(redis.Cmder) bool) {
	a := s.worker("A", 1, 0, lasting(second))
	a.before(command, a.die)
	s.worker("A2", 1, 12*second, lasting(second))
}

func task(id, tenant int) imports.Task {
	return imports.Task{ID: id, Entity: "order", Tenant: tenant}
}

// tasks are n tasks, spread over that many groups in turn.
func tasks(n, groups int) (all []imports.Task) {
	for i := range n {
		all = append(all, task(i+1, i%groups+1))
	}
	return all
}
