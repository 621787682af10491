package scenarios

import (
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/terminal"
)

// Catalogue has every scenario, and the tables have its order: the failures that the
// articles describe, then those found in reviews, then those of read-write locks.
var Catalogue []Scenario

// listed are the scenarios' names in that order. One that it lacks comes after the others,
// but before those of read-write locks.
var listed = strings.Fields(`
	mutual_exclusion crash_holding crash_after_first_command overrun_release slow_get
	slow_release overrun_overlap nested paused_holder failover node_restart clock_jump
	client_clock_skew lost_reply lost_release_reply unlock_not_held late_grant
	cancelled_context lost_wakeup hung_worker lost_lease_told renewal_after_unlock
	renewal_reacquires oversell abandoned_acquire partitioned_holder renewal_fails_once
	unlock_expired nodes_down script_cache_flushed late_own_release
	simultaneous_takeover nothing_left failed_unlock failed_inner_unlock compare_twice
	unlock_is_no_loss lease_length fixed_lease held_token born_together prompt_answers
	tokens_rise renewal_hangs crash_after_renewal prompt_wake impatient_waiter
	dead_waiter two_owners_one_process lost_lease_passed_on busy_neighbors far_process
	late_with_losers refused_by_itself clock_drift full_server second_grant error_replies
	other_name readers_together
	writer_excludes reader_crash reader_renewal_isolated writer_not_starved upgrade
	downgrade reader_overrun reader_failover
`)

// in adds a scenario of a failure family to the catalogue.
func in(family, name string, s Scenario, script func(*S)) bool {
	s.Family, s.Name, s.script = family, name, script
	Catalogue = append(Catalogue, s)
	return true
}

func init() {
	slices.SortStableFunc(Catalogue, func(a, b Scenario) int {
		return a.position() - b.position()
	})
}

// position is the scenario's in the catalogue, with gaps.
func (s Scenario) position() int {
	at := slices.Index(listed, s.Name)
	if at < 0 {
		at = len(listed)
	}
	if s.Family == Sharing {
		at += len(listed) + 1
	}
	return at
}

// The failure families, each in a file of its own.
const (
	Exclusion = "exclusion" // exclusion.go
	Crash     = "crash"     // crash.go
	Ownership = "ownership" // ownership.go: whose lock is released
	Overrun   = "overrun"   // overrun.go: work, or a grant, outlives the lease
	Reentrant = "re-entry"  // reentry.go: the owner asks again
	Server    = "server"    // server.go: what happens to the nodes
	Waking    = "waking"    // waking.go: how waiters learn of a release
	Loss      = "renewal"   // renewal.go: renewal, and being told of a loss
	Leasing   = "lease"     // lease.go: how long a lease lasts at the server
	Waiting   = "waiting"   // waiting.go: how long a call takes, and what it asks
	Fencing   = "fencing"   // fencing.go: the tokens of successive grants
	Process   = "processes" // process.go: owners in one, and far ones
	Sharing   = "sharing"   // readwrite.go and readers.go: readers and a writer
)

// Families are the failure families in the order in which they are shown.
var Families = []string{Exclusion, Crash, Ownership, Overrun, Reentrant, Server,
	Waking, Loss, Leasing, Waiting, Fencing, Process, Sharing}

// Find returns the scenario of that name. Its error says which names are near.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range Catalogue {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, terminal.Unknown("scenario", name, names)
}
