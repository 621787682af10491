package cohort_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/internal/locktest/owners"
)

// section is the work that is done under the lock.
const section = 20 * milli

// served is what a process gets.
type served struct {
	sections int
	longest  time.Duration // wait for the lock
}

// compete lets processes take the lock again and again for a time. Each is so far
// from the server that a command and its reply take a round trip.
func compete(t *testing.T, lease, during time.Duration,
	trips ...time.Duration) []served {
	results := make([]served, len(trips))
	config := owners.Config{Build: fenced, TTL: lease}
	owners.Run(t, config, func(s *owners.Scenario) {
		for i, trip := range trips {
			o := s.Owner(string(rune('A'+i)) + "1")
			o.Far = trip / 2
			o.Works(time.Duration(i) * milli).Does(func() {
				for s.Now() < during {
					asked := s.Now()
					require.NoError(t, o.Acquire(s.Context()))
					results[i].longest = max(results[i].longest, s.Now()-asked)
					results[i].sections++
					o.Sleep(section)
					require.NoError(t, o.Release())
				}
			})
		}
	})
	return results
}

// Two processes are next to the server and one is far away: its round trip is
// longer than a twentieth of the lease. It waits for each of the others for a
// third of a lease and one section at most, as they do.
func TestAFarProcessIsServedLikeOthers(t *testing.T) {
	laddertest.Long(t, "it runs thousands of sections")
	const lease = 600 * milli
	for _, trip := range []time.Duration{10 * milli, 20 * milli, 40 * milli} {
		t.Run(trip.String(), func(t *testing.T) {
			all := compete(t, lease, 4*second, milli, milli, trip)
			t.Log(all)
			near, far := all[0], all[2]
			assert.Greater(t, far.sections, near.sections/2)
			for _, one := range all {
				assert.LessOrEqual(t, one.longest, 2*(lease/3+section))
			}
		})
	}
}

// A far process that has died in the queue costs the others its turn, which is
// five round trips, and no more than a third of a lease.
func TestAFarProcessThatDiesCostsOneTurn(t *testing.T) {
	for trip, turn := range map[time.Duration]time.Duration{
		40 * milli: ttl / 20, 400 * milli: 2 * second, second: ttl / 3,
	} {
		t.Run(trip.String(), func(t *testing.T) {
			play(t, "A B C", func(s *owners.Scenario) {
				s.Owner("A1").Section(8 * second)
				s.Owner("B2").Locks().Far = trip / 2
				s.Process("B").CrashesAt(7 * second) // it has asked twice
				s.Owner("C3").At(7500 * milli).Section(second).
					Since(8*second + turn.Truncate(milli) + milli)
				s.Serves("A1", "C3")
			})
		})
	}
}
