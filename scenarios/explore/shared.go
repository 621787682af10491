package explore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockladder/lockladder/internal/lab"
)

// shared is what a run has in common with its programs.
type shared struct {
	world   *lab.World
	control *controller
	bounds  Bounds
	program Program
	used    Bounds // what the adversary has done
	asked   asked  // by the action under way
	facts          // of all runs of the program
}

// facts are what runs have shown about a lock, apart from its graph.
type facts struct {
	granted bool   // some client was granted the lock
	gaveUp  bool   // a client has asked as often as Bounds.Attempts
	refusal string // what the first call returned that was refused
	hidden  string // what shows that the lock keeps something out of sight
}

// hides notes what shows that the lock keeps something where the explorer can't see it.
func (s *shared) hides(format string, args ...any) {
	s.hidden = cmp.Or(s.hidden, fmt.Sprintf(format, args...)+": does the"+
		" lock keep something in a variable of its package, such as a map of mutexes?"+
		" Clients stand for processes of their own, and each run begins anew: keep it"+
		" in what build returns")
}

// breaks notes that an invariant is broken at this moment.
func (s *shared) breaks(invariant Invariant, format string, args ...any) {
	s.world.Report(string(invariant), format, args...)
}

// underWay says whether a command of a client has not reached its node
// yet.
func (s *shared) underWay(of *client) bool {
	return slices.ContainsFunc(s.control.onTheWay(), func(f flight) bool {
		return f.client == of && f.kind == aRequest && (!f.stray ||
			s.used.Strays < s.bounds.Strays)
	})
}
