package cohort_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// What a holder does when something has gone wrong before.

// A process that was stopped looks before its timer does.
func TestAHolderThatWakesUpSeesThatItsLeaseIsOver(t *testing.T) {
	for n := 0; n < 50 && !t.Failed(); n++ {
		tell(t, func(s *story) {
			a := s.begin("A")[0]
			a.owner(1, func(o *owner) {
				require.NoError(t, o.lock.Lock(s.Context()))
				time.Sleep(ttl)
				select {
				case <-o.lock.Lost():
				default:
					t.Error("Lost is open, and the lease is over")
				}
				assert.ErrorIs(t, o.lock.Unlock(s.Context()), lock.ErrNotHeld)
			}, lock.FixedLease())
			s.Play()
		})
	}
}

// A1's inner Unlock meets an error. It calls each Unlock once, as with defer, and
// the lock is free, or A2's.
func TestTheOutermostUnlockReleasesAfterAnInnerOneThatFailed(t *testing.T) {
	for name, others := range map[string]int{"alone": 0, "passed on": 1} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				all := s.begin("A", "B")
				a, b := all[0], all[1]
				a.Fault(lab.Renewal, 3, lab.Fault{Refuse: true})
				a.owner(1, func(o *owner) {
					require.True(t, o.acquire())
					assert.NoError(t, o.lock.Lock(s.Context()))
					o.at(second)
					assert.Error(t, o.lock.Unlock(s.Context()))
					o.at(2 * second)
					assert.NoError(t, o.release())
					assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
				})
				for n := range others {
					a.owner(2+n, func(o *owner) { o.section(second) })
				}
				b.owner(5, func(o *owner) {
					o.at(1500 * milli)
					assert.NoError(t, o.acquireWithin(3*second))
					assert.NoError(t, o.release())
				})
				s.Play()
				assert.Len(t, s.served, 2+others)
			})
		})
	}
}

// An operator has put a string where the lock was. It is nobody's lock, and its
// holder is told so, at each level.
func TestAKeyOfAnotherTypeIsNotHeld(t *testing.T) {
	for name, told := range map[string]func(o *owner){
		"by Unlock": func(*owner) {},
		"by the watchdog": func(o *owner) {
			assert.LessOrEqual(t, o.lost(), ttl/3+10*milli)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				all := s.begin("A", "B")
				s.forgot = true
				all[0].owner(1, func(o *owner) {
					require.True(t, o.acquire())
					assert.NoError(t, o.lock.Lock(s.Context()))
					o.Step("an operator", s.Node(0).Delete)
					rdb := all[1].env.Nodes[0]
					assert.NoError(t, rdb.Set(s.Context(), key, "a string",
						0).Err())
					told(o)
					assert.ErrorIs(t, o.lock.Unlock(s.Context()),
						lock.ErrNotHeld)
					assert.ErrorIs(t, o.release(), lock.ErrNotHeld)
					assert.Equal(t, "a string",
						rdb.Get(s.Context(), key).Val())
				})
				s.Play()
			})
		})
	}
}

// A1 is inside and has lost the lock. It is refused, and it does not wait: nobody
// loses a turn to it.
func TestAnOwnerThatHasLostTheLockDoesNotQueue(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		s.forgot = true
		s.operator(second, "deletes", func(n *lab.Node) { n.Delete() })
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(2 * second)
			assert.ErrorIs(t, o.lock.Lock(s.Context()), lock.ErrLost)
		})
		b.owner(2, func(o *owner) {
			o.at(1500 * milli)
			o.section(2 * second)
		})
		c.owner(3, func(o *owner) {
			o.at(2500 * milli)
			o.section(second)
			assert.Equal(t, 3500*milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B2", "C3"}, s.served)
	})
}

// A1's lease is not shared, so A2 gives it up and asks for one of its own. B,
// which is next, has died. A2 gets the lock when B's turn is over.
func TestATurnEndsThatWasGivenWithALease(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		a.owner(1, func(o *owner) { o.section(3 * second) }, lock.FixedLease())
		a.owner(2, func(o *owner) {
			o.section(second)
			assert.Equal(t, 3*second+milli+ttl/20, o.since)
		}, lock.FixedLease())
		b.owner(3, func(o *owner) {
			o.at(second)
			o.acquire()
		})
		b.crash(2 * second)
		s.Play()
		assert.Equal(t, []string{"A1", "A2"}, s.served)
	})
}
