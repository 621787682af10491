package readwrite_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/locktest"
)

// A writes until 2 s. B then reads until 5 s, and B2 until 6 s: the answer to B2 takes
// a second. W waits for both of them. B3 comes while B2 waits for its answer, joins it,
// and gets in behind W: if B3 could read along with B2, readers that keep coming would
// keep W out.
func TestAReaderDoesNotPassByAWriterWithTheOthersOfItsProcess(t *testing.T) {
	config := locktest.Config{Build: build, Latency: 10 * milli}
	locktest.Run(t, config, func(s *locktest.Scenario) {
		s.Owner("A").Locks().At(2 * second).Unlocks()
		s.Owner("W").At(1500 * milli).Locks().SinceAbout(6 * second).
			At(7 * second).Unlocks()
		s.Owner("B").At(second).RLocks().SinceAbout(2 * second).
			Works(3 * second).RUnlocks()
		s.Owner("B2").At(1100 * milli).RLocks().SinceAbout(3 * second).
			Works(3 * second).RUnlocks()
		s.Owner("B3").At(2500 * milli).RLocks().SinceAbout(7 * second).RUnlocks()
		s.Process("W").Hold(2035*milli, 2200*milli, nil) // B comes first
		s.Process("B").Hold(2065*milli, 3*second, nil)
	})
}
