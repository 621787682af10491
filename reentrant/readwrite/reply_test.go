package readwrite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/owners"
)

// Here a command of an owner is answered too late, or not at all.

// It is not refused by itself, and neither is the writer that it becomes.
func TestAReadLockWhoseReplyWasLostIsFoundAgain(t *testing.T) {
	for _, again := range []string{"read", "write"} {
		t.Run(again, func(t *testing.T) {
			play(t, func(s *owners.Scenario) {
				// Its scripts are known before the reply is lost.
				a := s.Owner("A").RLocks().RUnlocks().Section(0).
					Fails(lab.Acquire, 1, lab.Fault{LoseReply: true}).
					RTries(false, owners.ErrUnknown)
				if again == "read" {
					a.RTries(true).RUnlocks()
				}
				a.Tries(true).Unlocks()
			})
		})
	}
}

// B finds that A reads, and that the write lock is gone.
func TestAWriteLockWhoseReplyWasLostDoesNotRefuseItsReader(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Section(0).Fails(lab.Acquire, 1, lab.Fault{LoseReply: true}).
			Tries(false, owners.ErrUnknown).RTries(true).
			At(2 * second).RUnlocks()
		s.Owner("B").At(second).RTries(true).RUnlocks()
	})
}

// B waits to write since the lock was A's. A must not get in before it.
func TestAWriteLockWhoseReplyWasLostLetsItsReaderPassByNoWriter(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Section(0).Fails(lab.Acquire, 1, lab.Fault{LoseReply: true}).
			Tries(false, owners.ErrUnknown).At(2 * second).RTries(false)
		s.Owner("B").At(second).Section(second).Since(2 * second)
	})
}

// The lease is over when the answer comes.
func TestAReadLockThatIsGrantedTooLateIsGivenBack(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RLocks().RUnlocks().
			Fails(lab.Acquire, 1, lab.Fault{AnswerAfter: ttl}).RTries(false).
			Looks(func() {
				assert.Zero(t, s.Node(0).Observe("{stock}:readers"))
			})
	})
}

// A downgrade whose reply is lost was done: the reader goes on, and nobody's lock
// stays. Its lease is renewed three times. The server knows the scripts from A's first
// section.
func TestALostReplyOfADowngradeLeavesAReader(t *testing.T) {
	for name, fault := range map[string]lab.Fault{"executed": {LoseReply: true},
		"not executed": {Refuse: true}} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *owners.Scenario) {
				s.Owner("A").Section(0).Locks().RLocks().
					Fails(lab.Release, 1, fault).Unlocks(owners.ErrUnknown).
					At(12 * second).Holds(true).RUnlocks()
				s.Owner("B").At(2 * second).Tries(false).
					At(13 * second).Tries(true).Unlocks()
			})
		})
	}
}
