package readwrite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
)

// Here are the effects of an Unlock on other owners' leases, and on waiters.

// A writer and a reader wait. One that leaves others reading tells nobody, and the last
// one tells the writer: the reader would be refused.
func TestAReaderThatLeavesTellsOnlyWhoCanGetIn(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
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
