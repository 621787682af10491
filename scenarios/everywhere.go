package scenarios

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// everywhere are the invariants that are judged in every scenario, whatever it lists. One
// that a scenario doesn't list has a result only where it breaks or is declared to.
//
// The scenario's own events may make a lock break one of them for a flaw that another scenario is
// about: where a lease ends under its holder, every lock that does not tell the holder has two of
// them. A lock that breaks the other scenario, or is declared to, isn't accused of that again,
// and a lock that holds it is; see origins. And no lock can help what follows from the loss of
// its data by the server, and what two clients that it has let in do to each other is no flaw
// besides. On real servers, and where commands don't show what they do to the lock, nothing but
// the listed invariants and false loss is judged.
var everywhere = []string{TwoHolders, ForeignRelease, ForeignRenewal, FalseLoss, FalseSuccess}

// Judged are the invariants that a scenario lists, and then the others that are judged
// everywhere.
func (s Scenario) Judged() []string {
	return append(slices.Clip(s.Invariants), slices.DeleteFunc(slices.Clone(everywhere),
		func(invariant string) bool { return slices.Contains(s.Invariants, invariant) })...)
}

// origins are the flaws of other scenarios that a break may follow from. A break that
// follows from none is the lock's own in any scenario; there are none, and blameless is
// true, where the lock can do nothing about it or another break was judged before.
func origins(b *lab.Break) (flaws []Flaw, blameless bool) {
	switch {
	case b.After == lab.Running && !b.Late:
		return nil, false
	case b.Invariant == ForeignRelease && b.Late:
		return lock.Flaws("slow_get: foreign release", "slow_release: foreign release",
			"compare_twice: foreign release", "late_own_release: foreign release"), false
	case b.Invariant == ForeignRelease:
		return lock.Flaws("overrun_release: foreign release"), false
	case b.Invariant == ForeignRenewal:
		return lock.Flaws("renewal_reacquires: foreign renewal"), false
	case b.Invariant == FalseSuccess && !b.Late:
		return lock.Flaws("unlock_expired: false success", "lost_lease_told: false success",
			"overrun_release: foreign release"), false
	case b.After == lab.CutOff && !b.Late:
		return lock.Flaws("overrun_overlap: two holders", "partitioned_holder: not told"), false
	case b.After != lab.Expired:
		return nil, true
	case b.Late:
		return lock.Flaws("late_grant: two holders"), false
	}
	return lock.Flaws("overrun_overlap: two holders"), false
}

// suspicion is a break that counts if the lock has none of the flaws that it may follow from.
type suspicion struct {
	result  *Result
	origins []Flaw
}

// judgeEverywhere judges what this world has not judged by itself.
func (s *S) judgeEverywhere() {
	if len(s.Failures()) > 0 || s.absent || !s.readable() {
		return
	}
	s.findFalseLosses()
	invariants := everywhere
	if !s.exact() { // what commands do to a reader or a renewal isn't seen well enough
		invariants = []string{FalseLoss} // which scenarios report themselves
	}
	for _, invariant := range invariants {
		var own []*lab.Break
		for _, b := range s.leftOut(invariant) {
			switch flaws, blameless := origins(b); {
			case blameless, invariant != TwoHolders && s.twoInsideBy(b.Entry):
			case flaws == nil:
				own = append(own, b)
			default:
				s.suspected = append(s.suspected, suspicion{
					s.result(invariant, []*lab.Break{b}, true), flaws})
			}
		}
		if own != nil {
			s.keep(s.result(invariant, own[:1], true)) // one is enough for what nobody lists
		}
	}
}

// twoInsideBy says whether the lock had let in a second client by an entry, of itself:
// what their calls say and do to each other's grants then follows from that.
func (s *S) twoInsideBy(entry int) bool {
	return slices.ContainsFunc(s.Breaks(TwoHolders), func(b *lab.Break) bool {
		return b.Entry <= entry && b.After == lab.Running && !b.Late
	})
}

// leftOut are the breaks of an invariant that the scenario's own judgment left out, in
// their order.
func (s *S) leftOut(invariant string) []*lab.Break {
	judged := slices.Contains(s.judged, invariant)
	seen := s.Breaks(invariant)
	left := slices.DeleteFunc(slices.Clone(seen), func(b *lab.Break) bool {
		return judged && !b.Apart
	})
	for _, b := range s.doubts {
		if b.Invariant == invariant && !slices.ContainsFunc(seen, func(o *lab.Break) bool {
			return o.Entry == b.Entry
		}) {
			left = append(left, b)
		}
	}
	slices.SortStableFunc(left, func(a, b *lab.Break) int { return a.Entry - b.Entry })
	return left
}

// resolve adds the suspicions that are right to the results: those that are declared,
// as the first run told its reader to, and those that follow from no flaw of the lock.
func (s *S) resolve() {
	for _, may := range s.suspected {
		if r := may.result; !s.broken(r.Invariant) && (s.settings.declares(r.Scenario, r.Invariant) ||
			!slices.ContainsFunc(may.origins, s.breaks)) {
			s.keep(r)
		}
	}
}

func (s *S) broken(invariant string) bool {
	return cmp.Or(s.results[invariant], &Result{}).Verdict == Breaks
}

// breaks says whether the lock has a flaw: it is declared, or its scenario shows it.
func (s *S) breaks(f Flaw) bool {
	if s.settings.expects(f.Scenario, f.Invariant) {
		return true
	}
	if f.Scenario == s.scenario.Name {
		return s.broken(f.Invariant)
	}
	of, err := Find(f.Scenario)
	if err != nil {
		return false
	}
	settings := s.settings
	settings.change, settings.origin, settings.left = &Change{}, true, nil
	results := settings.known.of(of.Name, func() ([]Result, error) { return runScenario(s.t, of, s.build, settings) })
	return Report(results).Verdict(f.Scenario, f.Invariant) == Breaks
}

// known are the results of scenarios that were run for another one's sake, by name.
type known struct{ results sync.Map }

// of runs a scenario, unless its results are known. A scenario that fails has none.
func (k *known) of(name string, run func() ([]Result, error)) []Result {
	results, _ := k.results.LoadOrStore(name, sync.OnceValue(func() []Result {
		results, _ := run()
		return results
	}))
	return results.(func() []Result)()
}

// unlisted adds to the results those of the invariants that the scenario doesn't list.
func (s *S) unlisted(results []Result) []Result {
	best := slices.MaxFunc(results, func(a, b Result) int {
		return cmp.Compare(rank(a.Verdict), rank(b.Verdict))
	})
	for _, invariant := range s.scenario.Judged()[len(s.scenario.Invariants):] {
		if r := s.results[invariant]; r != nil {
			results = append(results, *r)
		} else if s.settings.declares(s.scenario.Name, invariant) {
			switch {
			case !s.exact() && invariant != FalseLoss:
				best.Verdict, best.Event = CannotRun, "it is judged in virtual time only"
			case best.Verdict == Breaks:
				best.Verdict = Holds
			}
			results = append(results, Result{Scenario: s.scenario.Name,
				Invariant: invariant, Verdict: best.Verdict, Event: best.Event,
				BrokenAt: -1, Sequence: best.Sequence, Timeline: best.Timeline})
		}
	}
	return results
}

// doubtful says whether the servers say in virtual time whose the lock is. In scenarios they
// don't say of a reader whose its lease is.
func (a *actor) doubtful() bool {
	s := a.run
	return s.exact() && s.readable() && (a == a.writes || s.settings.story != nil && a.seen())
}

// owns says whether the servers have the lock as the actor's process's.
func (a *actor) owns() bool {
	return slices.Contains(strings.Fields(a.run.Owner()), a.Name)
}

// ownedSince says whether the servers have had the lock as the actor's process's at any
// event since a moment.
func (a *actor) ownedSince(at time.Duration) bool {
	return slices.ContainsFunc(a.run.Timeline(), func(e *lab.Entry) bool {
		return e.At >= at && slices.Contains(strings.Fields(e.Owner), a.Name)
	})
}

// doubtGrant judges a call that was granted the lock.
func (a *actor) doubtGrant(call string) {
	if a.other == "" && !a.owns() && a.doubtful() {
		b := a.suspect(FalseSuccess, "%s's %s, and the servers don't have its lock", a.owner, call)
		b.Late, b.Grant = b.After != lab.Running, true
	}
}

// call is what is known of an Unlock when it is called.
type call struct {
	owned    bool // the servers had the lock as the actor's process's
	held     bool // the actor was granted it, and no other owner of its process
	released int  // foreign releases so far
	at       time.Duration
	lost     bool // Lost said so
	ends     bool // so does its context, maybe before the answer
}

func (a *actor) unlocks() call {
	return call{a.owns(), a.depth > 0 && a.alone(), len(a.run.Breaks(ForeignRelease)),
		a.run.Now(), closed(a.lost()), false}
}

// alone says whether no other owner of the actor's process has the lock.
func (a *actor) alone() bool {
	return !slices.ContainsFunc(a.run.actors, func(other *actor) bool {
		return other.owner != a.owner && other.process == a.process && other.depth > 0
	})
}

// doubtRelease judges what Unlock returned. That it says so where it has released
// another's lock is no second flaw.
func (a *actor) doubtRelease(c call, err error) {
	switch {
	case a.other != "", !a.doubtful():
	case err == nil && !c.owned && len(a.run.Breaks(ForeignRelease)) == c.released &&
		!(a.failed && a.ownedSince(c.at)): // an acquire that it gave up may have come first
		a.suspect(FalseSuccess, "%s's Unlock returns ok, and the servers didn't have its lock",
			a.owner)
	case errors.Is(err, lock.ErrNotHeld) && c.owned && c.held && a.owns() && !a.unsure && !a.told() &&
		!a.run.shared(a.Name):
		a.suspect(FalseLoss, "%s's Unlock returns ErrNotHeld, and the servers have its lock",
			a.owner)
	}
}

// findFalseLosses looks for holders that were told of a loss while the servers had the
// lock as theirs, and had answered each of their commands in time. A holder whose
// commands are not answered must take its lease for lost early.
func (s *S) findFalseLosses() {
	fixed := s.settings.story != nil && s.settings.story.Fixed
	for _, d := range s.Log().Denied {
		if !s.exact() || s.troubled(d.Client, d.At) ||
			s.lease()-(d.At-s.extended(d.Client, d.At)) < s.lease()/10 || s.shared(d.Client) ||
			fixed && s.believed(d.Owner, d.Entry) > s.lease()*9/10 {
			continue // what extends a fixed lease doesn't move its end for the holder
		}
		s.doubtAt(FalseLoss, d.Entry, "%s is told that it has lost the lock, and the servers"+
			" have it still", d.Owner)
	}
}

// believed is how long ago, at an entry, an owner did not yet believe that it has the lock.
func (s *S) believed(owner string, entry int) time.Duration {
	before := max(entry-1, 0)
	for before > 0 && slices.Contains(s.Timeline()[before].Inside, owner) {
		before--
	}
	return s.Timeline()[entry].At - s.Timeline()[before].At
}

// shared says whether several owners of a story share a process: the servers say of them
// all whether one has the lock. In a scenario only one of them has it when it is judged.
func (s *S) shared(process string) bool {
	return s.settings.story != nil && s.owners(process) > 1
}

func (s *S) owners(process string) (n int) {
	for _, a := range s.actors {
		if a.Name == process {
			n++
		}
	}
	return n
}

// extended is when the newest command was sent that a client has a lease of the lock from,
// as far as its replies before a moment say.
func (s *S) extended(client string, before time.Duration) (sent time.Duration) {
	for _, e := range s.Timeline() {
		if e.Client == client && s.names(e.Command) && 0 < e.Back && e.Back <= before &&
			!s.isError(e.Reply) {
			sent = e.Sent
		}
	}
	return sent
}

// isError says whether a reply is an error that the world has a server answer, or in a story
// that the server doesn't know the script.
func (s *S) isError(reply string) bool {
	return slices.ContainsFunc(s.errors, func(e string) bool {
		return e != "" && strings.HasPrefix(reply, e)
	})
}

// troubled says whether a command of the client was not answered within a tenth of the
// lease, before a moment.
func (s *S) troubled(client string, before time.Duration) bool {
	return slices.ContainsFunc(s.Timeline(), func(e *lab.Entry) bool {
		return e.Client == client && e.At <= before && e.Node >= 0 &&
			(e.Back == 0 && e.Command == "" || e.Command != "" &&
				(e.Back == 0 || e.Back-e.Sent > s.lease()/10))
	})
}
