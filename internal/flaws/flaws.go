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
		"silver silver/timestamp gold gold/script"},
	{"slow_get: foreign release", "platinum"},
	{"slow_release: foreign release", "silver silver/timestamp gold gold/script"},
	{"overrun_overlap: two holders",
		"silver silver/timestamp gold gold/script platinum diamond redlock"},
	{"nested: self-deadlock",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog redlock"},
	{"paused_holder: stale write",
		"silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog reentrant reentrant/notify reentrant/fair " +
			"reentrant/cohort redlock"},
	{"failover: two holders",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog reentrant reentrant/notify reentrant/fenced " +
			"reentrant/fair reentrant/cohort reentrant/readwrite"},
	{"failover: stale write", "reentrant/fenced reentrant/readwrite"},
	{"node_restart: two holders",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog reentrant reentrant/notify reentrant/fenced " +
			"reentrant/fair reentrant/cohort redlock reentrant/readwrite"},
	{"clock_jump: two holders",
		"silver gold gold/script platinum diamond diamond/watchdog reentrant " +
			"reentrant/notify reentrant/fenced reentrant/fair reentrant/cohort " +
			"redlock reentrant/readwrite"},
	{"client_clock_skew: two holders, foreign release", "silver/timestamp"},
	{"lost_reply: self-deadlock",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog"},
	{"lost_release_reply: foreign release",
		"bronze silver silver/timestamp gold gold/script"},
	{"unlock_not_held: foreign release, false success",
		"bronze silver silver/timestamp gold gold/script"},
	{"late_grant: two holders",
		"silver silver/timestamp gold gold/script platinum diamond"},
	{"cancelled_context: orphaned",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"redlock"},
	{"hung_worker: orphaned",
		"bronze diamond/watchdog reentrant reentrant/notify reentrant/fenced " +
			"reentrant/fair reentrant/cohort reentrant/readwrite"},
	{"lost_lease_told: not told",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"redlock"},
	{"oversell: lost update",
		"silver silver/timestamp gold gold/script platinum diamond redlock"},
	{"abandoned_acquire: orphaned", "bronze silver"},
	{"partitioned_holder: not told",
		"silver silver/timestamp gold gold/script platinum diamond redlock"},
	{"unlock_expired: false success", "silver/timestamp"},
	{"late_own_release: foreign release",
		"silver silver/timestamp gold gold/script platinum"},
	{"nothing_left: left behind", "bronze silver silver/timestamp"},
	{"failed_unlock: orphaned", "bronze"},
	{"compare_twice: foreign release",
		"silver silver/timestamp gold gold/script platinum"},
	{"tokens_rise: unavailable", "reentrant/fenced reentrant/readwrite"},
	{"two_owners_one_process: two holders, foreign release",
		"bronze silver silver/timestamp gold gold/script"},
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
	// get into; "" where the steps before can.
	Shows string
}

// Safety is the arc of safety in its order. redlock branches off at diamond: it's a
// majority of nodes in place of renewal and tokens.
var Safety = []Step{
	{"bronze", -1, ""},
	{"silver", 0, ""},
	{"gold", 1, ""},
	{"platinum", 2, ""},
	{"diamond", 3, ""},
	{"diamond/watchdog", 4, "renewal_fails_once: two holders"},
	{"reentrant/fenced", 5, "tokens_rise: wrong token"},
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
