package readwrite_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// downgrades has a writer read on after an Unlock that the network has refused.
func downgrades(o *locktest.Owner) *locktest.Owner {
	return o.Locks().RLocks().Suffers(lab.Fault{Refuse: true}).
		Unlocks(locktest.ErrUnknown).Suffers(lab.Fault{})
}

// A reads all the time. Its renewal tells the other readers.
func TestARenewalReleasesTheWriteLockWhoseUnlockWasLost(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		downgrades(s.Owner("A")).At(30 * second).Holds(true).RUnlocks()
		s.Owner("B").At(second).RLocks().Since(ttl / 3).RUnlocks()
		s.Owner("C").At(5 * second).Locks().Since(30 * second).Unlocks()
	})
}

// ZADD needs memory, in the release and in each renewal.
func TestAWriterReadsOnWhenTheServerIsFull(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Operator(second, "fills", (*lab.Node).Fill)
		s.Owner("A").Locks().RLocks().At(2 * second).Unlocks().
			At(30 * second).Holds(true).RUnlocks()
	})
}

// A, which enters again, tells the readers.
func TestAReaderWhoseUnlockWasLostEntersAgain(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		downgrades(s.Owner("A")).At(second).RTries(true).
			At(5 * second).Holds(true).RUnlocks().RUnlocks()
		s.Owner("B").At(100 * milli).RLocks().Since(second).RUnlocks()
	})
}

// After the downgrade A writes once more: the new write lock is renewed, and not
// released.
func TestARenewalKeepsALaterWriteLock(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		downgrades(s.Owner("A")).RUnlocks().Locks().At(15 * second).Unlocks()
		s.Owner("B").At(second).RLocks().Since(15 * second).RUnlocks()
	})
}

// A is inside and has lost the lock. It is refused, and it does not wait: it holds
// no reader back.
func TestAWriterThatHasLostTheLockDoesNotWait(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Deletes(500 * milli)
		s.Owner("A").Locks().At(second).Locks(lock.ErrLost).
			At(5 * second).Unlocks(lock.ErrNotHeld)
		s.Owner("B").At(2 * second).RTries(true).RUnlocks()
	})
}
