package imports_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/field/jobs/imports"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// The article's other flaws are in the tables of the page. This one is too rare for them:
// the task of the slot fails, the worker goes on, and its own lock of the group
// makes it clear the slot.
func TestArticleAnExceptionInWhatWasLeftOverLosesTheTask(t *testing.T) {
	v, timeline := runScenario(t, imports.Worker.Article, "gold", tasks(2, 1),
		func(s *scenario) {
			s.worker("A", 1, 0, crashing)
			s.worker("A2", 1, 12*second, failing(9))
			s.until(20 * second)
		})
	assert.Equal(t, verdict{"stuck": 1, "lost": 1, "fail": 1}, v, timeline)
}

// Wherever a worker dies, the next one with its slot goes on.
func TestImprovedACrashBeforeAnyCommandCostsNothing(t *testing.T) {
	locktest.Long(t, "it runs a scenario for each command")
	// Of a worker's first task: SUBSCRIBE, the look, the lock, the
	// look again, the script that takes, the release, begin, finish.
	const commands = 15
	for nth := 1; nth <= commands; nth++ {
		for _, after := range []bool{false, true} {
			v, timeline := runScenario(t, imports.Worker.Improved, "reentrant/fenced",
				tasks(2, 1), func(s *scenario) {
					a := s.worker("A", 1, 0, lasting(second))
					a.Fault(lab.Renewal, nth, lab.Fault{CrashBefore: !after, CrashAfter: after})
					s.worker("A2", 1, 2*second, lasting(second))
					s.until(60 * second)
				})
			assert.Regexp(t, `A +dies`, timeline, "command %d, after: %v", nth, after)
			assert.Equal(t, verdict{"done": 2}, v, "command %d, after: %v\n%s",
				nth, after, timeline)
		}
	}
}

// improved are scenarios of the improved form, and what becomes of the tasks.
var improved = []struct {
	name   string
	rung   string
	tasks  []imports.Task
	script func(s *scenario)
	want   verdict
	shows  string // in the timeline
}{
	{"a restarted worker goes on at once", "diamond", tasks(2, 1), func(s *scenario) {
		s.crashesAtWork(2 * second)
		s.until(5 * second)
	}, verdict{"done": 2}, ""},

	{"another worker finishes an orphaned slot first", "diamond",
		[]imports.Task{task(1, 1), task(2, 1), {ID: 3, Entity: "order", Tenant: 1}},
		func(s *scenario) {
			s.worker("A", 1, 0, crashing)
			s.worker("B", 2, 2*second, lasting(second))
			s.until(30 * second)
		}, verdict{"done": 3}, ""},

	{"what was begun is put back when the worker is to end", "diamond", tasks(2, 1),
		func(s *scenario) {
			s.worker("A", 1, 0, waiting)
			s.until(5 * second)
		}, verdict{"stuck": 2, "fail": 1}, `giveback.lua[^>]*->\s+1`},

	// A process that is stopped does not know that its claim has run out. Nobody
	// can prevent the work that it goes on with, but the end of that work does not
	// count.
	{"a stopped worker is refused when it comes back", "reentrant/fenced", tasks(2, 1),
		func(s *scenario) {
			s.worker("A", 1, 0, lasting(second)).Hold(second/2, lease+second/2, nil)
			s.worker("B", 2, 2*second, lasting(second))
			s.until(60 * second)
		}, verdict{"done": 2, "overlapped": 1, "refused": 1}, ""},

	{"its work ends when somebody else has the group", "reentrant/fenced", tasks(2, 1),
		func(s *scenario) {
			s.worker("A", 1, 0, waiting).Hold(second/2, lease+second/2, nil)
			s.worker("B", 2, 2*second, lasting(9*second))
			s.until(60 * second)
		}, verdict{"done": 2, "overlapped": 1, "fail": 1}, ""},

	// A's choice is on its way while its lock runs out, and B takes the same task.
	{"a late choice has a token that is not the newest", "reentrant/fenced", tasks(2, 2),
		lateChoice(20 * second), verdict{"done": 2}, `->\s+stale`},
	{"a late choice without a token while B works", "gold", tasks(2, 2),
		lateChoice(20 * second), verdict{"done": 2}, `->\s+held`},
	{"a late choice without a token when B is done", "gold", tasks(2, 2),
		lateChoice(second), verdict{"done": 2}, `->\s+gone`},

	{"a slot that is given to two workers is not overwritten", "diamond", tasks(2, 2),
		func(s *scenario) {
			s.worker("B", 1, 0, lasting(second))
			s.at("C", second/2, func(env lock.Env) error {
				rdb := env.Nodes[0]
				rdb.HDel(s.Context(), prefix+"claims", "order:1")
				return rdb.HSet(s.Context(), prefix+"slots", "1", `{"id":9}`).Err()
			})
			s.until(60 * second)
		}, verdict{"stuck": 1, "lost": 1, "refused": 1},
		"slot 1 holds another[ -]+\\n +task"},
}

// waiting is work that ends with its context.
func waiting(ctx context.Context, _ *worker, _ imports.Task, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

// lateChoice has the script with which A takes a task arrive late. B works so long.
func lateChoice(works time.Duration) func(s *scenario) {
	return func(s *scenario) {
		a := s.worker("A", 1, 0, lasting(second))
		a.job.Env.Options = append(a.job.Env.Options, lock.FixedLease())
		const takes = 11 // of what A sends
		a.Fault(lab.Renewal, takes, lab.Fault{Deliver: 15 * second})
		s.worker("B", 2, second, lasting(works))
		s.until(90 * second)
	}
}

func TestImproved(t *testing.T) {
	for _, c := range improved {
		t.Run(c.name, func(t *testing.T) {
			v, timeline := runScenario(t, imports.Worker.Improved, c.rung, c.tasks, c.script)
			assert.Equal(t, c.want, v, timeline)
			assert.Regexp(t, c.shows, timeline)
		})
	}
}

func TestImprovedAWorkerWithNothingToDoSendsNothing(t *testing.T) {
	runScenario(t, imports.Worker.Improved, "diamond", nil, func(s *scenario) {
		a := s.worker("A", 1, 0, lasting(second))
		before := 0
		s.at("watch", time.Minute, func(lock.Env) error {
			before = a.Sent(lab.Renewal)
			return nil
		})
		s.at("watch again", time.Hour, func(lock.Env) error {
			assert.Equal(t, before, a.Sent(lab.Renewal))
			s.stop()
			return nil
		})
	})
}
