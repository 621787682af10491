package fair_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/fair"
)

// The catalogue's clients have one owner each. These scenarios have several
// owners in one process, and look at who is served when.

const (
	ttl    = locktest.Lease
	second = time.Second
	milli  = time.Millisecond
)

var build = lock.On(fair.New)

// play runs a scenario of processes that have locked before.
func play(t *testing.T, script func(s *locktest.Scenario)) {
	t.Helper()
	locktest.Run(t, locktest.Config{Build: build, Latency: milli / 10,
		Processes: []string{"A", "B", "C"}}, script)
}

func TestWaitersAreServedInTheOrderOfArrival(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		var want []string
		for n := range 30 {
			name := fmt.Sprint([]string{"A", "B", "C"}[n*n%3], n)
			want = append(want, name)
			s.Owner(name).At(time.Duration(n+4) * 10 * milli).Section(50 * milli)
		}
		s.Serves(want...)
	})
}

// All wait for longer than a lease, and ask again meanwhile.
func TestAPlaceIsKeptWhileItsOwnerAsks(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("A").Section(4 * ttl)
		want := []string{"A"}
		for n := range 9 {
			name := fmt.Sprint([]string{"A", "B", "C"}[n%3], n)
			want = append(want, name)
			s.Owner(name).At(time.Duration(n+1) * 700 * milli).Section(second).
				SinceAbout(4*ttl + time.Duration(n)*second)
		}
		s.Serves(want...)
	})
}

// Were a place left behind, the others would wait for a turn that nobody comes for.
func TestAHundredThatGiveUpAtOnceLeaveTogether(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("A").Section(3 * second)
		for n := range 100 {
			late := time.Duration(n) * milli
			s.Owner(fmt.Sprint("B", n)).At(second + late).GivesUp(second - late)
		}
		s.Owner("C").At(2500 * milli).Section(second).SinceAbout(3 * second)
		s.Serves("A", "C")
		assert.Equal(t, 2, s.Process("B").Asked("EVALSHA release.lua", 0))
	})
}

// A thousand turns would be fifty leases.
func TestADeadProcessCostsTwoLeases(t *testing.T) {
	locktest.Long(t, "it has 600 waiters")
	play(t, func(s *locktest.Scenario) {
		s.Owner("A").Section(3 * second)
		for n := range 600 {
			s.Owner(fmt.Sprint("B", n)).At(second + time.Duration(n)*milli).Locks()
		}
		s.Process("B").CrashesAt(2 * second)
		s.Owner("C").At(2500 * milli).Section(second).
			SinceAtMost(second + 600*milli + 2*ttl + ttl/20 + 100*milli)
		s.Serves("A", "C")
	})
}

// Were an owner queued up when its turn is told, nobody would come for that turn,
// which takes half a second.
func TestOwnersThatComeAgainAtOnceLoseNoTurn(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		for n := range 5 {
			s.Owner(fmt.Sprint("A", n)).At(10*milli+time.Duration(n)*milli/3).
				Sections(40, milli/5)
		}
		s.Play()
		assert.Less(t, s.Now(), 10*milli+ttl/20, "200 sections")
	})
}

func TestTheWaitersOfAProcess(t *testing.T) { locktest.Processes(t, build) }
