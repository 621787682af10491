package imports_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/jobs/imports"
)

func TestImprovedACrashBeforeTheMoveCostsNothing(t *testing.T) {
	for _, command := range []string{"evalsha", "hmget"} {
		f, timeline := tell(t, imports.Improved, "gold", func(s *story) {
			s.push(task(1, 1), task(2, 1))
			a := s.worker("A", 1, lasting(second))
			a.diesBefore(command)
			s.run(0, a)
			s.run(12*second, s.worker("A2", 1, lasting(second)))
			s.until(60 * second)
		})
		show(t, timeline, f)
		assert.Equal(t, imports.Figures{Pushed: 2, Done: 2}, f)
	}
}

func TestImprovedARestartedWorkerGoesOnAtOnce(t *testing.T) {
	f, timeline := tell(t, imports.Improved, "reentrant/fenced", func(s *story) {
		s.push(task(1, 1), task(2, 1))
		a := s.worker("A", 1, crashing(second))
		s.run(0, a)
		s.supervise(2*second, a)
		s.run(2*second, s.worker("A2", 1, lasting(second)))
		s.until(30 * second)
	})
	show(t, timeline, f)
	assert.Equal(t, imports.Figures{Pushed: 2, Done: 2, StartedAgain: 1,
		Deaths: 1}, f)
}

func TestImprovedAnotherWorkerFinishesAnOrphanedSlotFirst(t *testing.T) {
	f, timeline := tell(t, imports.Improved, "reentrant/fenced", func(s *story) {
		s.push(task(1, 1), task(2, 1), ungrouped(3))
		a := s.worker("A", 1, crashing(second))
		s.run(0, a)
		s.supervise(2*second, a)
		s.run(2*second, s.worker("B", 2, lasting(second)))
		s.until(30 * second)
	})
	show(t, timeline, f)
	assert.Equal(t, imports.Figures{Pushed: 3, Done: 3, StartedAgain: 1,
		Deaths: 1}, f)
}

func TestImprovedAFailedTaskIsTheNextOfItsGroup(t *testing.T) {
	f, timeline := tell(t, imports.Improved, "bronze", func(s *story) {
		s.push(task(1, 1), task(2, 1))
		s.run(0, s.worker("A", 1, failing(second)))
		s.until(60 * second)
	})
	show(t, timeline, f)
	assert.Equal(t, imports.Figures{Pushed: 2, Done: 2, StartedAgain: 1,
		Failed: 2}, f)
}
