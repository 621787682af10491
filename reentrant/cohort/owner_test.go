package cohort_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

func TestUnlockOfALockThatWasPassedOnReleasesNothing(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		s.Owner("A1").Locks().At(second).Unlocks().
			At(1500 * milli).Unlocks(lock.ErrNotHeld)
		s.Owner("A2").Section(second)
		s.Serves("A1", "A2")
		assert.True(t, s.Node(0).Free())
	})
}

// A1 has unlocked already. That it does so once more is no reason to let anybody in
// before A2, which asks the server.
func TestASecondUnlockLeavesTheCohortAsItIs(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		s.Owner("A1").Locks().At(second).Unlocks().
			At(2500 * milli).Unlocks(lock.ErrNotHeld)
		s.Owner("A2").At(2*second).
			Fails(lab.Acquire, 1, lab.Fault{Deliver: second}).Section(second)
		s.Owner("A3").At(2600 * milli).Section(second).Does(func() {
			assert.Equal(t, 2, s.Process("A").Asked("EVALSHA acquire.lua", 0),
				"A2 passed the lock on to A3")
		})
		s.Serves("A1", "A2", "A3")
	})
}

// A2 has the local lock since A1's release was answered, and renews a lease of its
// own. A1's would be over at 10 s.
func TestAnEarlierLeaseThatIsOverIsNoLossToTheHolder(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		a1, a2 := s.Owner("A1"), s.Owner("A2")
		a1.Locks().Suffers(lab.Fault{AnswerAfter: second}).At(second).Unlocks().
			Suffers(lab.Fault{}).At(12 * second).Looks(func() { a1.Lost() })
		a2.At(1500 * milli).Locks().At(13 * second).Holds(true).Unlocks()
		s.Serves("A1", "A2")
	})
}

// A1 passes its turn on to A2, which is to ask for a lease of its own, and gives
// up at that moment. Which of the two comes first differs from run to run.
func TestALeaseThatNobodyTakesOverIsReleased(t *testing.T) {
	for range 50 {
		play(t, "A B", func(s *locktest.Scenario) {
			ctx, cancel := context.WithCancel(s.Context())
			a1 := s.Owner("A1", lock.FixedLease()).Locks().At(5 * second)
			a1.Does(func() {
				a1.Leave()
				cancel()
				assert.NoError(t, a1.Lock.Unlock(s.Context()))
			})
			a2 := s.Owner("A2", lock.FixedLease())
			a2.Does(func() {
				assert.ErrorIs(t, a2.Lock.Lock(ctx), context.Canceled)
			})
			s.Owner("B1").At(5100 * milli).Section(second).Since(5100 * milli)
			s.Play()
		})
	}
}

// As above, but the network is cut when A1's lease is to be given up, and comes back.
// Nobody may renew that lease any more. Where A2 has given up before A1 unlocks, it
// is A1's release that the network refuses.
func TestALeaseThatNobodyTakesOverIsNotRenewed(t *testing.T) {
	for range 50 {
		play(t, "A B", func(s *locktest.Scenario) {
			ctx, cancel := context.WithCancel(s.Context())
			a1 := s.Owner("A1").Locks().At(5 * second)
			a1.Does(func() {
				a1.Step("cuts", func() { a1.Always(lab.Fault{Refuse: true}) })
				a1.Leave()
				cancel()
				assert.NotErrorIs(t, a1.Lock.Unlock(s.Context()), lock.ErrNotHeld)
			}).At(5500 * milli).Suffers(lab.Fault{})
			a2 := s.Owner("A2")
			a2.Does(func() {
				assert.ErrorIs(t, a2.Lock.Lock(ctx), context.Canceled)
			})
			s.Owner("B1").At(6 * second).LocksWithin(60 * second).
				SinceAtMost(14 * second).Unlocks()
			s.Process("A").CrashesAt(100 * second) // or a watchdog would live on
			s.Play()
		})
	}
}

// A2 waits until A1's watchdog has stopped, whose renewal hangs.
func TestLockEndsWithItsContextDuringTheRenewalOfAnother(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		s.Owner("A1").Locks().At(3200 * milli).Suffers(lab.Fault{Hang: true}).
			At(3400 * milli).Suffers(lab.Fault{}).At(4 * second).Unlocks()
		s.Owner("A2").At(second).LocksWithin(3500*milli, context.DeadlineExceeded).
			Does(func() { assert.Equal(t, 4500*milli, s.Now()) })
		s.Owner("B1").At(5 * second).Section(second).Since(5 * second)
		s.Play()
	})
}

// The question of another cohort of A hangs. A3 has A2's lease, which is too old, and
// gives it up all the same.
func TestALeaseIsGivenUpWhileAnotherCohortAsks(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		s.Owner("A1", lock.FixedLease()).At(second).LocksWithin(60 * second).Unlocks()
		s.Owner("A4").WithLease(ttl-second).At(3900*milli).
			Fails(lab.Acquire, 1, lab.Fault{AnswerAfter: 6 * second}).
			LocksWithin(60 * second).Unlocks()
		s.Owner("A2").Tries(true).At(4 * second).Unlocks()
		s.Owner("A3").At(second).Section(second)
		s.Owner("B1").At(500 * milli).Section(second).SinceAtMost(4*second + 10*milli)
		s.Play()
	})
}

// The counter is removed while A1 holds the lock.
func TestATokenThatIsGivenBackIsOneThatWasReserved(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		a1 := s.Owner("A1")
		a1.Locks().At(second).Does(func() {
			s.Process("A").Redis().(*redis.Client).Del(s.Context(), "{stock}:token")
		}).At(2 * second).Unlocks()
		a1.Finds(true).Tries(true).Unlocks()
		s.Play()
	})
}

func TestAnOwnerHasTwoThirdsOfALeaseWhenItIsLetIn(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		for _, name := range []string{"A1", "A2", "A3", "A4", "A5"} {
			works := 1100 * milli
			if name == "A5" {
				works += 4 * second
			}
			s.Owner(name).Locks().Does(func() {
				assert.Greater(t, s.Node(0).LeaseLeft(), ttl*2/3, name)
			}).Works(works).Unlocks()
		}
		s.Play()
		var renewed []string
		for _, text := range s.Process("A").Commands() {
			if _, of, ok := strings.Cut(text, " renew.lua "); ok {
				renewed = append(renewed, of)
			}
		}
		assert.Equal(t, []string{"stock A#2 10000", "stock A#3 10000"},
			renewed, "a lease that was given up is not renewed")
	})
}

// A1's connection breaks when it has been granted the lock. A2 finds the grant,
// and not A1, which was told nothing.
func TestTheNextOwnerFindsAGrantThatWasNotAnswered(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		s.Owner("A1").Fails(lab.Acquire, 1, lab.Fault{Deliver: 100 * milli,
			LoseReply: true}).Tries(false, locktest.ErrUnknown).
			At(2 * second).Unlocks(lock.ErrNotHeld).
			At(10 * second).Section(second)
		s.Owner("A2").Section(5 * second).SinceAtMost(second)
		s.Serves("A2", "A1")
	})
}

// A2's second question is not answered, and its Lock returns. Its next Lock finds
// the place in the queue, before C.
func TestAnOwnerFindsItsPlaceInTheQueue(t *testing.T) {
	play(t, "A B C", func(s *locktest.Scenario) {
		s.Owner("B1").Section(3 * second)
		s.Owner("A2"). // it asks, subscribes, and asks again
				Fails(lab.Acquire, 3, lab.Fault{LoseReply: true}).
				LocksWithin(second, locktest.ErrUnknown).
				At(2 * second).Section(second).SinceAtMost(3*second + 10*milli)
		s.Owner("C3").At(second).Section(second)
		s.Serves("B1", "A2", "C3")
	})
}

// A1 was granted the lock and not answered. A2, which comes first now, knows
// nothing of that. When it gives up, A1 gives its own grant up for another one.
func TestAnOwnerGivesUpAGrantThatWasNotAnswered(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		s.Owner("A1").Fails(lab.Acquire, 1, lab.Fault{LoseReply: true}).
			Tries(false, locktest.ErrUnknown).
			At(500 * milli).Section(second).SinceAtMost(1200 * milli)
		s.Owner("A2").At(100 * milli).GivesUp(second)
		s.Serves("A1")
	})
}

// The queue outlives the leases of those that wait in it.
func TestAShortLeaseWaitsForALongOne(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		s.Owner("A1").Section(8 * second)
		s.Owner("B2").WithLease(100 * milli).At(second).Section(0).
			Since(8*second + milli)
		s.Serves("A1", "B2")
	})
}

// A1's lease is over by its own clock, and for 5 ms not by the server's. Its token was
// used, so it isn't given back.
func TestALateReleaseGivesNoTokenBack(t *testing.T) {
	play(t, "A B", func(s *locktest.Scenario) {
		s.Owner("A1", lock.FixedLease()).
			Fails(lab.Acquire, 1, lab.Fault{Deliver: 5 * milli}).Locks().
			At(ttl + 2*milli).Unlocks()
		s.Owner("B1").At(11 * second).Section(0)
		s.Play()
		assert.Equal(t, []uint64{1, 2}, s.Tokens)
	})
}

// Owners of one process whose leases differ share no lease.
func TestAReleaseWakesAnotherCohortOfTheProcess(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		s.Owner("A1").Tries(true).At(2 * second).Unlocks()
		s.Owner("A2", lock.FixedLease()).At(second).Section(0).
			SinceAtMost(2*second + 10*milli)
		s.Serves("A1", "A2")
	})
}

// Only the outermost level has a token.
func TestAnInnerLevelDrawsNoToken(t *testing.T) {
	play(t, "A", func(s *locktest.Scenario) {
		s.Owner("A1").Locks().Locks().Unlocks().Unlocks().Locks().Unlocks()
		s.Play()
		assert.Equal(t, []uint64{1, 2}, s.Tokens)
	})
}
