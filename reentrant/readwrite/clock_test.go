package readwrite_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// Here leases end, by the server's clock and to the millisecond. A stays inside for
// longer than B, so that the set of readers remains.

// Each of B's leases begins at a moment that isn't a whole second.
func TestALeaseLastsFromAnyMomentOn(t *testing.T) {
	for name, reads := range map[string]func(b *locktest.Owner){
		"when it is taken": func(b *locktest.Owner) { b.At(1500 * milli).RLocks() },
		"when a level is left": func(b *locktest.Owner) {
			b.At(500 * milli).RLocks().RLocks().At(1500 * milli).RUnlocks()
		},
		"when it is renewed": func(b *locktest.Owner) {
			b.At(833 * milli).RLocks().At(1600 * milli)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *locktest.Scenario) {
				s.Owner("A").RLocks().At(3 * second).RUnlocks()
				b := s.Owner("B").WithLease(2 * second)
				reads(b)
				b.Dies()
				s.Owner("C").At(3400 * milli).Tries(false).
					At(3600 * milli).Tries(true).Unlocks()
			})
		})
	}
}

// B's network is slow. The reply comes too late for B, which has been told by then. The
// server knows the script from D.
func TestALeaseIsRenewedInItsLastMillisecond(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("D").WithLease(second).RLocks().At(500 * milli).RUnlocks()
		s.Owner("A").RLocks().At(2500 * milli).RUnlocks()
		s.Owner("B").WithLease(2 * second).RLocks().At(3 * second).Holds(false).Dies()
		s.Process("B").Hold(600*milli, 2*second, nil)
		s.Owner("C").At(3900 * milli).Tries(false).
			At(4100 * milli).Tries(true).Unlocks()
	})
}

// B never unlocks: it was told of the loss.
func TestAReaderThatEntersAgainTooLateIsNotInside(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("A").RLocks().At(4 * second).RUnlocks()
		s.Owner("B").WithLease(2*second, lock.FixedLease()).RLocks().
			At(3*second).RTries(false, lock.ErrLost)
		s.Owner("C").At(4500 * milli).Tries(true).Unlocks()
	})
}

// diesWaiting has B wait to write while A reads until 3 s. B dies, and is forgotten at
// 2 s.
func diesWaiting(s *locktest.Scenario) {
	s.Owner("A").RLocks().At(3 * second).RUnlocks()
	s.Owner("B").WithLease(second).At(second).Locks()
	s.Process("B").CrashesAt(1100 * milli)
}

// The set of those that wait lasts for C.
func TestAWriterThatIsForgottenKeepsNoReaderOut(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		diesWaiting(s)
		s.Owner("C").At(1500 * milli).Locks().Since(3 * second).
			At(4 * second).Unlocks()
		s.Owner("D").At(5 * second).RTries(true).RUnlocks()
	})
}

func TestAWriterIsForgottenAfterTheLastMillisecond(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		diesWaiting(s)
		s.Owner("D").At(1999 * milli).RTries(false).
			At(2001 * milli).RTries(true).RUnlocks()
	})
}

// Nobody tells B, which would ask after a third of its own lease.
func TestAReaderGetsInWhenTheLeaseOfADeadWriterIsOver(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("A").WithLease(second).Locks().Dies()
		s.Owner("B").At(500 * milli).RLocks().SinceAbout(second).RUnlocks()
	})
}

// Somebody has taken the lease away.
func TestAReaderIsRefusedByAWriterWithoutALease(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		a := s.Owner("A", lock.FixedLease())
		a.Locks().Does(func() { a.Redis().Persist(s.Context(), locktest.Key) }).
			At(3 * second).Unlocks()
		s.Owner("B").At(second).RTries(false).RLocks().Since(3 * second).RUnlocks()
	})
}
