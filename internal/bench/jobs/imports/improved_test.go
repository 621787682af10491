package imports_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/bench/jobs/imports"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// Wherever a worker dies, the next one with its slot goes on.
func TestImprovedACrashBeforeAnyCommandCostsNothing(t *testing.T) {
	locktest.Long(t, "it runs a scenario for each command")
	// Of a worker's first task: SUBSCRIBE, the slot, the look, the lock, the
	// look again, the script that takes, the release, begin, finish.
	const commands = 17
	for nth := 1; nth <= commands; nth++ {
		for _, after := range []bool{false, true} {
			f, timeline := runScenario(t, imports.Improved, "reentrant/fenced",
				func(s *scenario) {
					s.push(task(1, 1), task(2, 1))
					a := s.worker("A", 1, lasting(second))
					a.Fault(lab.Renewal, nth, lab.Fault{CrashBefore: !after,
						CrashAfter: after})
					s.run(0, a)
					s.supervise(2*second, a)
					s.run(2*second, s.worker("A2", 1, lasting(second)))
					s.until(60 * second)
				})
			assert.Equal(t, imports.Figures{Pushed: 2, Done: 2, Deaths: 1,
				StartedAgain: f.StartedAgain}, f, "command %d, after: %v\n%s",
				nth, after, timeline)
			assert.LessOrEqual(t, f.StartedAgain, 1)
		}
	}
}

func TestImprovedARestartedWorkerGoesOnAtOnce(t *testing.T) {
	f, timeline := runScenario(t, imports.Improved, "diamond", func(s *scenario) {
		s.push(task(1, 1), task(2, 1))
		s.crashesAtWork(2 * second)
		s.until(5 * second)
	})
	assert.Equal(t, imports.Figures{Pushed: 2, Done: 2, StartedAgain: 1,
		Deaths: 1}, f, timeline)
}

func TestImprovedAnotherWorkerFinishesAnOrphanedSlotFirst(t *testing.T) {
	f, timeline := runScenario(t, imports.Improved, "diamond", func(s *scenario) {
		s.push(task(1, 1), task(2, 1), ungrouped(3))
		a := s.worker("A", 1, crashing(second))
		s.run(0, a)
		s.supervise(2*second, a)
		s.run(2*second, s.worker("B", 2, lasting(second)))
		s.until(30 * second)
	})
	assert.Equal(t, imports.Figures{Pushed: 3, Done: 3, StartedAgain: 1,
		Deaths: 1}, f, timeline)
}

func TestImprovedWhatWasBegunIsPutBackWhenTheWorkerIsToEnd(t *testing.T) {
	f, timeline := runScenario(t, imports.Improved, "diamond", func(s *scenario) {
		s.push(task(1, 1), task(2, 1))
		a := s.worker("A", 1, lasting(second))
		a.worker.Work = waiting
		s.run(0, a)
		s.until(5 * second)
	})
	assert.Equal(t, imports.Figures{Pushed: 2, Left: 2, Failed: 1}, f, timeline)
	assert.NotContains(t, timeline, "ends:")
}

// A process that is stopped does not know that its claim has run out. Nobody
// can prevent the work that it goes on with, but the end of that work does not
// count.
func TestImprovedAStoppedWorkerIsRefusedWhenItComesBack(t *testing.T) {
	f, timeline := runScenario(t, imports.Improved, "reentrant/fenced",
		func(s *scenario) {
			s.push(task(1, 1), task(2, 1))
			a := s.worker("A", 1, lasting(second))
			a.Hold(second/2, lease+second/2, nil)
			s.run(0, a)
			s.run(2*second, s.worker("B", 2, lasting(second)))
			s.until(60 * second)
		})
	assert.Equal(t, imports.Figures{Pushed: 2, Done: 2, Overlapped: 1,
		StartedAgain: 1, Refused: 1}, f, timeline)
}

// A's choice is on its way while its lock runs out, and B takes the same task.
func TestImprovedALateChoiceIsRefused(t *testing.T) {
	for _, c := range []struct {
		rung   string
		works  time.Duration // B
		answer string
	}{
		{"reentrant/fenced", 20 * second, "stale"}, // its token is not the newest
		{"gold", 20 * second, "held"},              // without tokens: B works
		{"gold", second, "gone"},                   // or is done by then
	} {
		t.Run(c.rung+" "+c.answer, func(t *testing.T) {
			f, timeline := runScenario(t, imports.Improved, c.rung, func(s *scenario) {
				s.push(task(1, 1), task(2, 2))
				a := s.worker("A", 1, lasting(second))
				a.worker.Env.Options = append(a.worker.Env.Options,
					lock.FixedLease())
				const takes = 14 // of what A sends
				a.Fault(lab.Renewal, takes, lab.Fault{Deliver: 15 * second})
				s.run(0, a)
				s.run(second, s.worker("B", 2, lasting(c.works)))
				s.until(90 * second)
			})
			assert.Equal(t, imports.Figures{Pushed: 2, Done: 2}, f, timeline)
			assert.Regexp(t, `->\s+`+c.answer, timeline)
		})
	}
}

func TestImprovedAWorkerWithNothingToDoSendsNothing(t *testing.T) {
	_, timeline := runScenario(t, imports.Improved, "diamond", func(s *scenario) {
		s.push()
		a := s.worker("A", 1, lasting(second))
		s.run(0, a)
		s.until(3600 * second)
		c := s.Client("watch")
		c.Go(func() {
			c.Sleep(time.Minute)
			before := 0
			c.Step("counts", func() { before = a.Sent(lab.Renewal) })
			c.Sleep(time.Hour / 2)
			c.Step("counts", func() {
				assert.Equal(t, before, a.Sent(lab.Renewal))
			})
		})
	})
	assert.NotEmpty(t, timeline)
}

// Two workers were given one slot by mistake.
func TestImprovedASlotThatIsTakenIsNotOverwritten(t *testing.T) {
	f, timeline := runScenario(t, imports.Improved, "diamond", func(s *scenario) {
		s.push(task(1, 1), task(2, 2))
		c := s.Client("B")
		b := s.worker("B", 1, lasting(second))
		s.run(0, b)
		c.Go(func() {
			c.Sleep(500 * time.Millisecond)
			rdb := c.Env("").Nodes[0]
			rdb.HSet(s.Context(), prefix+"slots", "1", `{"id":9}`)
			rdb.HDel(s.Context(), prefix+"claims", "order:1")
		})
		s.until(60 * second)
	})
	assert.Regexp(t, "slot 1 holds another[ -]+\\n +task", timeline)
	assert.Contains(t, timeline, `HVALS i:slots -> {"id":9}`)
	assert.Equal(t, 1, f.Refused, timeline)
}
