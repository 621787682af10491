package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
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

// Walk is what was found with one program.
type Walk struct {
	Program Program
	Found   map[Invariant]Failure
	States  int
	Runs    int  // of the lock's code
	Steps   int  // actions taken in them
	Stopped bool // at Bounds.States, before everything was seen
	GaveUp  bool // a client has asked as often as Bounds.Attempts

	graph     []*state
	schedules func() *big.Int // counted once: a large graph takes a second
	owners    []string        // in their order
	facts
}

// Schedules is how many schedules there are from the beginning to an end. When the
// walk was stopped, it counts those that were seen.
func (w Walk) Schedules() *big.Int { return new(big.Int).Set(w.schedules()) }

// Share is how many schedules there are, and how many of them break an invariant.
func (w Walk) Share(invariant Invariant) (schedules, failing *big.Int) {
	all := w.Schedules()
	return all, new(big.Int).Sub(all, count(w.graph, invariant))
}

// Chance is how likely it is that a schedule breaks an invariant when each of its
// actions is picked at random from those that are possible.
func (w Walk) Chance(invariant Invariant) float64 {
	return chance(w.graph, invariant)
}

// find finds the cheapest schedules.
func (w *Walk) find(bounds Bounds) {
	w.Found = map[Invariant]Failure{}
	for _, invariant := range Invariants {
		if end := cheapest(w.graph, invariant); end != nil {
			f := end.Failure
			f.Schedule = schedule(w.Program, bounds, end.actions())
			w.Found[invariant] = f
		}
	}
}

// inBreadth are the states in the order of breadth, and their numbers in it.
func (w Walk) inBreadth() (order []*state, numbers map[int32]int) {
	numbers = map[int32]int{0: 0}
	order = []*state{w.graph[0]}
	for i := 0; i < len(order); i++ {
		for _, e := range order[i].edges {
			if _, known := numbers[e.to]; !known {
				numbers[e.to] = len(order)
				order = append(order, w.graph[e.to])
			}
		}
	}
	return order, numbers
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
