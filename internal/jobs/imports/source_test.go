package imports_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/jobs/imports"
)

func TestACrashBetweenTheSlotAndTheQueueRunsATaskTwice(t *testing.T) {
	f, timeline := tell(t, imports.Source, "gold", func(s *story) {
		s.push(task(1, 1), task(2, 1))
		a := s.worker("A", 1, lasting(second))
		a.diesBefore("lrem")
		s.run(0, a)
		s.run(12*second, s.worker("A2", 1, lasting(second)))
		s.until(60 * second)
	})
	show(t, timeline, f)
	assert.Equal(t, 2, f.Done)
	assert.Equal(t, 1, f.DoneTwice)
}

func TestARestartedWorkerWaitsForItsOwnGroupForEver(t *testing.T) {
	f, timeline := tell(t, imports.Source, "bronze", func(s *story) {
		s.push(task(1, 1), task(2, 1))
		s.run(0, s.worker("A", 1, crashing(second)))
		s.run(2*second, s.worker("A2", 1, lasting(second)))
		s.until(3600 * second)
	})
	show(t, timeline, f)
	assert.Equal(t, 0, f.Done)
}

func TestAnExceptionLeavesTheGroupLocked(t *testing.T) {
	f, timeline := tell(t, imports.Source, "bronze", func(s *story) {
		s.push(task(1, 1), task(2, 1))
		s.run(0, s.worker("A", 1, failing(second)))
		s.run(2*second, s.worker("B", 2, lasting(second)))
		s.until(3600 * second)
	})
	show(t, timeline, f)
	assert.Equal(t, 0, f.Done)
}
