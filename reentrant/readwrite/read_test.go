package readwrite_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/readwrite"
)

var build = lock.On(readwrite.New)

// Here are promises of the read side that no scenario judges.

const (
	ttl    = locktest.Lease
	second = time.Second
	milli  = time.Millisecond
)

// play runs a scenario whose processes have not locked before.
func play(t *testing.T, script func(s *locktest.Scenario)) {
	t.Helper()
	locktest.Run(t, locktest.Config{Build: build}, script)
}

func TestAReaderIsDeniedTheWriteLockWithoutACommand(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		a := s.Owner("A")
		before := 0
		a.RLocks().Looks(func() { before = len(a.Commands()) }).
			Tries(false, lock.ErrUpgrade).Locks(lock.ErrUpgrade).
			Looks(func() { assert.Len(t, a.Commands(), before) }).
			RUnlocks().Section(0) // it read still, and now it may write
	})
}

func TestEachKindOfLockHasItsOwnUnlock(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
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
	play(t, func(s *locktest.Scenario) {
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
	for name, reads := range map[string]func(b *locktest.Owner){
		"when it is taken":     func(b *locktest.Owner) { b.RLocks() },
		"when a level is left": func(b *locktest.Owner) { b.RLocks().RLocks().RUnlocks() },
		"when it is renewed":   func(b *locktest.Owner) { b.RLocks().Works(second / 2) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *locktest.Scenario) {
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

// B dies, A's lease was longer, and A has left.
func TestALongLeaseKeepsNobodyWaitingAfterIt(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("A").RLocks().At(2 * second).RUnlocks()
		s.Owner("B").WithLease(3 * second).At(second).RLocks().Dies()
		s.Owner("C").At(2500 * milli).Locks().SinceAbout(4 * second).Unlocks()
	})
}

// W2 and W3 are nearer than R, which waits for W1, and comes first all the same. Where
// another reads, R is refused because W1 waits.
func TestOneWriterAtMostComesInBeforeAReaderThatWaits(t *testing.T) {
	for name, other := range map[string]time.Duration{
		"one that is inside": 0, "one that waits": 2 * second} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *locktest.Scenario) {
				s.Owner("A").RLocks().At(other).RUnlocks()
				s.Owner("W1").At(100 * milli).Section(3 * second)
				s.Owner("W2").At(200 * milli).Section(3 * second)
				s.Owner("W3").At(300 * milli).Section(3 * second)
				s.Process("R").Hold(2100*milli, 5500*milli, nil)
				s.Owner("R").At(second).RLocks().Since(5500 * milli).Looks(func() {
					assert.Zero(t, s.Node(0).Observe("{stock}:waiting"), "it waits no more")
				}).RUnlocks()
			})
		})
	}
}

// R gives up when A has left and B is kept out, and Q did not wait.
func TestAReaderThatGivesUpHoldsNoWriterBack(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		s.Owner("A").Section(2 * second)
		s.Owner("Q").At(second).RTries(false)
		s.Owner("R").At(second).RLocksWithin(1400*milli, context.DeadlineExceeded)
		s.Process("R").Hold(1900*milli, 2500*milli, nil)
		s.Owner("B").At(1500 * milli).Section(0).Since(2500 * milli)
	})
}

// The readers are evicted, and B writes.
func TestAReaderThatHasLostTheLockHoldsNoWriterBack(t *testing.T) {
	play(t, func(s *locktest.Scenario) {
		a := s.Owner("A")
		a.RLocks().Does(func() { a.Redis().Del(s.Context(), "{stock}:readers") }).
			At(2 * second).RLocks(lock.ErrLost).At(4 * second).RUnlocks(lock.ErrNotHeld)
		s.Owner("B").At(second).Section(2 * second)
		s.Owner("C").At(2500 * milli).Section(0).Since(3 * second)
	})
}

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

// B was refused, and asks again when A unlocks. It is not answered, and its context ends
// meanwhile: its mark must not keep the others out for a lease.
func TestAWaiterThatIsCanceledWhileItAsksHoldsNobodyBack(t *testing.T) {
	for name, waits := range map[string]func(b *locktest.Owner){
		"a reader": func(b *locktest.Owner) {
			b.RLocksWithin(2*second, context.DeadlineExceeded)
		},
		"a writer": func(b *locktest.Owner) {
			b.LocksWithin(2*second, context.DeadlineExceeded)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *locktest.Scenario) {
				// Its scripts are known. Then it asks, subscribes, and asks twice more.
				b := s.Owner("B").RLocks().RUnlocks().Section(0).At(2*second).
					Fails(lab.Acquire, 4, lab.Fault{Hang: true})
				waits(b)
				s.Owner("A").At(second).Section(2 * second)
				s.Owner("C").At(5 * second).RTries(true).RUnlocks().Tries(true).Unlocks()
			})
		})
	}
}
