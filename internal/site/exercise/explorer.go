package exercise

import (
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

	// Start are those of them that the lock to begin with breaks.
	Start []explore.Invariant

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

// walks are those of the exercises, by name.
var walks = map[string]Walk{
	"bronze": {
		Bounds: explore.Bounds{Programs: once},
		Holds:  []explore.Invariant{explore.TwoHolders, explore.LostUpdate},
		Start:  []explore.Invariant{explore.TwoHolders, explore.LostUpdate},
	},
	"silver": {
		Bounds: explore.Bounds{Programs: once, Crashes: 1},
		Holds:  []explore.Invariant{explore.TwoHolders, explore.LostUpdate},
	},
	"timestamp": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1, Crashes: 1,
			LeaseInValue: locktest.Deadline},
		Holds: []explore.Invariant{explore.Orphaned},
	},
	"gold": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1, Crashes: 1},
		Holds:  []explore.Invariant{explore.Orphaned},
		Start:  []explore.Invariant{explore.Orphaned},
	},
	"script": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1, Crashes: 1},
		Holds:  []explore.Invariant{explore.Orphaned, explore.SelfDeadlock},
		Start:  []explore.Invariant{explore.SelfDeadlock},
	},
	"platinum": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.Orphaned, explore.SelfDeadlock},
	},
	"diamond": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.ForeignRelease},
		Start:  []explore.Invariant{explore.ForeignRelease},
	},
	"watchdog": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds: []explore.Invariant{explore.ForeignRelease,
			explore.ForeignRenewal, explore.TwoHolders, explore.FalseSuccess},
		Start: []explore.Invariant{explore.TwoHolders},
	},
	"reentrant": {
		Bounds: explore.Bounds{Programs: []explore.Program{explore.Once,
			explore.Nested}, LostReplies: 1},
		Holds: []explore.Invariant{explore.SelfDeadlock, explore.FalseSuccess},
		Start: []explore.Invariant{explore.SelfDeadlock},
	},
	"notify": {
		Bounds: explore.Bounds{Programs: waits, LostMessages: 1},
		Holds:  []explore.Invariant{explore.LostWakeUp},
		Start:  []explore.Invariant{explore.LostWakeUp},
	},
	"fenced": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.LostUpdate, explore.StaleWrite},
		Start:  []explore.Invariant{explore.LostUpdate, explore.StaleWrite},
	},
	"fair": {
		// Not Lock: to the explorer, a waiter that polls is one that nobody wakes.
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.ForeignRelease, explore.SelfDeadlock},
	},
	"cohort": {
		Bounds: explore.Bounds{Programs: once, Expiries: 1},
		Holds:  []explore.Invariant{explore.ForeignRelease, explore.TwoHolders},
		Stays:  true,
	},
	"redlock": {
		Bounds: explore.Bounds{Programs: once, Nodes: 3, Expiries: 1, Attempts: 1},
		Holds:  []explore.Invariant{explore.TwoHolders, explore.FalseSuccess},
	},
	"readwrite": {
		Bounds: explore.Bounds{Programs: []explore.Program{explore.Read},
			Expiries: 1, Readers: locktest.Readers},
		Holds: []explore.Invariant{explore.Orphaned, explore.TwoHolders},
	},
}

// Explore runs the lock in every order of events that the exercise's bounds have room
// for. It returns which of the exercise's invariants the lock breaks.
func Explore(t *testing.T, name string, build lock.Build) (report explore.Report,
	breaks []explore.Invariant) {
	t.Helper()
	w := walks[name]
	report = explore.Run(t, build, w.Bounds)
	for _, invariant := range w.Holds {
		if _, failed := report.Failure(invariant); failed {
			breaks = append(breaks, invariant)
		}
	}
	return report, breaks
}

// explored fails the test with a schedule for each of the exercise's invariants
// that the lock breaks.
func explored(t *testing.T, name string, build lock.Build) {
	report, breaks := Explore(t, name, build)
	t.Log(report)
	if !report.Exhausted() {
		t.Error("the explorer has not seen every schedule: your lock has more" +
			" states than it looks at")
	}
	for _, invariant := range breaks {
		f, _ := report.Failure(invariant)
		t.Errorf("the explorer has found a schedule that breaks %q: %s\n\n%s",
			invariant, f.Schedule, explore.Replay(t, build,
				walks[name].Bounds, f.Schedule).Timeline)
	}
}
