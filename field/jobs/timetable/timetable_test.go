package timetable_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/jobs/timetable"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
)

func TestMain(m *testing.M) { locktest.Main(m) }

const (
	second  = time.Second
	ms      = time.Millisecond
	minutes = 10 // that a timetable lasts
)

// world is a world of its own with a timetable, and which services did its jobs. One thing
// happens at a time.
type world struct {
	*lab.World
	rung   ladder.Rung
	began  [minutes][]string // who has begun the job of a minute
	done   [minutes][]string // whose done.lua has written
	end    context.Context   // ends the services
	stop   func()
	failed []error
	locked bool // at the end
}

func runTimetable(t *testing.T, rung string, script func(s *world)) (s *world) {
	t.Helper()
	s = &world{rung: locktest.Find(t, rung)}
	config := lab.Config{Nodes: s.rung.Nodes, Key: "report:lock", TTL: 10 * second}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s.World = w
		s.end, s.stop = context.WithCancel(w.Context())
		defer s.stop()
		w.Record()
		script(s)
		c := w.Client("~")
		c.Go(func() {
			c.Sleep(minutes*time.Minute - second)
			c.Step("ends the timetable", s.stop)
		})
		w.Play()
		require.Empty(t, w.Failures())
		s.locked = w.Node(0).Observe("report:lock").Exists
	}))
	return s
}

// job is what a service does in a minute.
type job func(ctx context.Context, c *lab.Client, minute int) error

// service runs a service from a moment on.
func (s *world) service(name string, from time.Duration, do job) {
	c := s.Client(name)
	// A job of every minute needs no lock that is asked for twenty times a second.
	env := c.Env("report:lock", lock.PollEvery(second/4))
	l, err := s.rung.Build(env)
	if err != nil {
		s.Fail("build: %w", err)
		return
	}
	env.Nodes[0].AddHook(s.written(name))
	service := &timetable.Service{RDB: env.Nodes[0], Key: "report:done",
		Every: time.Minute, Lock: l,
		Job: func(ctx context.Context, due time.Time) error {
			c.Step("begins", func() {
				c.Note("begins the job of minute %d", due.Minute())
				s.began[due.Minute()] = append(s.began[due.Minute()], name)
			})
			return do(ctx, c, due.Minute())
		},
		Failed: func(due time.Time, err error) {
			c.Step("fails", func() { s.failed = append(s.failed, err) })
		}}
	c.Go(func() {
		c.Sleep(from)
		if err := service.Run(s.end); !errors.Is(err, context.Canceled) {
			s.Fail("%s: %w", name, err)
		}
	})
}

// written sees which minute a service's done.lua has written.
func (s *world) written(name string) redis.Hook {
	return locktest.Around(func(cmd redis.Cmder, send func() error) error {
		err := send()
		args := cmd.Args()
		if reply, ok := cmd.(*redis.Cmd); ok && len(args) == 5 &&
			args[3] == "report:done" && reply.Val() == int64(1) {
			minute := time.UnixMilli(args[4].(int64)).Minute()
			s.done[minute] = append(s.done[minute], name)
		}
		return err
	})
}

// once asserts that every minute was written down once.
func (s *world) once(t *testing.T) {
	t.Helper()
	for minute := range minutes {
		assert.Len(t, s.done[minute], 1, "minute %d: done by %v, begun by %v\n%s",
			minute, s.done[minute], s.began[minute], s.Render(-1))
	}
}

// brief is a job of 100 ms: it is over when the others are still asking for the
// lock.
func brief(_ context.Context, c *lab.Client, _ int) error {
	c.Sleep(100 * ms)
	return nil
}

// dyingIn is a job whose service dies in a minute, if nobody else has before.
func (s *world) dyingIn(fatal int, after time.Duration) job {
	return func(ctx context.Context, c *lab.Client, minute int) error {
		if minute == fatal && len(s.began[minute]) == 1 {
			c.Sleep(after)
			c.Step("dies", c.Crash)
			runtime.Goexit()
		}
		return brief(ctx, c, minute)
	}
}

// The first service dies in its job, so the second one begins it late, and is not through
// when the next one is due.
func TestAJobIsNotCutOffWhenTheNextOneIsDue(t *testing.T) {
	s := runTimetable(t, "reentrant/fenced", func(s *world) {
		s.service("S0", 0, s.dyingIn(0, 20*second))
		s.service("S1", second, func(ctx context.Context, c *lab.Client, minute int) error {
			if minute > 0 {
				return brief(ctx, c, minute)
			}
			return lock.Sleep(ctx, 55*second)
		})
	})
	s.once(t)
	assert.Equal(t, []string{"S0", "S1"}, s.began[0])
	assert.Empty(t, s.failed)
}

// All die, and one that starts in the middle of a minute makes up for it.
func TestAServiceThatStartsInTheMiddleOfAMinuteDoesItsJob(t *testing.T) {
	s := runTimetable(t, "reentrant/fenced", func(s *world) {
		s.service("S0", 0, s.dyingIn(3, 100*ms))
		s.service("S1", 3*time.Minute+30*second, brief)
	})
	s.once(t)
	assert.Equal(t, []string{"S0", "S1"}, s.began[3])
}

// The lease of a stopped service ends, another one does the job, and the first one
// comes back: its job was for nothing, and is not written down.
func TestAStoppedServiceWritesNothingDown(t *testing.T) {
	s := runTimetable(t, "gold", func(s *world) {
		s.service("S0", 0, func(ctx context.Context, c *lab.Client, minute int) error {
			if minute == 2 {
				c.Sleep(20 * second)
			}
			return brief(ctx, c, minute)
		})
		s.service("S1", second/2, brief)
	})
	s.once(t)
	assert.Equal(t, []string{"S0", "S1"}, s.began[2])
	assert.Equal(t, []string{"S1"}, s.done[2])
}

func TestAJobThatFailsIsDoneByAnother(t *testing.T) {
	broken := errors.New("broken")
	s := runTimetable(t, "reentrant/notify", func(s *world) {
		s.service("S0", 0, func(context.Context, *lab.Client, int) error { return broken })
		s.service("S1", 0, brief)
	})
	s.once(t)
	require.NotEmpty(t, s.failed)
	assert.ErrorIs(t, s.failed[0], broken)
}

// Nobody has died, so nobody must do the job again, or wait for the lease.
func TestAJobThatIsDoneIsWrittenDownThoughItsServiceIsToEnd(t *testing.T) {
	for _, rung := range []string{"diamond", "reentrant/fenced", "redlock"} {
		t.Run(rung, func(t *testing.T) {
			s := runTimetable(t, rung, func(s *world) {
				s.service("S0", 0, func(context.Context, *lab.Client, int) error {
					s.stop()
					return nil
				})
			})
			assert.Equal(t, []string{"S0"}, s.done[0])
			assert.False(t, s.locked)
		})
	}
}

func TestTimetableOfThePageIsFresh(t *testing.T) {
	locktest.WhenNamed(t, "it plays the minutes of every rung for a table of the page:"+
		" cd field && go test ./jobs/timetable -run OfThePage")
	var rows [][]string
	for _, rung := range ladder.Rungs {
		alive := runTimetable(t, rung.Name, func(s *world) {
			for i := range 4 {
				s.service(fmt.Sprint("S", i), 0, brief)
			}
		})
		alive.once(t)
		dying := runTimetable(t, rung.Name, func(s *world) {
			for i := range 3 {
				s.service(fmt.Sprint("S", i), 0, s.dyingIn(2*i+1, 100*ms))
			}
			s.service("S3", 0, brief)
		})
		if rung.Name != "bronze" { // nobody gets the dead one's lock
			dying.once(t)
		}
		rows = append(rows, []string{rung.Name, alive.count(), dying.count()})
	}
	generated.Compare(t, "scheduled.md", "rungs",
		generated.Table(1, []string{"", "nobody dies", "three of four die at work"}, rows))
}

// count is in how many minutes the job was done, and how often it was begun.
func (s *world) count() string {
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
