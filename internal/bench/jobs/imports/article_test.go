package imports_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/bench/jobs/imports"
)

// The article's other flaws are in the tables of the page. This one is too rare for them:
// the task of the slot fails, the worker goes on, and its own lock of the group
// makes it clear the slot.
func TestArticleAnExceptionInWhatWasLeftOverLosesTheTask(t *testing.T) {
	f, timeline := runScenario(t, imports.Article, "bronze", func(s *scenario) {
		s.push(task(1, 1), task(2, 1))
		a := s.worker("A", 1, crashing(second))
		s.run(0, a)
		s.supervise(2*second, a)
		// An operator helps where the locks have no lease.
		s.operator(2*second, func(rdb redis.UniversalClient) {
			rdb.Del(s.Context(), prefix+imports.QueueLock,
				prefix+imports.GroupLock+"order:1")
		})
		s.run(3*second, s.worker("A2", 1, alwaysFailing))
		s.until(600 * second)
	})
	assert.Equal(t, imports.Figures{Pushed: 2, Left: 1, Lost: 1, Failed: 1,
		StartedAgain: 1, Deaths: 1}, f, timeline)
}
