package exercise

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// Walk is what the explorer is to find in an exercise's lock, within bounds that
// take seconds.
type Walk struct {
	Bounds explore.Bounds

	// Holds are the invariants that the solution holds.
	Holds []explore.Invariant

	// Start are those of them that the lock to begin with breaks, and Leaves are
	// the others that the solution breaks.
	Start, Leaves []explore.Invariant

	// Stays says that the lock to begin with, and one made of it, stays in its
	// process from one run to the next. The explorer refuses that, because no two
	// runs begin alike, so only the solution is explored.
	Stays bool
}

// String names the bounds, without those that say only how long clients ask.
func (w Walk) String() string {
	b := w.Bounds
	b.Clients, b.Attempts = max(b.Clients, 2), 0
	return strings.TrimSuffix(b.String(), ", 0 attempts")
}

var (
	once  = []explore.Program{explore.Once}
	waits = []explore.Program{explore.Wait}
)

// afterTheLease is what a holder breaks that works on when its lease has ended.
var afterTheLease = []explore.Invariant{explore.ForeignRelease, explore.TwoHolders,
	explore.LostUpdate, explore.StaleWrite, explore.FalseSuccess}

// walks are those of the exercises, by number.
var walks = map[string]Walk{
	"01": {
		Bounds: explore.Bounds{Programs: once},
		Holds:  []explore.Invariant{explore.TwoHolders, explore.LostUpdate},
		Start:  []explore.Invariant{explore.TwoHolders, explore.LostUpdate},
	},
	"02": {
		Bounds: explore.Bounds{Programs: once, Crashes: 1},
		Holds:  []explore.Invariant{explore.TwoHolders, explore.LostUpdate},
		Leaves: []explore.Invariant{explore.Orphaned},
	},
	"03": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1, Crashes: 1,
			LeaseInValue: locktest.Deadline},
		Holds: []explore.Invariant{explore.Orphaned},
		Leaves: []explore.Invariant{explore.ForeignRelease, explore.TwoHolders,
			explore.LostUpdate, explore.SelfDeadlock, explore.StaleWrite,
			explore.FalseSuccess},
	},
	"04": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1, Crashes: 1},
		Holds:  []explore.Invariant{explore.Orphaned},
		Start:  []explore.Invariant{explore.Orphaned},
		Leaves: afterTheLease,
	},
	"05": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1, Crashes: 1},
		Holds:  []explore.Invariant{explore.Orphaned, explore.SelfDeadlock},
		Start:  []explore.Invariant{explore.SelfDeadlock},
		Leaves: afterTheLease,
	},
	"06": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.Orphaned, explore.SelfDeadlock},
		Leaves: afterTheLease,
	},
	"07": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.ForeignRelease},
		Start:  []explore.Invariant{explore.ForeignRelease},
		Leaves: []explore.Invariant{explore.TwoHolders, explore.LostUpdate,
			explore.StaleWrite, explore.FalseSuccess},
	},
	"08": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds: []explore.Invariant{explore.ForeignRelease,
			explore.ForeignRenewal, explore.TwoHolders, explore.FalseSuccess},
		Start:  []explore.Invariant{explore.TwoHolders},
		Leaves: []explore.Invariant{explore.LostUpdate, explore.StaleWrite},
	},
	"09": {
		Bounds: explore.Bounds{Programs: []explore.Program{explore.Once,
			explore.Nested}, LostReplies: 1},
		Holds: []explore.Invariant{explore.SelfDeadlock, explore.FalseSuccess},
		Start: []explore.Invariant{explore.SelfDeadlock},
	},
	"10": {
		Bounds: explore.Bounds{Programs: waits, LostMessages: 1},
		Holds:  []explore.Invariant{explore.LostWakeUp},
		Start:  []explore.Invariant{explore.LostWakeUp},
	},
	"11": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.LostUpdate, explore.StaleWrite},
		Start:  []explore.Invariant{explore.LostUpdate, explore.StaleWrite},
	},
	"12": {
		// Not Lock: to the explorer, a waiter that polls is one that nobody wakes.
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.ForeignRelease, explore.SelfDeadlock},
		Leaves: []explore.Invariant{explore.LostUpdate, explore.StaleWrite},
	},
	"13": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.ForeignRelease, explore.TwoHolders},
		Leaves: []explore.Invariant{explore.LostUpdate, explore.StaleWrite},
		Stays:  true,
	},
	"14": {
		Bounds: explore.Bounds{Programs: once, Nodes: 3, Expiries: 1, Attempts: 1},
		Holds:  []explore.Invariant{explore.TwoHolders, explore.FalseSuccess},
		Leaves: []explore.Invariant{explore.SelfDeadlock},
	},
	"15": {
		Bounds: explore.Bounds{Programs: []explore.Program{explore.Read},
			Expiries: 1, Readers: locktest.Readers},
		Holds:  []explore.Invariant{explore.Orphaned, explore.TwoHolders},
		Leaves: []explore.Invariant{explore.StaleWrite},
	},
}

// Explore runs the lock in every order of events that the exercise's bounds have room
// for. It returns which of the exercise's invariants the lock breaks, and which others.
func Explore(t *testing.T, number string, build lock.Build) (report explore.Report, breaks,
	leaves []explore.Invariant) {
	t.Helper()
	w := walks[number]
	report = explore.Run(t, build, w.Bounds)
	for _, invariant := range report.Judged() {
		if _, failed := report.Failure(invariant); !failed {
			continue
		}
		if slices.Contains(w.Holds, invariant) {
			breaks = append(breaks, invariant)
		} else {
			leaves = append(leaves, invariant)
		}
	}
	return report, breaks, leaves
}

// explored fails the test with a schedule for each of the exercise's invariants
// that the lock breaks.
func explored(t *testing.T, number string, build lock.Build) {
	report, breaks, _ := Explore(t, number, build)
	t.Log(report)
	if !report.Exhausted() {
		t.Error("the explorer has not seen every schedule: your lock has more" +
			" states than it looks at")
	}
	for _, invariant := range breaks {
		f, _ := report.Failure(invariant)
		t.Errorf("the explorer has found a schedule that breaks %q: %s\n\n%s",
			invariant, f.Schedule, explore.Replay(t, build,
				walks[number].Bounds, f.Schedule).Timeline)
	}
}
