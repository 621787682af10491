package cohort_test

import (
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/locktest"
)

// A far process that has died in the queue costs the others its turn, which is
// five round trips, and no more than a third of a lease.
func TestAFarProcessThatDiesCostsOneTurn(t *testing.T) {
	for trip, turn := range map[time.Duration]time.Duration{
		40 * milli: ttl / 20, 400 * milli: 2 * second, second: ttl / 3,
	} {
		t.Run(trip.String(), func(t *testing.T) {
			play(t, "A B C", func(s *locktest.Scenario) {
				s.Owner("A1").Section(8 * second)
				s.Owner("B2").Locks().Far = trip / 2
				s.Process("B").CrashesAt(7 * second) // it has asked twice
				s.Owner("C3").At(7500 * milli).Section(second).
					SinceAtMost(8*second + turn.Truncate(milli) + milli + time.Microsecond)
				s.Serves("A1", "C3")
			})
		})
	}
}
