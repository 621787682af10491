package choosing

import (
	"fmt"
	"slices"
	"strings"
)

// Job is something that a lock is for, and what the lock must hold for it.
type Job struct {
	Name  string
	Needs []string // scenarios, or scenario: invariant
	Arise []string // scenario: invariant that must also arise, and then hold
}

// once is what every job needs: no client locks the others out forever, and none
// releases another client's lock.
var once = []string{"mutual_exclusion", "crash_holding",
	"crash_after_first_command", "abandoned_acquire", "lost_reply: orphaned",
	"overrun_release", "slow_get", "slow_release", "late_own_release",
	"lost_release_reply", "unlock_not_held", "simultaneous_takeover"}

// outlasts is what work needs that may take longer than a lease.
var outlasts = append(slices.Clone(once), "overrun_overlap", "oversell",
	"late_grant")

// Token arises only where a grant has a fencing token.
const Token = "lost_reply: wrong token"

// Jobs are all of them, in the order of the page.
var Jobs = []Job{
	{Name: "A second run is only a waste: a cache is refilled, a report is made",
		Needs: once},
	{Name: "A second run is only a waste, and a worker that hangs must not" +
		" stop the rest", Needs: append(slices.Clone(once), "hung_worker")},
	{Name: "The work may take longer than the lease", Needs: outlasts},
	{Name: "It may take longer, and a function that holds the lock calls one" +
		" that takes it",
		Needs: append(slices.Clone(outlasts), "nested: self-deadlock",
			"nested: foreign release", "lost_reply: self-deadlock")},
	{Name: "It may take longer, and a holder that is cut off must learn of it" +
		" in time",
		Needs: append(slices.Clone(outlasts), "partitioned_holder")},
	{Name: "A process may be paused, and nothing stale may be written; the" +
		" storage can check a number",
		Needs: append(slices.Clone(once), "paused_holder"),
		Arise: []string{Token}},
	{Name: "A server may be replaced by a copy that lags",
		Needs: append(slices.Clone(once), "failover: two holders")},
	{Name: "A server may restart",
		Needs: append(slices.Clone(once), "node_restart")},
}

// Needs is what each job needs, in the scenarios' words.
func Needs() string {
	var b strings.Builder
	for i, job := range Jobs {
		needs, all := job.Needs, ""
		for j, earlier := range Jobs[:i] {
			if rest, found := after(job.Needs, earlier.Needs); found {
				needs, all = rest, fmt.Sprintf("as in %d, and ", j+1)
			}
		}
		fmt.Fprintf(&b, "%d. %s: %s`%s`", i+1, job.Name, all,
			strings.Join(needs, "`, `"))
		for _, must := range job.Arise {
			fmt.Fprintf(&b, ", and `%s`, which arises only where a grant has"+
				" a token: here it must", must)
		}
		fmt.Fprintln(&b, ".")
	}
	return b.String()
}

// after is what follows a beginning.
func after(all, beginning []string) (rest []string, found bool) {
	if len(all) <= len(beginning) ||
		!slices.Equal(all[:len(beginning)], beginning) {
		return nil, false
	}
	return all[len(beginning):], true
}
