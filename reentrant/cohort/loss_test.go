package cohort_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// A1 works when the lease is lost, A2 and A3 wait for it. B takes the lock as soon
// as the server has it.
func TestALeaseIsLostInTheMiddleOfACohort(t *testing.T) {
	lose := map[string]struct {
		lose func(s *story, a *process)
		told time.Duration // A1, at the latest
	}{
		"an operator deletes the lock": {func(s *story, _ *process) {
			s.operator(4*second, "deletes", func(n *lab.Node) { n.Delete() })
			s.forgot = true
		}, ttl * 2 / 3},
		"the network is cut": {func(_ *story, a *process) {
			a.Hold(second, 30*second, nil)
		}, ttl},
	}
	for name, how := range lose {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				all := s.begin("A", "B")
				a, b := all[0], all[1]
				how.lose(s, a)
				a.owner(1, func(o *owner) {
					require.True(t, o.acquire())
					assert.LessOrEqual(t, o.lost(), how.told+100*milli)
					o.at(12 * second)
					_, err := o.lock.TryLock(s.Context())
					assert.ErrorIs(t, err, lock.ErrLost)
					assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
					assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
				})
				for n := 2; n <= 3; n++ {
					a.owner(n, func(o *owner) { o.section(second) })
				}
				b.owner(1, func(o *owner) {
					o.at(5 * second)
					require.True(t, o.acquire())
					o.at(14 * second)
					assert.NoError(t, o.release())
				})
				s.Play()
				assert.Equal(t, []string{"A1", "B1", "A2", "A3"}, s.served)
				assert.IsIncreasing(t, s.tokens, "fencing tokens")
			})
		})
	}
}

// The renewal's answer has told A1, whose Unlock comes after it. A2 must not be
// let in by it.
func TestAnUnlockAfterTheLossPassesNothingOn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		s.operator(3*second, "deletes", func(n *lab.Node) { n.Delete() })
		s.forgot = true
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.lost()
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
		})
		b.owner(1, func(o *owner) {
			o.at(3100 * milli)
			o.section(5 * second)
		})
		a.owner(2, func(o *owner) {
			o.at(3200 * milli)
			o.section(second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B1", "A2"}, s.served)
	})
}

// No renewal is answered, though the server executes them. The local clock tells,
// and a lease that the server still has is not believed in again.
func TestTheLocalClockTellsWhenTheServerDoesNot(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Always(lab.Fault{LoseReply: true})
		a.Begin(lab.Acquire)
		a.Fault(lab.Acquire, 1, lab.Fault{AnswerAfter: milli})
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			assert.Equal(t, ttl+milli, o.lost(), "from when it was asked for")
			o.at(12 * second)
			o.Step("mends", func() { a.Always(lab.Fault{}) })
			_, err := o.lock.TryLock(s.Context())
			assert.ErrorIs(t, err, lock.ErrLost)
			assert.NoError(t, o.release(), "the server still had it")
		})
		a.owner(2, func(o *owner) {
			assert.Error(t, o.acquireWithin(time.Minute), "no answer")
			o.at(11 * second)
			assert.Error(t, o.acquireWithin(time.Minute), "no answer")
			o.at(13 * second)
			o.section(second)
			assert.Equal(t, 13*second, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}

// A2 gets the lock when A1 has lost it. A1's late Unlock must not hit it.
func TestALateUnlockAfterTheLossReleasesNothing(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		s.operator(3*second, "deletes", func(n *lab.Node) { n.Delete() })
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(5 * second)
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
			assert.False(t, s.Node(0).Free())
		})
		a.owner(2, func(o *owner) {
			o.section(4 * second)
			assert.Less(t, o.since, 4*second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}

// A2 is to give A1's lease up, and does not know that it is gone. B has the lock.
func TestALeaseThatIsGoneIsNotGivenUpForAnotherOnes(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		s.operator(second, "deletes", func(n *lab.Node) { n.Delete() })
		s.forgot = true
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(2 * second)
			assert.NoError(t, o.release(), "nobody has said otherwise")
		}, lock.FixedLease())
		a.owner(2, func(o *owner) { o.section(second) }, lock.FixedLease())
		b.owner(3, func(o *owner) {
			o.at(1100 * milli)
			o.section(5 * second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B3", "A2"}, s.served)
	})
}

// A1 unlocks in the instant in which its lease ends: a process that was stopped
// does so before its timer has told. To pass the turn on would be a lie.
func TestAnUnlockAtTheEndOfTheLeaseIsDenied(t *testing.T) {
	for range 50 {
		tell(t, func(s *story) {
			a := s.begin("A")[0]
			a.owner(1, func(o *owner) {
				require.NoError(t, o.lock.Lock(s.Context()))
				time.Sleep(ttl)
				assert.ErrorIs(t, o.lock.Unlock(s.Context()), lock.ErrNotHeld)
				<-o.lock.Lost()
			}, lock.FixedLease())
			a.owner(2, func(o *owner) { o.section(second) },
				lock.FixedLease())
			s.Play()
			assert.Equal(t, []string{"A2"}, s.served)
		})
	}
}

// Nobody has told the owner yet. The server does, when it asks.
func TestAnOwnerThatHasLostTheLockDoesNotEnterAgain(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		s.operator(second, "deletes", func(n *lab.Node) { n.Delete() })
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(2 * second)
			granted, err := o.lock.TryLock(s.Context())
			assert.False(t, granted)
			assert.ErrorIs(t, err, lock.ErrLost)
			assert.True(t, s.Node(0).Free())
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
		})
		s.Play()
	})
}
