package explore

import (
	"cmp"
	"container/heap"
	"math/big"
)

// Failure is the cheapest schedule that breaks an invariant.
type Failure struct {
	Schedule  string // for Replay
	Adversary int    // how much of the adversary's budget it takes
	Steps     int    // its length, the adversary's actions included
	Event     string // what broke the invariant
}

// cheapest finds the cheapest schedule in the graph that breaks each invariant,
// and of several the first in the order of actions.
func cheapest(all []*state, write func([]action) string) map[Invariant]Failure {
	found := map[Invariant]Failure{}
	ways := map[Invariant]end{}
	const far = 1 << 30
	for _, s := range all {
		s.cost, s.from = cost{adversary: far}, nil
	}
	all[0].cost = cost{}
	settled := make([]bool, len(all))
	left := frontier{{}}
	for len(left) > 0 {
		s := all[heap.Pop(&left).(open).number]
		if settled[s.number] {
			continue
		}
		settled[s.number] = true
		for i := range s.edges {
			e := &s.edges[i]
			c := s.cost.plus(e.action)
			better := func(d cost, other end) bool {
				if order := c.compare(d); order != 0 {
					return order < 0
				}
				return end{s, e.action}.compare(other) < 0
			}
			for _, b := range e.breaks(all) {
				f, ok := found[b.Invariant]
				if ok && !better(cost{f.Adversary, f.Steps}, ways[b.Invariant]) {
					continue
				}
				ways[b.Invariant] = end{s, e.action}
				found[b.Invariant] = Failure{
					Schedule:  write(append(s.path(), e.action)),
					Adversary: c.adversary, Steps: c.steps, Event: b.Event}
			}
			if to := all[e.to]; !settled[e.to] && better(to.cost, end{to.from, to.by}) {
				to.cost, to.from, to.by = c, s, e.action
				heap.Push(&left, open{c, e.to})
			}
		}
	}
	return found
}

// end is a state's cheapest way and one action more.
type end struct {
	to *state
	by action
}

// compare orders schedules that are equally long by their actions.
func (w end) compare(other end) (order int) {
	for {
		order = cmp.Or(w.by.compare(other.by), order) // the earlier one decides
		if w.to == other.to {
			return order
		}
		w, other = end{w.to.from, w.to.by}, end{other.to.from, other.to.by}
	}
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

// count counts the schedules from the beginning to an end that break nothing of what
// is asked.
func count(all []*state, breaks func([]Breach) bool) *big.Int {
	return fold(all, func(s *state, from func(int32) *big.Int) *big.Int {
		n := new(big.Int)
		if len(s.edges) == 0 {
			n.SetInt64(1)
		}
		for i := range s.edges {
			if e := &s.edges[i]; !breaks(e.breaks(all)) {
				n.Add(n, from(e.to))
			}
		}
		return n
	})
}

// chance is how likely a scheduler that picks each action at random is to make a
// schedule that breaks what is asked.
func chance(all []*state, breaks func([]Breach) bool) float64 {
	return fold(all, func(s *state, from func(int32) float64) float64 {
		sum := 0.0
		for _, e := range s.edges {
			if breaks(e.breaks(all)) {
				sum++
			} else {
				sum += from(e.to)
			}
		}
		return sum / max(float64(len(s.edges)), 1)
	})
}
