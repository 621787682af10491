package cohort_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

func TestAProcessHandsTheLockOverInTheOrderOfComing(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		for _, name := range []string{"A1", "A2", "A3", "A4", "A5"} {
			s.Owner(name).Section(100 * milli)
		}
		s.Serves("A1", "A2", "A3", "A4", "A5")
		sent := s.Process("A").Commands()
		assert.Len(t, sent, 2, "one acquire, one release: %q", sent)
	})
}

func TestAnotherProcessWaitsForAThirdOfALeaseAndASection(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		for n := range 3 {
			s.Owner(fmt.Sprint("A", n+1)).Sections(5, 2*second)
		}
		s.Owner("B1").At(100 * milli).Section(second).SinceAtMost(ttl/3 + 2*second)
		s.Play()
		assert.Equal(t, 2, s.Before("B1"), "%q", s.Served)
		assert.Len(t, s.Served, 16)
	})
}

// The 60 sections of a process are 4 leases. Nobody polls: each process asks
// when it is its turn.
func TestProcessesHaveTheLockInTurn(t *testing.T) {
	play(t, "A B C D", func(s *locktest.Scenario) {
		for _, process := range []string{"A", "B", "C", "D"} {
			for n := range 3 {
				s.Owner(fmt.Sprint(process, n+1)).Sections(20, 10*milli)
			}
		}
		s.Play()
		require.Len(t, s.Served, 240)
		var turns []string
		length := 0
		for i, name := range s.Served {
			length++
			if i+1 == len(s.Served) || s.Served[i+1][0] != name[0] {
				turns = append(turns, fmt.Sprint(name[:1], length))
				length = 0
			}
		}
		assert.Equal(t, "A17 B17 C17 D17 A17 B17 C17 D17 A17 B17 C17 D17"+
			" A9 B9 C9 D9", strings.Join(turns, " "))
		for _, process := range []string{"A", "B", "C", "D"} {
			// An acquire and a release for each lease, refused once when it is
			// the others' turn, and once more when the subscription stands.
			sent := s.Process(process).Commands()
			assert.LessOrEqual(t, len(sent), 3*4+1, "%q", sent)
		}
	})
}

// B1 waits at the server. When it gives up it leaves its place to another owner of
// B, which gives up in the same moment and sends nothing more. Which of the two comes
// first differs from run to run.
func TestAProcessWhoseOwnersGiveUpTogetherLeavesTheQueue(t *testing.T) {
	for range 30 {
		play(t, "A B C", func(s *locktest.Scenario) {
			s.Owner("A1").Section(3 * second)
			for n := range 9 {
				late := time.Duration(n) * milli
				s.Owner(fmt.Sprint("B", n+1)).At(second + late).GivesUp(second - late)
			}
			s.Owner("C1").At(1500 * milli).Section(second).Since(3*second + milli)
			s.Serves("A1", "C1")
		})
	}
}

// B2 waits behind B1 in their process, and C came after B1.
func TestAWaiterThatGivesUpLeavesItsPlaceToItsProcess(t *testing.T) {
	play(t, "A B C", func(s *locktest.Scenario) {
		s.Owner("A1").Section(3 * second)
		s.Owner("B1").At(second).GivesUp(second)
		s.Owner("B2").At(1100 * milli).Section(second)
		s.Owner("C1").At(1500 * milli).Section(second)
		s.Serves("A1", "B2", "C1")
	})
}

// B waits for A, and then has the lock for itself: 60 sections take 60 ms, over
// several leases. B's entries in the server's queue are gone.
func TestAProcessThatIsAloneIsNotHeldUp(t *testing.T) {
	for name, ends := range map[string]func(a *locktest.Owner){
		"A unlocks": func(a *locktest.Owner) { a.Section(10 * milli) },
		"A dies":    func(a *locktest.Owner) { a.Locks() },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, "A B", func(s *locktest.Scenario) {
				ends(s.Owner("A1"))
				s.Process("A").CrashesAt(20 * milli)
				var began, ended time.Duration
				for _, name := range []string{"B2", "B3"} {
					b := s.Owner(name)
					b.Section(0).Does(func() { began = max(began, b.GrantedAt) }).
						Sections(30, milli).Does(func() { ended = s.Now() })
				}
				s.Play()
				assert.Equal(t, 60*milli, ended-began)
			})
		})
	}
}

func TestTryLockDoesNotOvertake(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		s.Owner("B1").Section(2 * second)
		s.Owner("A2").Section(2 * second)
		s.Owner("A3").At(second).Tries(false).At(3 * second).Tries(false).
			At(5 * second).Tries(true).Unlocks()
		s.Serves("B1", "A2", "A3")
	})
}

// A1, A2 and A3 are three cohorts of one process. A2 asks for A3, too.
func TestACohortThatWasAskedForLeavesTheQueue(t *testing.T) {
	play(t, "A B C", func(s *locktest.Scenario) {
		s.Owner("C1").Section(5 * second)
		s.Owner("A1").At(second).GivesUp(2 * second)
		s.Owner("A2", lock.FixedLease()).At(second).GivesUp(2 * second)
		s.Owner("A3").WithLease(ttl - second).At(second).GivesUp(2 * second)
		s.Owner("B1").At(4 * second).Section(second).SinceAtMost(5*second + 10*milli)
		s.Serves("C1", "B1")
	})
}

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
					Since(8*second + turn.Truncate(milli) + milli)
				s.Serves("A1", "C3")
			})
		})
	}
}
