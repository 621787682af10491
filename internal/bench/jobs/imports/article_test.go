package imports_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/bench/jobs/imports"
)

// These tests show the article's form. Its flaws are documented: a test fails when one
// stops breaking.

func TestArticleDoesTheTasksOfAGroupInOrder(t *testing.T) {
	f, _ := runScenario(t, imports.Article, "diamond", func(s *scenario) {
		s.push(task(1, 1), task(2, 1), ungrouped(3), task(4, 2))
		s.run(0, s.worker("A", 1, lasting(second)))
		s.run(0, s.worker("B", 2, lasting(second)))
		s.until(60 * second)
	})
	assert.Equal(t, imports.Figures{Pushed: 4, Done: 4}, f)
}

func TestArticleACrashBetweenTheSlotAndTheQueueRunsATaskTwice(t *testing.T) {
	f, timeline := runScenario(t, imports.Article, "diamond", func(s *scenario) {
		s.push(task(1, 1), task(2, 1))
		s.crashesBefore(named("lrem"))
		s.until(60 * second)
	})
	assert.Equal(t, imports.Figures{Pushed: 2, Done: 2, DoneTwice: 1,
		StartedAgain: 1, AgainUnforced: 1, Deaths: 1}, f, timeline)
}

func TestArticleARestartedWorkerWaitsForItsOwnGroupForEver(t *testing.T) {
	f, timeline := runScenario(t, imports.Article, "bronze", func(s *scenario) {
		s.push(task(1, 1), task(2, 1))
		s.crashesAtWork(2 * second)
		s.until(600 * second)
	})
	assert.Equal(t, imports.Figures{Pushed: 2, Left: 2, Deaths: 1}, f, timeline)
}

// With a lease the wait ends, and then it is chance who comes first.
func TestArticleTheNextTaskOvertakesTheOneOfARestartedWorker(t *testing.T) {
	f, timeline := runScenario(t, imports.Article, "diamond", func(s *scenario) {
		s.push(task(1, 1), task(2, 1))
		s.crashesAtWork(2*second + second/2)
		b := s.worker("B", 2, lasting(second))
		b.worker.Poll = 100 * time.Millisecond // it asks more often
		s.run(0, b)
		s.until(60 * second)
	})
	assert.Equal(t, imports.Figures{Pushed: 2, Done: 2, OutOfOrder: 1,
		StartedAgain: 1, Deaths: 1}, f, timeline)
}

func TestArticleAnExceptionLeavesTheGroupLocked(t *testing.T) {
	// The thread has ended, the process lives, and renews.
	for _, rung := range []string{"bronze", "diamond/watchdog"} {
		t.Run(rung, func(t *testing.T) {
			f, timeline := runScenario(t, imports.Article, rung, func(s *scenario) {
				s.push(task(1, 1), task(2, 1))
				s.run(0, s.worker("A", 1, failing(second)))
				s.run(0, s.worker("B", 2, lasting(second)))
				s.until(600 * second)
			})
			assert.Equal(t, imports.Figures{Pushed: 2, Left: 2, Failed: 1}, f,
				timeline)
		})
	}
}

// The task of the slot fails, the worker goes on, and its own lock of the group
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

// B goes through the queue and passes task 2, because A works on task 1. A ends.
// B comes to task 3, whose group is free now.
func TestArticleAScanPassesATaskAndTakesTheNextOfItsGroup(t *testing.T) {
	f, timeline := runScenario(t, imports.Article, "reentrant", scanned)
	assert.Equal(t, imports.Figures{Pushed: 3, Done: 3, OutOfOrder: 1}, f,
		timeline)
}

func scanned(s *scenario) {
	s.push(task(1, 1), task(2, 1), task(3, 1))
	s.run(0, s.worker("A", 1, lasting(3*second)))
	b := s.worker("B", 2, lasting(second))
	b.slowBefore("lindex", 2, 2*second)
	s.run(2*second, b)
	s.until(9 * second)
}

func TestArticleWorkThatOutlivesTheLeaseIsOverlapped(t *testing.T) {
	f, timeline := runScenario(t, imports.Article, "gold", func(s *scenario) {
		s.push(task(1, 1), task(2, 1))
		s.overruns()
		s.until(120 * second)
	})
	assert.Positive(t, f.Overlapped, timeline)
	assert.Positive(t, f.OutOfOrder, timeline)
}
