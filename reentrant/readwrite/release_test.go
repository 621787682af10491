package readwrite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest/owners"
	"github.com/lockladder/lockladder/lock"
)

// Here are the effects of an Unlock on other owners' leases, and on waiters.

// A's lease keeps the set of readers, and B is still a member of it.
func TestAReaderWhoseLeaseHasEndedIsToldByItsUnlock(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RLocks().At(5 * second).RUnlocks()
		s.Owner("B").WithLease(2*second, lock.FixedLease()).RLocks().RLocks().
			At(4 * second).RUnlocks(lock.ErrNotHeld)
		s.Owner("C").At(5500 * milli).Tries(true).Unlocks() // nobody reads
	})
}

func TestALevelThatAReaderLeavesBeginsItsLeaseAnew(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A", lock.FixedLease()).RLocks().RLocks().
			At(8 * second).RUnlocks().Dies()
		s.Owner("B").At(9 * second).Locks().SinceAbout(8*second + ttl).Unlocks()
	})
}

func TestAWriterThatGivesUpTellsReadersElsewhere(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RLocks().At(8 * second).RUnlocks()
		s.Owner("B").At(second).GivesUp(3 * second)
		s.Owner("C").At(2 * second).RLocks().Since(4 * second).RUnlocks()
	})
}

// A writer and a reader wait. One that leaves others reading tells nobody, and the last
// one tells the writer: the reader would be refused.
func TestAReaderThatLeavesTellsOnlyWhoCanGetIn(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RLocks().At(3 * second).RUnlocks()
		s.Owner("B").RLocks().At(4 * second).RUnlocks()
		c := s.Owner("C").At(second).Locks().Since(4 * second).
			At(5 * second).Unlocks()
		d := s.Owner("D").At(2 * second).RLocks().Since(5 * second).RUnlocks()
		s.Play()
		assert.Equal(t, 1, c.Asked("EVALSHA acquire.lua", 3*second))
		assert.Equal(t, 1, d.Asked("EVALSHA read.lua", 3*second))
	})
}
