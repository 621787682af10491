package locktest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// HandOver tests a lock whose release hands it over to the next owner of the process.
func HandOver(t *testing.T, build lock.Build) {
	for name, script := range ofHandOvers {
		t.Run(name, func(t *testing.T) {
			Run(t, Config{Build: build,
				Processes: []string{"A", "B"}},
				func(s *Scenario) { script(t, s) })
		})
	}
}

// ofHandOvers are what a hand-over does.
var ofHandOvers = map[string]func(*testing.T, *Scenario){
	"a neighbor that is handed the lock does not ask for it": func(t *testing.T, s *Scenario) {
		asked := func() int { return s.Process("A").Asked("acquire.lua", 0) }
		before := 0
		s.Owner("A1").Section(3 * second)
		s.Owner("A2").At(second).Section(second).SinceAtMost(3*second + 10*milli)
		s.Owner("B1").At(2900 * milli).Looks(func() { before = asked() }).
			At(3500 * milli).Looks(func() { assert.Equal(t, before, asked()) })
		s.Serves("A1", "A2")
	},
	// The lease of A1 would end at 10 s, and nobody renews that of A2.
	"a neighbor is handed a whole lease": func(_ *testing.T, s *Scenario) {
		s.Owner("A1", lock.FixedLease()).Section(9 * second)
		s.Owner("A2", lock.FixedLease()).At(second).Locks().At(18900 * milli).
			Holds(true).Unlocks()
		s.Owner("B1").At(18800 * milli).Tries(false).At(18950 * milli).Tries(true).
			Unlocks()
		s.Serves("A1", "A2", "B1")
	},
	// A2 asks when A1's Unlock has ended. The reply that comes then disturbs nobody.
	"a reply that hangs leaves the lock to its neighbor": func(_ *testing.T, s *Scenario) {
		s.Owner("A1").Locks().At(3*second).
			Fails(lab.Release, 1, lab.Fault{AnswerAfter: 15 * second}).
			Unlocks(ErrUnknown)
		s.Owner("A2").At(2 * second).Locks().SinceAtMost(13*second + 10*milli).
			At(19 * second).Holds(true).Unlocks()
		s.Owner("B1").At(18900 * milli).Tries(false)
		s.Serves("A1", "A2")
	},
	// A2 has the lock at the server, and has not heard of it.
	"a neighbor that gives up meanwhile leaves nothing": func(_ *testing.T, s *Scenario) {
		s.Owner("A1").Locks().At(3*second).
			Fails(lab.Release, 1, lab.Fault{AnswerAfter: second}).Unlocks()
		s.Owner("A2").At(2 * second).GivesUp(1500 * milli)
		s.Owner("B1").At(3400 * milli).Tries(false).At(3600 * milli).Tries(true).Unlocks()
		s.Serves("A1", "B1")
	},
	// The release names A2 and is on its way when A2 gives up.
	"a neighbor that has given up is handed nothing": func(_ *testing.T, s *Scenario) {
		s.Owner("A1").Locks().At(3*second).
			Fails(lab.Release, 1, lab.Fault{Deliver: 4 * second}).Unlocks()
		s.Owner("A2").At(2 * second).GivesUp(1500 * milli)
		s.Owner("B1").At(3900 * milli).Tries(false).At(4100 * milli).Tries(true).Unlocks()
		s.Serves("A1", "B1")
	},
}
