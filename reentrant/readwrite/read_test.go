package readwrite_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest/owners"
	"github.com/lockladder/lockladder/lock"
)

// Here are promises of the read side that no scenario judges.

const (
	ttl    = owners.Lease
	second = time.Second
	milli  = time.Millisecond
)

// play runs a scenario whose processes have not locked before.
func play(t *testing.T, script func(s *owners.Scenario)) {
	t.Helper()
	owners.Run(t, owners.Config{Build: build}, script)
}

func TestAReaderIsDeniedTheWriteLockWithoutACommand(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		a := s.Owner("A")
		before := 0
		a.RLocks().Looks(func() { before = len(a.Commands()) }).
			Tries(false, lock.ErrUpgrade).Locks(lock.ErrUpgrade).
			Looks(func() { assert.Len(t, a.Commands(), before) }).
			RUnlocks().Section(0) // it read still, and now it may write
	})
}

func TestEachKindOfLockHasItsOwnUnlock(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RUnlocks(lock.ErrNotHeld).RLocks().Unlocks(lock.ErrNotHeld).
			At(2 * second).RUnlocks().Locks().RUnlocks(lock.ErrNotHeld).
			At(4 * second).Unlocks().Unlocks(lock.ErrNotHeld).
			RUnlocks(lock.ErrNotHeld)
		s.Owner("B").
			At(second).Tries(false).     // A's Unlock has not ended A's reading
			At(3 * second).RTries(false) // nor A's RUnlock A's writing
	})
}

func TestBothSidesCountTheirLevels(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Locks().RLocks().Locks().RLocks().Unlocks().
			At(2 * second).Unlocks(). // remains as a reader
			At(4 * second).RUnlocks().RLocks().
			At(6 * second).RUnlocks().
			At(8 * second).RUnlocks()
		b := s.Owner("B").At(second).RTries(false)
		for _, moment := range []time.Duration{3, 5, 7} {
			b.At(moment * second).RTries(true).RUnlocks().Tries(false)
		}
		b.At(9 * second).Tries(true).Unlocks()
	})
}

// redisson#2144: a reader with a short lease cuts the lease of another. A's lease
// runs on, and not for longer.
func TestAShortLeaseCutsNoLongerOne(t *testing.T) {
	for name, reads := range map[string]func(b *owners.Owner){
		"when it is taken":     func(b *owners.Owner) { b.RLocks() },
		"when a level is left": func(b *owners.Owner) { b.RLocks().RLocks().RUnlocks() },
		"when it is renewed":   func(b *owners.Owner) { b.RLocks().Works(second / 2) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *owners.Scenario) {
				s.Owner("A").RLocks().Dies()
				b := s.Owner("B").WithLease(second).At(second)
				reads(b)
				b.Dies()
				s.Owner("C").At(3 * second).Tries(false).
					Locks().SinceAbout(ttl).Unlocks()
			})
		})
	}
}

// B's lease is over since 2 s.
func TestALongLeaseKeepsNoShorterOne(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RLocks().At(4 * second).RUnlocks()
		s.Owner("B").WithLease(second).At(second).RLocks().Dies()
		s.Owner("C").At(3 * second).Locks().Since(4 * second).Unlocks()
	})
}

// A TryLock does not wait, and a Lock does. Its Unlock wakes the reader.
func TestAReaderIsRefusedWhileAWriterWaits(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RLocks().At(5 * second).RUnlocks()
		s.Owner("B").At(second).Tries(false).
			At(3 * second).Locks().Since(5 * second).At(6 * second).Unlocks()
		s.Owner("C").At(2 * second).RTries(true).RUnlocks().
			At(4 * second).RTries(false).RLocks().Since(6 * second).RUnlocks()
	})
}

// Three writers hold the lock in turn, and two of them always wait. A reader waits
// for the one that is inside, and not for those.
func TestAReaderPassesByTheOtherWritersAfterOne(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		for i, name := range []string{"U", "V", "W"} {
			o := s.Owner(name).At(time.Duration(i) * 100 * milli)
			for range 5 {
				o.Section(2 * second).Works(10 * milli)
			}
		}
		s.Owner("R").At(3 * second).RLocks().Since(4 * second).RUnlocks()
	})
}

// Nobody has written before. U waits for A, which reads, and V for U; R waits for one
// of them.
func TestAReaderPassesByTheOtherWritersAfterTheFirstOfAll(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RLocks().At(3 * second).RUnlocks()
		s.Owner("U").At(second).Locks().Since(3 * second).At(5 * second).Unlocks()
		s.Owner("V").At(4 * second).Section(second)
		s.Process("V").Hold(4900*milli, 5200*milli, nil) // R comes first
		s.Owner("R").At(2 * second).RLocks().Since(5 * second).RUnlocks()
	})
}

// A1 would hand the lock over to A2, and B is nearer than R. R comes first all the same.
func TestAReaderThatWaitsForAWriterComesBeforeTheNext(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A1").Section(2 * second)
		s.Owner("A2").At(100 * milli).Section(2 * second)
		s.Owner("B").At(200 * milli).Section(second)
		s.Process("R").Hold(1900*milli, 2500*milli, nil)
		s.Owner("R").At(second).RLocks().Since(2500 * milli).Looks(func() {
			assert.Zero(t, s.Node(0).Observe("{stock}:waiting"), "it waits no more")
		}).RUnlocks()
	})
}

// R gives up when A has left and B is kept out, and Q did not wait.
func TestAReaderThatGivesUpHoldsNoWriterBack(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Section(2 * second)
		s.Owner("Q").At(second).RTries(false)
		s.Owner("R").At(second).RLocksWithin(1400*milli, context.DeadlineExceeded)
		s.Process("R").Hold(1900*milli, 2500*milli, nil)
		s.Owner("B").At(1500 * milli).Section(0).Since(2500 * milli)
	})
}

// The readers are evicted, and B writes.
func TestAReaderThatHasLostTheLockHoldsNoWriterBack(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		a := s.Owner("A")
		a.RLocks().Does(func() { a.Redis().Del(s.Context(), "{stock}:readers") }).
			At(2 * second).RLocks(lock.ErrLost).At(4 * second).RUnlocks(lock.ErrNotHeld)
		s.Owner("B").At(second).Section(2 * second)
		s.Owner("C").At(2500 * milli).Section(0).Since(3 * second)
	})
}

// R has asked at 1.7 s for the last time.
func TestAReaderThatDiesWaitingIsForgottenAfterItsLease(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Section(2 * second)
		s.Owner("R").WithLease(second).At(second).RLocks()
		s.Process("R").CrashesAt(1900 * milli)
		s.Owner("B").At(1500 * milli).Section(0).SinceAtMost(2700 * milli)
	})
}

// Ten readers of a process wait for a writer. One asks for all, and the others ask
// when it is in.
func TestAWritersUnlockLetsAllReadersInAtOnce(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Section(3 * second)
		for n := range 10 {
			s.Owner(fmt.Sprint("B", n)).At(second).RLocks().Since(3 * second).
				At(5 * second).RUnlocks()
		}
		s.Owner("C").At(4 * second).Looks(func() {
			assert.Equal(t, 10, s.Process("B").Asked("read.lua", 3*second))
		})
	})
}

// Its renewal finds nothing.
func TestAReaderThatLostItsLeaseDoesNotEnterAgain(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		a := s.Owner("A")
		a.RLocks().Does(func() { a.Redis().Del(s.Context(), "{stock}:readers") }).
			At(second).RTries(false, lock.ErrLost).
			At(4 * second).Holds(false).RUnlocks(lock.ErrNotHeld)
	})
}

func TestTheReadSideIsBusyToASecondGoroutine(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Section(4 * second)
		b := s.Owner("B").At(second).RLocks().RUnlocks()
		s.Owner("C").At(2 * second).Does(func() {
			_, err := b.ReadWrite().TryRLock(s.Context())
			assert.ErrorIs(t, err, lock.ErrBusy)
			assert.ErrorIs(t, b.ReadWrite().RLock(s.Context()), lock.ErrBusy)
			assert.ErrorIs(t, b.ReadWrite().RUnlock(s.Context()), lock.ErrBusy)
		})
	})
}

func TestRLockEndsWithItsContext(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").Section(6 * second)
		b := s.Owner("B").At(second)
		b.Does(func() {
			ctx, cancel := context.WithTimeout(s.Context(), second)
			defer cancel()
			err := b.ReadWrite().RLock(ctx)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, `wait to read "stock"`)
			assert.Equal(t, 2*second, s.Now())
		})
	})
}

// A writer that reads as well has no new grant.
func TestOnlyWritersHaveATokenAndItRises(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		a := s.Owner("A")
		a.RLocks().Does(func() { assert.Zero(t, a.Token()) }).RUnlocks()
		for want := range uint64(3) {
			a.Locks().RLocks().
				Does(func() { assert.Equal(t, want+1, a.Token()) }).
				Unlocks().RUnlocks()
		}
	})
}

// As with readers: a writer with a short lease waits for a moment, and dies. B waits
// on.
func TestAShortWaitCutsNoLongerOne(t *testing.T) {
	play(t, func(s *owners.Scenario) {
		s.Owner("A").RLocks().At(5 * second).RUnlocks()
		s.Owner("B").At(second).Section(0)
		s.Owner("C").WithLease(second).At(2 * second).Locks()
		s.Process("C").CrashesAt(2100 * milli)
		s.Owner("D").At(3500 * milli).RTries(false)
	})
}
