package cohort_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

func TestEveryHolderHasAFencingTokenOfItsOwn(t *testing.T) {
	tell(t, func(s *story) {
		for _, p := range s.begin("A", "B") {
			for n := 1; n <= 3; n++ {
				p.owner(n, func(o *owner) { o.loop(10, 10*milli) })
			}
		}
		s.Play()
		assert.Len(t, s.tokens, 60)
		assert.IsIncreasing(t, s.tokens)
		assert.EqualValues(t, 1, s.tokens[0])
	})
}

func TestUnlockOfALockThatWasPassedOnReleasesNothing(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(second)
			require.NoError(t, o.release())
			o.at(1500 * milli)
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
		})
		a.owner(2, func(o *owner) { o.section(second) })
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
		assert.True(t, s.Node(0).Free())
	})
}

func TestWhoGivesUpLeavesNothingBehind(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.owner(1, func(o *owner) { o.section(3 * second) })
		for n := 1; n <= 3; n++ {
			b.owner(n, func(o *owner) {
				o.at(second)
				err := o.acquireWithin(time.Duration(n) * 500 * milli)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, second+time.Duration(n)*500*milli, s.Now())
			})
		}
		c.owner(1, func(o *owner) {
			o.at(2 * second) // behind B
			o.section(second)
			assert.Equal(t, 3*second+milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C1"}, s.served)
	})
}

// A1 passes its turn on to A2, which is to ask for a lease of its own, and gives
// up at that moment. Which of the two comes first differs from run to run.
func TestALeaseThatNobodyTakesOverIsReleased(t *testing.T) {
	for range 50 {
		tell(t, func(s *story) {
			all := s.begin("A", "B")
			a, b := all[0], all[1]
			ctx, cancel := context.WithCancel(s.Context())
			a.owner(1, func(o *owner) {
				require.True(t, o.acquire())
				o.at(5 * second)
				o.leave()
				cancel()
				assert.NoError(t, o.lock.Unlock(s.Context()))
			}, lock.FixedLease())
			a.owner(2, func(o *owner) {
				assert.ErrorIs(t, o.lock.Lock(ctx), context.Canceled)
			}, lock.FixedLease())
			b.owner(1, func(o *owner) {
				o.at(5100 * milli)
				o.section(second)
				assert.Equal(t, 5100*milli, o.since)
			})
			s.Play()
		})
	}
}

func TestAFixedLeaseIsNotShared(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		for n := 1; n <= 3; n++ {
			a.owner(n, func(o *owner) {
				require.True(t, o.acquire())
				assert.Equal(t, ttl, s.Node(0).LeaseLeft(), o.name)
				o.Sleep(second)
				assert.NoError(t, o.release())
			}, lock.FixedLease())
		}
		s.Play()
		assert.Equal(t, []string{"A1", "A2", "A3"}, s.served)
	})
}

func TestAnOwnerHasTwoThirdsOfALeaseWhenItIsLetIn(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		for n := 1; n <= 5; n++ {
			a.owner(n, func(o *owner) {
				require.True(t, o.acquire())
				assert.Greater(t, s.Node(0).LeaseLeft(), ttl*2/3, o.name)
				if o.Sleep(1100 * milli); n == 5 {
					o.Sleep(4 * second)
				}
				assert.NoError(t, o.release())
			})
		}
		s.Play()
		var renewed []string
		for _, text := range a.sent() {
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
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Begin(lab.Acquire)
		a.Fault(lab.Acquire, 1, lab.Fault{Deliver: 100 * milli,
			LoseReply: true})
		a.owner(1, func(o *owner) {
			granted, err := o.lock.TryLock(s.Context())
			assert.Error(t, err)
			assert.False(t, granted)
			o.at(2 * second)
			assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
			o.at(10 * second)
			o.section(second)
		})
		a.owner(2, func(o *owner) {
			o.section(5 * second)
			assert.Less(t, o.since, second)
		})
		s.Play()
		assert.Equal(t, []string{"A2", "A1"}, s.served)
	})
}

// Alone, who was not answered finds itself.
func TestAnOwnerFindsItsOwnGrant(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Begin(lab.Acquire)
		a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
		a.owner(1, func(o *owner) {
			assert.Error(t, o.acquireWithin(second))
			o.section(second)
			assert.Less(t, o.since, second)
		})
		s.Play()
		assert.Equal(t, []string{"A1"}, s.served)
	})
}

// A1's second question is not answered, and its Lock returns. Its next Lock finds
// the place in the queue, before C.
func TestAnOwnerFindsItsPlaceInTheQueue(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		b.owner(1, func(o *owner) { o.section(3 * second) })
		a.owner(2, func(o *owner) {
			a.Begin(lab.Acquire) // a question, SUBSCRIBE, another question
			a.Fault(lab.Acquire, 3, lab.Fault{LoseReply: true})
			assert.Error(t, o.acquireWithin(second))
			o.at(2 * second)
			o.section(second)
			assert.Less(t, o.since, 3*second+10*milli)
		})
		c.owner(3, func(o *owner) {
			o.at(second)
			o.section(second)
		})
		s.Play()
		assert.Equal(t, []string{"B1", "A2", "C3"}, s.served)
	})
}

// A1 was granted the lock and not answered. A2, which comes first now, knows
// nothing of that. When it gives up, A1 gives its own grant up for another one.
func TestAnOwnerGivesUpAGrantThatWasNotAnswered(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Begin(lab.Acquire)
		a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
		a.owner(1, func(o *owner) {
			_, err := o.lock.TryLock(s.Context())
			assert.Error(t, err)
			o.at(500 * milli)
			o.section(second)
			assert.Less(t, o.since, 1200*milli)
		})
		a.owner(2, func(o *owner) {
			o.at(100 * milli)
			assert.ErrorIs(t, o.acquireWithin(second), context.DeadlineExceeded)
		})
		s.Play()
		assert.Equal(t, []string{"A1"}, s.served)
	})
}

// The queue outlives the leases of those that wait in it.
func TestAShortLeaseWaitsForALongOne(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		a.owner(1, func(o *owner) { o.section(8 * second) })
		b.owner(2, func(o *owner) {
			l, err := cohort.New(b.env.Nodes[0], key, 100*milli,
				b.env.Options...)
			require.NoError(s.t, err)
			o.at(second)
			assert.NoError(t, l.Lock(s.Context()))
			assert.Equal(t, 8*second+milli, s.Now())
			assert.NoError(t, l.Unlock(s.Context()))
		})
		s.Play()
	})
}

func TestAnOwnerEntersAgainWhileOthersWait(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			token := o.lock.Token()
			assert.NoError(t, o.lock.Lock(s.Context()))
			assert.Equal(t, token, o.lock.Token())
			o.Sleep(second)
			assert.NoError(t, o.lock.Unlock(s.Context()))
			o.Sleep(second)
			assert.NoError(t, o.release())
		})
		a.owner(2, func(o *owner) {
			o.section(second)
			assert.GreaterOrEqual(t, o.since, 2*second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}

func TestASecondGoroutineInAHandleIsTurnedAway(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.owner(1, func(o *owner) { o.section(2 * second) })
		waits := a.owner(2, func(o *owner) { o.section(second) })
		a.owner(3, func(o *owner) {
			o.at(second)
			assert.ErrorIs(t, waits.lock.Lock(s.Context()), lock.ErrBusy)
			assert.ErrorIs(t, waits.lock.Unlock(s.Context()), lock.ErrBusy)
			_, err := waits.lock.TryLock(s.Context())
			assert.ErrorIs(t, err, lock.ErrBusy)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}
