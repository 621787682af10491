package explore

import (
	"cmp"
	"math/big"
)

// Failure is the cheapest schedule that breaks an invariant.
type Failure struct {
	Schedule  string // for Replay
	Adversary int    // how much of the adversary's budget it takes
	Steps     int    // its length, the adversary's actions included
	Event     string // what broke the invariant
}

// cost orders schedules: least of the adversary, then fewest steps.
func (f Failure) cost(g Failure) int {
	return cmp.Or(cmp.Compare(f.Adversary, g.Adversary), cmp.Compare(f.Steps, g.Steps))
}

// after is the failure with an action before it.
func (f Failure) after(a action) Failure {
	f.Steps++
	if a.adversary() {
		f.Adversary++
	}
	return f
}

// ending is how a schedule goes on to a failure.
type ending struct {
	Failure
	first action
	then  *ending
}

// cheapest is the cheapest schedule in the graph that breaks an invariant, and of several
// the first in the order of actions; nil when there is none.
func cheapest(all []*state, invariant Invariant) *ending {
	return fold(all, func(s *state, from func(int32) *ending) (best *ending) {
		for i := range s.edges {
			e := &s.edges[i]
			way := &ending{first: e.action}
			if event, broken := breaks(e.breaks(all), invariant); broken {
				way.Event = event
			} else if way.then = from(e.to); way.then != nil {
				way.Failure = way.then.Failure
			} else {
				continue
			}
			way.Failure = way.after(e.action)
			if best == nil || way.cost(best.Failure) < 0 {
				best = way
			}
		}
		return best
	})
}

// actions are those of the whole schedule.
func (e *ending) actions() (all []action) {
	for ; e != nil; e = e.then {
		all = append(all, e.first)
	}
	return all
}

// fold computes something of a graph's first state from what it is in the states that
// come after it.
func fold[T any](all []*state, of func(s *state, from func(int32) T) T) T {
	known := make([]*T, len(all))
	var from func(number int32) T
	from = func(number int32) T {
		if known[number] == nil {
			value := of(all[number], from)
			known[number] = &value
		}
		return *known[number]
	}
	return from(0)
}

// count counts the schedules from the beginning to an end that don't break an invariant;
// with "" it counts all.
func count(all []*state, unless Invariant) *big.Int {
	return fold(all, func(s *state, from func(int32) *big.Int) *big.Int {
		n := new(big.Int)
		if len(s.edges) == 0 {
			n.SetInt64(1)
		}
		for i := range s.edges {
			if _, broken := breaks(s.edges[i].breaks(all), unless); !broken {
				n.Add(n, from(s.edges[i].to))
			}
		}
		return n
	})
}

// chance is how likely a scheduler that picks each action at random is to make a
// schedule that breaks an invariant.
func chance(all []*state, invariant Invariant) float64 {
	return fold(all, func(s *state, from func(int32) float64) float64 {
		sum := 0.0
		for _, e := range s.edges {
			if _, broken := breaks(e.breaks(all), invariant); broken {
				sum++
			} else {
				sum += from(e.to)
			}
		}
		return sum / max(float64(len(s.edges)), 1)
	})
}
