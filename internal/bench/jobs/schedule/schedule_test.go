package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench/jobs/schedule"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
)

const (
	second  = time.Second
	lease   = 10 * second
	minutes = 10 // that a scenario lasts
)

// scenario is a timetable in a world of its own, and which services did its jobs.
type scenario struct {
	*lab.World
	rung   ladder.Rung
	mu     sync.Mutex       // guards what follows; never held while time passes
	began  map[int][]string // minute: who has begun its job
	done   map[int][]string // minute: whose done.lua has written
	end    context.Context
	failed []error
}

func TestMain(m *testing.M) { locktest.Main(m) }

func runScenario(t *testing.T, name string, script func(s *scenario)) (s *scenario) {
	t.Helper()
	rung := locktest.Find(t, name)
	config := lab.Config{Nodes: rung.Nodes, Key: "report:lock", TTL: lease}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s = &scenario{World: w, rung: rung, began: map[int][]string{},
			done: map[int][]string{}}
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		s.end = ctx
		w.Record()
		script(s)
		c := w.Client("~")
		c.Go(func() {
			c.Sleep(minutes*time.Minute - second)
			c.Step("ends the scenario", stop)
		})
		w.Play()
		require.Empty(t, w.Failures())
	}))
	return s
}

// service runs a service from a moment on.
func (s *scenario) service(name string, from time.Duration,
	job func(c *lab.Client, minute int) error) *lab.Client {
	return s.obedient(name, from, func(_ context.Context, c *lab.Client,
		minute int) error {
		return job(c, minute)
	})
}

// obedient is a service whose job ends with its context.
func (s *scenario) obedient(name string, from time.Duration,
	job func(ctx context.Context, c *lab.Client, minute int) error) *lab.Client {
	c := s.Client(name)
	// A job of every minute needs no lock that is asked for twenty times a second.
	env := c.Env("report:lock", lock.PollEvery(second/4))
	l, err := s.rung.Build(env)
	if err != nil {
		s.Fail("build: %w", err)
		return c
	}
	minute := func(due time.Time) int { return due.Minute() }
	env.Nodes[0].AddHook(s.written(name))
	service := &schedule.Service{RDB: env.Nodes[0], Key: "report:done",
		Every: time.Minute, Lock: l,
		Job: func(ctx context.Context, due time.Time) error {
			c.Step("begins", func() {
				c.Note("begins the job of minute %d", minute(due))
				s.add(s.began, minute(due), name)
			})
			return job(ctx, c, minute(due))
		},
		Failed: func(due time.Time, err error) {
			c.Step("fails", func() { s.failed = append(s.failed, err) })
		}}
	c.Go(func() {
		if from > 0 {
			c.Sleep(from)
		}
		if err := service.Run(s.end); !errors.Is(err, context.Canceled) {
			s.Fail("%s: %w", name, err)
		}
	})
	return c
}

// add notes that a service has begun, or done, the job of a minute.
func (s *scenario) add(to map[int][]string, minute int, who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to[minute] = append(to[minute], who)
}

// written sees which minute a service's done.lua has written.
func (s *scenario) written(name string) redis.Hook {
	return locktest.Around(func(cmd redis.Cmder, send func() error) error {
		err := send()
		args := cmd.Args()
		if reply, ok := cmd.(*redis.Cmd); ok && err == nil && len(args) == 5 &&
			args[3] == "report:done" && reply.Val() == int64(1) {
			s.add(s.done, time.UnixMilli(args[4].(int64)).Minute(), name)
		}
		return err
	})
}

// brief is a job of 100 ms: it is over when the others are still asking for the
// lock.
func brief(c *lab.Client, _ int) error {
	c.Sleep(100 * time.Millisecond)
	return nil
}

// once asserts that every minute was written down once.
func (s *scenario) once(t *testing.T) {
	t.Helper()
	for minute := range minutes {
		assert.Len(t, s.done[minute], 1, "minute %d: done by %v, begun by %v\n%s",
			minute, s.done[minute], s.began[minute], s.Render(-1))
	}
}

// dyingAtWork is a job whose service dies in the first minute from one on that it
// is its turn, if nobody has died in that minute yet.
func dyingAtWork(s *scenario, from int) func(*lab.Client, int) error {
	return func(c *lab.Client, minute int) error {
		c.Sleep(100 * time.Millisecond)
		s.mu.Lock()
		first := len(s.began[minute]) == 1
		s.mu.Unlock()
		if minute == from && first {
			c.Step("dies", c.Crash)
			runtime.Goexit()
		}
		return nil
	}
}

// The first service dies in its job, so the second one begins it late, and is not through
// when the next one is due.
func TestAJobIsNotCutOffWhenTheNextOneIsDue(t *testing.T) {
	const long = 55 * second
	s := runScenario(t, "reentrant/fenced", func(s *scenario) {
		s.service("S0", 0, func(c *lab.Client, minute int) error {
			c.Sleep(20 * second)
			c.Step("dies", c.Crash)
			runtime.Goexit()
			return nil
		})
		s.obedient("S1", second, func(ctx context.Context, c *lab.Client,
			minute int) error {
			if minute > 0 {
				return brief(c, minute)
			}
			return lock.Sleep(ctx, long)
		})
	})
	s.once(t)
	assert.Equal(t, []string{"S0", "S1"}, s.began[0])
	assert.Empty(t, s.failed)
}

// All die, and one that starts in the middle of a minute makes up for it.
func TestAServiceThatStartsInTheMiddleOfAMinuteDoesItsJob(t *testing.T) {
	s := runScenario(t, "reentrant/fenced", func(s *scenario) {
		s.service("S0", 0, dyingAtWork(s, 3))
		s.service("S1", 3*time.Minute+30*second, brief)
	})
	s.once(t)
	assert.Equal(t, []string{"S0", "S1"}, s.began[3])
}

// The lease of a stopped service ends, another one does the job, and the first one
// comes back: its job was for nothing, and is not written down.
func TestAStoppedServiceWritesNothingDown(t *testing.T) {
	s := runScenario(t, "gold", func(s *scenario) {
		s.service("S0", 0, func(c *lab.Client, minute int) error {
			if minute == 2 {
				c.Sleep(20 * second)
			}
			return brief(c, minute)
		})
		s.service("S1", second/2, brief)
	})
	s.once(t)
	assert.Equal(t, []string{"S0", "S1"}, s.began[2])
	assert.Equal(t, []string{"S1"}, s.done[2])
}

func TestAJobThatFailsIsDoneByAnother(t *testing.T) {
	broken := errors.New("broken")
	s := runScenario(t, "reentrant/notify", func(s *scenario) {
		s.service("S0", 0, func(*lab.Client, int) error { return broken })
		s.service("S1", 0, brief)
	})
	s.once(t)
	require.NotEmpty(t, s.failed)
	assert.ErrorIs(t, s.failed[0], broken)
}

// Nobody has died, so nobody must do the job again, or wait for the lease.
func TestAJobThatIsDoneIsWrittenDownThoughItsServiceIsToEnd(t *testing.T) {
	for _, name := range []string{"diamond", "reentrant/fenced", "redlock"} {
		t.Run(name, func(t *testing.T) {
			rung := locktest.Find(t, name)
			config := lab.Config{Nodes: rung.Nodes, Key: "report:lock", TTL: lease}
			require.NoError(t, lab.Run(t, config, func(w *lab.World) {
				c := w.Client("A")
				env := c.Env("report:lock")
				l, err := rung.Build(env)
				require.NoError(t, err)
				ctx, told := context.WithCancel(w.Context())
				defer told()
				service := &schedule.Service{RDB: env.Nodes[0], Key: "report:done",
					Every: time.Minute, Lock: l,
					Job: func(context.Context, time.Time) error {
						told()
						return nil
					}}
				c.Go(func() {
					did, err := service.Once(ctx, time.UnixMilli(60000))
					assert.NoError(t, err)
					assert.True(t, did)
				})
				w.Play()
				assert.Equal(t, "60000", w.Node(0).Observe("report:done").Value)
				assert.False(t, w.Node(0).Observe("report:lock").Exists)
			}))
		})
	}
}

func TestTheTableOfThePageIsFresh(t *testing.T) {
	locktest.WhenNamed(t, "it plays the minutes of every rung for a table of the page:"+
		" go test ./internal/bench/jobs/schedule -run OfThePage")
	var rows [][]string
	for _, rung := range ladder.Rungs {
		alive := runScenario(t, rung.Name, func(s *scenario) {
			for i := range 4 {
				s.service(fmt.Sprint("S", i), 0, brief)
			}
		})
		alive.once(t)
		dying := runScenario(t, rung.Name, func(s *scenario) {
			for i := range 3 {
				s.service(fmt.Sprint("S", i), 0, dyingAtWork(s, 2*i+1))
			}
			s.service("S3", 0, brief)
		})
		if rung.Name != "bronze" { // nobody gets the dead one's lock
			dying.once(t)
		}
		rows = append(rows, []string{rung.Name, alive.count(), dying.count()})
	}
	generated.Compare(t, "scheduled.md", "rungs",
		generated.Table(1, []string{"", "nobody dies", "three of four die at work"},
			rows))
}

// count is in how many minutes the job was done, and how often it was begun.
func (s *scenario) count() string {
	done, begun := 0, 0
	for minute := range minutes {
		done += len(s.done[minute])
		begun += len(s.began[minute])
	}
	text := fmt.Sprintf("%d of %d", done, minutes)
	if done < minutes {
		text = "**" + text + "**"
	}
	if begun > done {
		text += fmt.Sprintf(", begun %d times", begun)
	}
	return text
}
