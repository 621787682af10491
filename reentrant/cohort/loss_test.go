package cohort_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// A1 works when the lease is lost, A2 and A3 wait for it. B takes the lock as soon
// as the server has it.
func TestALeaseIsLostInTheMiddleOfACohort(t *testing.T) {
	for name, how := range map[string]struct {
		lose func(s *locktest.Scenario)
		told time.Duration // A1, at the latest
	}{
		"an operator deletes the lock": {func(s *locktest.Scenario) {
			s.Deletes(4 * second)
		}, ttl * 2 / 3},
		"the network is cut": {func(s *locktest.Scenario) {
			s.Process("A").Hold(second, 30*second, nil)
		}, ttl},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, "A B", func(s *locktest.Scenario) {
				how.lose(s)
				s.Owner("A1").Locks().Hears(func() {
					assert.LessOrEqual(t, s.Now(), how.told+100*milli)
				}).At(12*second).Tries(false, lock.ErrLost).
					Unlocks(lock.ErrNotHeld).Unlocks(lock.ErrNotHeld)
				s.Owner("A2").Section(second)
				s.Owner("A3").Section(second)
				s.Owner("B1").At(5 * second).Locks().At(14 * second).Unlocks()
				s.Serves("A1", "B1", "A2", "A3")
				assert.IsIncreasing(t, s.Tokens, "fencing tokens")
			})
		})
	}
}

// The renewal's answer has told A1, whose Unlock comes after it. A2 must not be
// let in by it.
func TestAnUnlockAfterTheLossPassesNothingOn(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		s.Deletes(3 * second)
		s.Owner("A1").Locks().Hears(func() {}).Unlocks(lock.ErrNotHeld)
		s.Owner("B1").At(3100 * milli).Section(5 * second)
		s.Owner("A2").At(3200 * milli).Section(second)
		s.Serves("A1", "B1", "A2")
	})
}

// No renewal is answered, though the server executes them. The local clock tells,
// and a lease that the server still has is not believed in again.
func TestTheLocalClockTellsWhenTheServerDoesNot(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		s.Owner("A1").Suffers(lab.Fault{LoseReply: true}).
			Fails(lab.Acquire, 1, lab.Fault{AnswerAfter: milli}).Locks().
			Hears(func() {
				assert.Equal(t, ttl+milli, s.Now(), "from when it was asked for")
			}).
			At(12*second).Suffers(lab.Fault{}).Tries(false, lock.ErrLost).
			Unlocks() // the server still has its lease
		s.Owner("A2").LocksWithin(time.Minute, locktest.ErrUnknown).
			At(11*second).LocksWithin(time.Minute, locktest.ErrUnknown).
			At(13 * second).Section(second).Since(13 * second)
		s.Serves("A1", "A2")
	})
}

// A1 unlocks in the instant in which its lease ends: a process that was stopped
// does so before its timer has told. To pass the turn on would be a lie. It looks
// at Lost before that timer, too.
func TestAnUnlockAtTheEndOfTheLeaseIsDenied(t *testing.T) {
	for n := 0; n < 50 && !t.Failed(); n++ {
		play(t, "A", func(s *locktest.Scenario) {
			a1 := s.Owner("A1", lock.FixedLease())
			a1.Does(func() {
				require.NoError(t, a1.Lock.Lock(s.Context()))
				time.Sleep(ttl)
				if n%2 == 0 {
					assert.True(t, a1.LostNow(), "the lease is over")
				}
				assert.ErrorIs(t, a1.Lock.Unlock(s.Context()), lock.ErrNotHeld)
				<-a1.Lost()
			})
			s.Owner("A2", lock.FixedLease()).Section(second)
			s.Serves("A2")
		})
	}
}

// A1 is inside and has lost the lock. It is refused, and it does not wait: nobody
// loses a turn to it.
func TestAnOwnerThatHasLostTheLockDoesNotQueue(t *testing.T) {
	play(t, "A B C", func(s *locktest.Scenario) {
		s.Deletes(second)
		s.Owner("A1").Locks().At(2 * second).Locks(lock.ErrLost)
		s.Owner("B2").At(1500 * milli).Section(2 * second)
		s.Owner("C3").At(2500 * milli).Section(second).Since(3500 * milli)
		s.Serves("A1", "B2", "C3")
	})
}

// A1's lease is not shared, so A2 gives it up and asks for one of its own. B,
// which is next, has died. A2 gets the lock when B's turn is over.
func TestATurnEndsThatWasGivenWithALease(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		s.Owner("A1", lock.FixedLease()).Section(3 * second)
		s.Owner("A2", lock.FixedLease()).Section(second).
			Since(3*second + milli + ttl/20)
		s.Owner("B3").At(second).Locks()
		s.Process("B").CrashesAt(2 * second)
		s.Serves("A1", "A2")
	})
}

// A1's inner Unlock meets an error. It calls each Unlock once, as with defer, and
// the lock is A2's.
func TestTheOutermostUnlockPassesTheLockOnAfterAnInnerOneThatFailed(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		s.Owner("A1").Locks().Locks().At(second).
			Fails(lab.Release, 1, lab.Fault{Refuse: true}).Unlocks(locktest.ErrUnknown).
			At(2 * second).Unlocks().Unlocks(lock.ErrNotHeld)
		s.Owner("A2").Section(second)
		s.Owner("B5").At(1500 * milli).LocksWithin(3 * second).Unlocks()
		s.Serves("A1", "A2", "B5")
	})
}
