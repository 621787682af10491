package explore

import (
	"fmt"
	"slices"
	"strings"
)

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
		if ok && (!found || f.cost(cheapest) < 0) {
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
