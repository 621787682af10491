// Package flaws is what each rung of the ladder is known to break, and which rungs make
// the arc of safety. It imports no rung: package scenarios grades other locks by it.
package flaws

import (
	"slices"
	"strings"

	"github.com/lockladder/lockladder/lock"
)

// table is what is broken, in the order of the scenarios' catalogue, and by which
// rungs, in that of the syllabus.
var table = []struct{ flaw, rungs string }{
	{"crash_holding: orphaned", "bronze"},
	{"crash_after_first_command: orphaned", "bronze silver"},
	{"overrun_release: foreign release, two holders",
		"silver gold silver/timestamp gold/script"},
	{"slow_get: foreign release", "platinum"},
	{"slow_release: foreign release", "silver gold silver/timestamp gold/script"},
	{"overrun_overlap: two holders",
		"silver gold platinum diamond redlock silver/timestamp gold/script"},
	{"nested: self-deadlock",
		"bronze silver gold platinum diamond diamond/watchdog diamond/fenced " +
			"redlock silver/timestamp gold/script"},
	{"paused_holder: stale write",
		"silver gold platinum diamond diamond/watchdog redlock " +
			"reentrant/notify reentrant/fair reentrant/cohort reentrant " +
			"silver/timestamp gold/script"},
	{"failover: two holders",
		"bronze silver gold platinum diamond diamond/watchdog diamond/fenced " +
			"reentrant/notify reentrant/fair reentrant/cohort reentrant " +
			"reentrant/readwrite reentrant/fenced silver/timestamp gold/script"},
	{"failover: stale write", "diamond/fenced reentrant/readwrite reentrant/fenced"},
	{"node_restart: two holders",
		"bronze silver gold platinum diamond diamond/watchdog diamond/fenced " +
			"redlock reentrant/notify reentrant/fair reentrant/cohort reentrant " +
			"reentrant/readwrite reentrant/fenced silver/timestamp gold/script"},
	{"clock_jump: two holders",
		"silver gold platinum diamond diamond/watchdog diamond/fenced " +
			"redlock reentrant/notify reentrant/fair reentrant/cohort reentrant " +
			"reentrant/readwrite reentrant/fenced gold/script"},
	{"client_clock_skew: two holders, foreign release", "silver/timestamp"},
	{"lost_reply: self-deadlock",
		"bronze silver gold platinum diamond diamond/watchdog diamond/fenced " +
			"silver/timestamp gold/script"},
	{"lost_release_reply: foreign release",
		"bronze silver gold silver/timestamp gold/script"},
	{"unlock_not_held: foreign release, false success",
		"bronze silver gold silver/timestamp gold/script"},
	{"late_grant: two holders",
		"silver gold platinum diamond silver/timestamp gold/script"},
	{"cancelled_context: orphaned",
		"bronze silver gold platinum diamond redlock silver/timestamp " +
			"gold/script"},
	{"hung_worker: orphaned",
		"bronze diamond/watchdog diamond/fenced reentrant/notify " +
			"reentrant/fair reentrant/cohort reentrant reentrant/readwrite " +
			"reentrant/fenced"},
	{"lost_lease_told: not told",
		"bronze silver gold platinum diamond redlock silver/timestamp " +
			"gold/script"},
	{"oversell: lost update",
		"silver gold platinum diamond redlock silver/timestamp gold/script"},
	{"abandoned_acquire: orphaned", "bronze silver"},
	{"partitioned_holder: not told",
		"silver gold platinum diamond redlock silver/timestamp gold/script"},
	{"unlock_expired: false success", "silver/timestamp"},
	{"late_own_release: foreign release",
		"silver gold platinum silver/timestamp gold/script"},
	{"nothing_left: left behind", "bronze silver silver/timestamp"},
	{"failed_unlock: orphaned", "bronze"},
	{"compare_twice: foreign release",
		"silver gold platinum silver/timestamp gold/script"},
	{"tokens_rise: unavailable", "diamond/fenced reentrant/readwrite reentrant/fenced"},
	{"two_owners_one_process: two holders, foreign release",
		"bronze silver gold silver/timestamp gold/script"},
	{"refused_by_itself: self-deadlock", "bronze silver"},
	{"reader_failover: two holders", "reentrant/readwrite"},
}

// Of are the flaws of a rung, in the order of the scenarios' catalogue.
func Of(rung string) (all []lock.Flaw) {
	for _, row := range table {
		if slices.Contains(strings.Fields(row.rungs), rung) {
			all = append(all, lock.Flaws(row.flaw)...)
		}
	}
	return all
}

// Step is a rung of the arc of safety.
type Step struct {
	Rung  string
	Above int // the step that it's built on; -1: none

	// Shows is what a lock of this rung must hold in a situation that other locks don't
	// get into; "" where the steps before can. At the bottom: one that never grants.
	Shows string
}

// Safety is the arc of safety in its order. redlock branches off at diamond: it's a
// majority of nodes in place of renewal and tokens.
var Safety = []Step{
	{"bronze", -1, "mutual_exclusion: two holders"},
	{"silver", 0, ""},
	{"gold", 1, ""},
	{"platinum", 2, ""},
	{"diamond", 3, ""},
	{"diamond/watchdog", 4, "renewal_fails_once: two holders"},
	{"diamond/fenced", 5, "tokens_rise: wrong token"},
	{"redlock", 4, "nodes_down: unavailable"},
}

// Fixed are the flaws that a step has fixed for good: the one above it breaks them, and
// neither it does nor a step that's built on it.
func Fixed(step int) []lock.Flaw {
	if step == 0 {
		return nil
	}
	fixed := Of(Safety[Safety[step].Above].Rung)
	for later := step; later < len(Safety); later++ {
		if on(later, step) {
			again := Of(Safety[later].Rung)
			fixed = slices.DeleteFunc(fixed, func(f lock.Flaw) bool {
				return slices.Contains(again, f)
			})
		}
	}
	return fixed
}

// on says whether a step is another one or built on it.
func on(step, other int) bool {
	for step > other {
		step = Safety[step].Above
	}
	return step == other
}

// IsStep says whether a rung is in the arc of safety.
func IsStep(rung string) bool {
	return slices.ContainsFunc(Safety, func(s Step) bool { return s.Rung == rung })
}
