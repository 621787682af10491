package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Failure is the cheapest schedule that breaks an invariant.
type Failure struct {
	Schedule  string // for Replay
	Adversary int    // how much of the adversary's budget it takes
	Steps     int    // its length, the adversary's actions included
	Event     string // what broke the invariant
}

// Walk is what was found with one program.
type Walk struct {
	Program  Program
	Found    map[Invariant]Failure
	States   int
	Edges    int
	Runs     int  // of the lock's code
	Steps    int  // actions taken in them
	Inferred int  // edges known from other edges, see infer
	Stopped  bool // at Bounds.States, before everything was seen
	GaveUp   bool // a client has asked as often as Bounds.Attempts

	graph     []*state
	schedules func() *big.Int // counted once: a large graph takes a second
	owners    []string        // in their order
	facts
}

// unfit is why the walk says nothing of the lock, or nil.
func (w *Walk) unfit() error {
	switch {
	case !w.granted && len(w.Found) == 0:
		return fmt.Errorf("no client was granted the lock in any schedule of the program"+
			" %s: %s", w.Program, cmp.Or(w.hidden, w.refusal,
			"no call of the lock returns"))
	case w.hidden != "":
		return errors.New(w.hidden)
	}
	return nil
}

// Schedules is how many schedules there are from the beginning to an end. When the
// walk was stopped, it counts those that were seen.
func (w Walk) Schedules() *big.Int { return new(big.Int).Set(w.schedules()) }

// Share is how many schedules there are, and how many of them break an invariant.
func (w Walk) Share(invariant Invariant) (schedules, failing *big.Int) {
	all := w.Schedules()
	return all, new(big.Int).Sub(all, count(w.graph, breaks(invariant)))
}

// Chance is how likely it is that a schedule breaks an invariant when each of its
// actions is picked at random from those that are possible.
func (w Walk) Chance(invariant Invariant) float64 {
	return chance(w.graph, breaks(invariant))
}

// Report is what was found with each program.
type Report struct {
	Bounds Bounds
	Walks  []Walk
}

// Failure is the cheapest schedule of all programs that breaks an invariant.
func (r Report) Failure(invariant Invariant) (Failure, bool) {
	var cheapest Failure
	found := false
	for _, walk := range r.Walks {
		f, ok := walk.Found[invariant]
		if ok && (!found || cost{f.Adversary, f.Steps}.compare(
			cost{cheapest.Adversary, cheapest.Steps}) < 0) {
			cheapest, found = f, true
		}
	}
	return cheapest, found
}

// Judged are the invariants that the programs can break: waiting inside Lock is
// judged where Lock is called, and self-deadlocks where TryLock is.
func (r Report) Judged() []Invariant {
	return slices.DeleteFunc(slices.Clone(Invariants), func(i Invariant) bool {
		return i == LostWakeUp && !r.walks(Wait, true) ||
			i == SelfDeadlock && !r.walks(Wait, false)
	})
}

// walks says whether there is a walk with the program, or with another one.
func (r Report) walks(program Program, with bool) bool {
	return slices.ContainsFunc(r.Walks, func(w Walk) bool {
		return (w.Program == program) == with
	})
}

// Exhausted says whether everything within the bounds was seen.
func (r Report) Exhausted() bool {
	return !slices.ContainsFunc(r.Walks, func(w Walk) bool { return w.Stopped })
}

// String is the report for people: the walks, and for each invariant the cheapest
// failing schedule or that there is none.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Bounds)
	for _, w := range r.Walks {
		what := "exhausted"
		if w.Stopped {
			what = "stopped at"
		}
		fmt.Fprintf(&b, "  %-7s %s %v schedules in %d states, %d runs", w.Program,
			what, w.Schedules(), w.States, w.Runs)
		if w.GaveUp {
			fmt.Fprintf(&b, "; a client gave up after %s",
				plural(r.Bounds.Attempts, "attempt", "attempts"))
		}
		fmt.Fprintln(&b)
	}
	for _, invariant := range r.Judged() {
		f, found := r.Failure(invariant)
		switch {
		case found:
			fmt.Fprintf(&b, "  %-15s breaks: adversary %d, steps %d: %s\n",
				invariant, f.Adversary, f.Steps, f.Schedule)
		case r.Exhausted():
			fmt.Fprintf(&b, "  %-15s holds: exhausted\n", invariant)
		default:
			fmt.Fprintf(&b, "  %-15s not found: stopped\n", invariant)
		}
	}
	return b.String()
}
