package readwrite_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// Here a command of an owner is answered too late, or not at all.

// It is not refused by itself, and neither is the writer that it becomes.
func TestAReadLockWhoseReplyWasLostIsFoundAgain(t *testing.T) {
	for _, again := range []string{"read", "write"} {
		t.Run(again, func(t *testing.T) {
			play(t, func(s *locktest.Scenario) {
				// Its scripts are known before the reply is lost.
				a := s.Owner("A").RLocks().RUnlocks().Section(0).
					Fails(lab.Acquire, 1, lab.Fault{LoseReply: true}).
					RTries(false, locktest.ErrUnknown)
				if again == "read" {
					a.RTries(true).RUnlocks()
				}
				a.Tries(true).Unlocks()
			})
		})
	}
}

// B waits to write since the lock was A's. A must not get in before it.
func TestAWriteLockWhoseReplyWasLostLetsItsReaderPassByNoWriter(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("A").Section(0).Fails(lab.Acquire, 1, lab.Fault{LoseReply: true}).
			Tries(false, locktest.ErrUnknown).At(2 * second).RTries(false)
		s.Owner("B").At(second).Section(second).Since(2 * second)
	})
}

// A downgrade whose reply is lost was done: the reader goes on, and nobody's lock
// stays. Its lease is renewed three times. The server knows the scripts from A's first
// section.
func TestALostReplyOfADowngradeLeavesAReader(t *testing.T) {
	for name, fault := range map[string]lab.Fault{"executed": {LoseReply: true},
		"not executed": {Refuse: true}} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *locktest.Scenario) {
				s.Owner("A").Section(0).Locks().RLocks().
					Fails(lab.Release, 1, fault).Unlocks(locktest.ErrUnknown).
					At(12 * second).Holds(true).RUnlocks()
				s.Owner("B").At(2 * second).Tries(false).
					At(13 * second).Tries(true).Unlocks()
			})
		})
	}
}

// A command of A comes late: A has given it up at a deadline, its own or that of a
// release, which is a lease. B must stay out as long as A is inside, and A's lease must
// be renewed.
func TestALateCommandEndsNoLaterLockOfItsOwner(t *testing.T) {
	late := lab.Fault{Deliver: 16 * second}
	for name, begin := range map[string]func(a *locktest.Owner) *locktest.Owner{
		"a question to read, and A writes": func(a *locktest.Owner) *locktest.Owner {
			return a.Fails(lab.Acquire, 1, late).
				RLocksWithin(second, context.DeadlineExceeded).Locks()
		},
		"a release of a level of reading, and A no longer writes": func(
			a *locktest.Owner) *locktest.Owner {
			return a.Locks().RLocks().Fails(lab.Release, 1, late).
				RUnlocks(context.DeadlineExceeded).RLocks().Unlocks()
		},
		"a question to write once more, and A no longer writes": func(
			a *locktest.Owner) *locktest.Owner {
			return a.Locks().Fails(lab.Acquire, 1, late).
				LocksWithin(second, context.DeadlineExceeded).RLocks().Unlocks()
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *locktest.Scenario) {
				a := s.Owner("A").RLocks().RUnlocks().Section(0) // the scripts are known
				begin(a).At(28 * second).Holds(true)
				if strings.HasSuffix(name, "A writes") {
					a.Unlocks()
				} else {
					a.RUnlocks()
				}
				b := s.Owner("B")
				for _, moment := range []time.Duration{17, 20, 27} {
					b.At(moment * second).Tries(false)
				}
				b.At(29 * second).Tries(true).Unlocks()
			})
		})
	}
}

// A was refused as a reader. Before it asks to write it releases the id that it has
// asked with, and then the server answers no more.
func TestAChangeOfRoleEndsWithTheCallersDeadline(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("B").Section(5 * second)
		a := s.Owner("A").At(second).RTries(false).
			Suffers(lab.Fault{Hang: true}).LocksWithin(second, context.DeadlineExceeded)
		a.Looks(func() { assert.InDelta(t, 2*second, s.Now(), float64(second)/10) })
		c := s.Owner("C").At(second).RTries(false)
		c.Does(func() {
			before := len(c.Commands())
			canceled, cancel := context.WithCancel(s.Context())
			cancel()
			assert.ErrorIs(t, c.Lock.Lock(canceled), context.Canceled)
			assert.Len(t, c.Commands(), before)
		})
	})
}

// A is granted the lock too late, and what it sends then is not answered.
func TestALateGrantIsGivenBackOnce(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("B").Section(2 * second)
		silent := lab.Fault{Hang: true}
		s.Owner("A").At(second).Fails(lab.Acquire, 4, lab.Fault{Answer: 13 * second}).
			Fails(lab.Acquire, 5, silent).Fails(lab.Acquire, 6, silent).GivesUp(13 * second).
			Looks(func() { assert.InDelta(t, 13*second+ttl, s.Now(), float64(second)/10) })
	})
}

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
