package scenarios

import (
	"slices"

	"github.com/lockladder/lockladder/internal/lab"
)

// verdict is given on invariants without a run of the scenario, because none is
// possible with this lock. A lock that lacks what the scenario is about has its verdicts.
func (s *S) verdict(v Verdict, invariants ...string) {
	if s.absent {
		return
	}
	s.settled = true
	for _, invariant := range invariants {
		s.results[invariant] = &Result{Scenario: s.scenario.Name,
			Invariant: invariant, Verdict: v, BrokenAt: -1}
	}
}

// unjudged says why invariants can't be judged on real servers.
func (s *S) unjudged(why string, invariants ...string) {
	if s.absent {
		return
	}
	s.t.Logf("%s can't be run: %s", s.scenario.Name, why)
	s.verdict(CannotRun, invariants...)
	for _, invariant := range invariants {
		s.results[invariant].Event = why
	}
}

// judge gives the verdict on invariants: breaks when the world or the scenario
// reported any, does not arise when the scenario could not happen, else holds. A
// break in one world of a scenario is the scenario's.
func (s *S) judge(arose bool, invariants ...string) {
	for _, invariant := range invariants {
		s.judgeAs(arose, invariant)
	}
}

// judgeAs is judge for an invariant that the breaks of others count for.
func (s *S) judgeAs(arose bool, invariant string, aliases ...string) {
	if len(s.Failures()) > 0 || s.absent {
		return // its error is reported instead of a verdict, or there is one
	}
	var broken []*lab.Break
	for _, b := range s.Breaks(append(aliases, invariant)...) {
		if b.Apart {
			continue
		}
		marked := *b
		marked.Invariant = invariant // the mark says what the headline says
		broken = append(broken, &marked)
	}
	s.judged = append(s.judged, invariant)
	s.keep(s.result(invariant, broken, arose && !s.Unfired()))
}

// result is what a world says of an invariant.
func (s *S) result(invariant string, broken []*lab.Break, arose bool) *Result {
	r := &Result{Scenario: s.scenario.Name, Invariant: invariant,
		Verdict: Holds, BrokenAt: -1, Sequence: s.Timeline()}
	broken = once(broken)
	if !arose {
		r.Verdict = DoesNotArise
	}
	if len(broken) > 0 {
		r.Verdict, r.Event = Breaks, broken[0].String()
		r.BrokenAt = broken[0].Entry
	}
	if s.settings.change == nil { // else somebody waits who reads the sequence
		r.Timeline = s.Log().Render(-1, broken)
	}
	r.shown = timeline{History: &s.Log().History, breaks: broken}
	return r
}

// once leaves out what says the same of the same entry again.
func once(broken []*lab.Break) (different []*lab.Break) {
	for _, b := range broken {
		if !slices.ContainsFunc(different, func(other *lab.Break) bool {
			return other.Entry == b.Entry && other.Event == b.Event
		}) {
			different = append(different, b)
		}
	}
	return different
}

// keep keeps a result, if it says more than that of another world.
func (s *S) keep(r *Result) {
	before, judged := s.results[r.Invariant]
	if !judged || rank(r.Verdict) > rank(before.Verdict) {
		s.results[r.Invariant] = r
	}
}

// rank says which verdict of several worlds speaks for the scenario.
func rank(v Verdict) int {
	return slices.Index([]Verdict{NotOffered, DoesNotArise, Holds, Breaks}, v)
}
