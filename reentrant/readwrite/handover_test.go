package readwrite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest/owners"
	"github.com/lockladder/lockladder/internal/locktest/queuetest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/readwrite"
)

var build = lock.On(readwrite.New)

func TestTheLockIsHandedOver(t *testing.T) { queuetest.HandOver(t, build) }

// A has forty writers. B's hears of a release after five of theirs at the latest,
// and then asks beside them.
func TestOtherProcessesHaveAChanceBetweenTheHandOvers(t *testing.T) {
	owners.Run(t, owners.Config{Build: build, Processes: []string{"A", "B"}},
		func(s *owners.Scenario) {
			for n := range 40 {
				s.Owner(fmt.Sprint("A", n+1)).Section(100 * time.Millisecond)
			}
			s.Owner("B1").At(50 * time.Millisecond).Section(second)
			s.Play()
			assert.Len(t, s.Served, 41)
			var heard []time.Duration
			for _, e := range s.Timeline() {
				if e.Client == "B" && strings.HasPrefix(e.Text, "message ") {
					heard = append(heard, e.At)
				}
			}
			require.Greater(t, len(heard), 7)
			for i, at := range heard[:8] { // later ones find nobody there
				assert.LessOrEqual(t, at, time.Duration(i+1)*5*100*time.Millisecond+
					10*time.Millisecond)
			}
		})
}

// Every grant has a higher fencing token, also one that was handed over.
func TestAHandOverHasAFencingTokenOfItsOwn(t *testing.T) {
	owners.Run(t, owners.Config{Build: build, Processes: []string{"A"}},
		func(s *owners.Scenario) {
			for n := range 5 {
				s.Owner(fmt.Sprint("A", n+1)).Section(second)
			}
			s.Play()
			assert.Equal(t, []uint64{1, 2, 3, 4, 5}, s.Tokens)
		})
}

// A writes, and both A2, which writes, and A3, which reads, wait. Both are told of the
// release: A3 has a chance to get in before A2.
func TestNothingIsHandedOverWhileAReaderOfTheProcessWaits(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Locks().At(2 * second).Unlocks()
		s.Owner("A2").At(second).Section(second)
		s.Owner("A3").At(1500 * milli).RLocks().Works(second).RUnlocks()
		s.Play()
		asked := slices.ContainsFunc(s.Timeline(), func(e *lab.Entry) bool {
			return e.At == 2*second && strings.Contains(e.Text, " read.lua ")
		})
		assert.True(t, asked, "A3 has asked at 2 s")
	})
}
