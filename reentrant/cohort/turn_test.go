package cohort_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
)

func TestAProcessHandsTheLockOverInTheOrderOfComing(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		for n := 1; n <= 5; n++ {
			a.owner(n, func(o *owner) { o.section(100 * milli) })
		}
		s.Play()
		assert.Equal(t, []string{"A1", "A2", "A3", "A4", "A5"}, s.served)
		assert.Len(t, a.sent(), 2, "one acquire, one release: %q", a.sent())
	})
}

func TestAnotherProcessWaitsForSeventeenSectionsAtMost(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		for n := 1; n <= 5; n++ {
			a.owner(n, func(o *owner) { o.loop(20, 10*milli) })
		}
		b.owner(1, func(o *owner) {
			o.at(12 * milli)
			o.loop(3, 10*milli)
		})
		s.Play()
		var theirs []int // sections of A between those of B
		count := 0
		for _, name := range s.served {
			count++
			if name == "B1" {
				theirs, count = append(theirs, count-1), 0
			}
		}
		assert.Equal(t, []int{17, 17, 17}, theirs, "%q", s.served)
		assert.Len(t, s.served, 103)
	})
}

func TestAnotherProcessWaitsForAThirdOfALeaseAndASection(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		for n := 1; n <= 3; n++ {
			a.owner(n, func(o *owner) { o.loop(5, 2*second) })
		}
		b.owner(1, func(o *owner) {
			o.at(100 * milli)
			o.section(second)
			assert.LessOrEqual(t, o.since, ttl/3+2*second)
		})
		s.Play()
		assert.Equal(t, 2, s.before("B1"), "%q", s.served)
		assert.Len(t, s.served, 16)
	})
}

func TestProcessesHaveTheLockInTurn(t *testing.T) {
	tell(t, func(s *story) {
		for _, p := range s.begin("A", "B", "C", "D") {
			for n := 1; n <= 3; n++ {
				p.owner(n, func(o *owner) { o.loop(20, 10*milli) })
			}
		}
		s.Play()
		require.Len(t, s.served, 240)
		var turns []string
		length := 0
		for i, name := range s.served {
			length++
			if i+1 == len(s.served) || s.served[i+1][0] != name[0] {
				turns = append(turns, fmt.Sprint(name[:1], length))
				length = 0
			}
		}
		assert.Equal(t, "A17 B17 C17 D17 A17 B17 C17 D17 A17 B17 C17 D17"+
			" A9 B9 C9 D9", strings.Join(turns, " "))
	})
}

// The 60 sections of a process are 4 leases. Nobody polls: each process asks
// when it is its turn.
func TestAWaitingProcessAsksWhenItIsItsTurn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C", "D")
		for _, p := range all {
			for n := 1; n <= 3; n++ {
				p.owner(n, func(o *owner) { o.loop(20, 10*milli) })
			}
		}
		s.Play()
		for _, p := range all {
			// An acquire and a release for each lease, refused once when it is
			// the others' turn, and once more when the subscription stands.
			assert.LessOrEqual(t, len(p.sent()), 3*4+1, "%q", p.sent())
		}
	})
}

func TestAProcessDiesInTheMiddleOfACohort(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		for n := 1; n <= 5; n++ {
			a.owner(n, func(o *owner) { o.loop(9, 100*milli) })
		}
		a.crash(850 * milli)
		for n := 1; n <= 2; n++ {
			b.owner(n, func(o *owner) {
				o.at(time.Duration(50+n) * milli)
				o.section(100 * milli)
				assert.LessOrEqual(t, o.since, ttl+second, "A's lease is over")
			})
		}
		s.Play()
		assert.Equal(t, 9, s.before("B1"), "%q", s.served)
		assert.Equal(t, []string{"B1", "B2"}, s.served[9:])
	})
}

func TestAProcessThatDiesInTheQueueCostsOneTurn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(1, func(o *owner) {
			o.at(second)
			o.section(second)
		})
		b.crash(2 * second)
		c.owner(1, func(o *owner) {
			o.at(2500 * milli)
			o.section(second)
			assert.InDelta(t, (3*second + ttl/20).Seconds(),
				o.since.Seconds(), 0.01)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C1"}, s.served)
	})
}

func TestWhoComesInADeadProcesssTurnWaitsForItsEnd(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			o.section(second)
		})
		b.crash(2 * second)
		c.owner(3, func(o *owner) {
			o.at(3100 * milli)
			o.section(second)
			assert.Equal(t, 3*second+milli+ttl/20, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C3"}, s.served)
	})
}

func TestTryLockDoesNotQueue(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			granted, err := o.lock.TryLock(s.Context())
			assert.NoError(t, err)
			assert.False(t, granted)
		})
		c.owner(3, func(o *owner) {
			o.at(2 * second)
			o.section(second)
			assert.Equal(t, 3*second+milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C3"}, s.served)
	})
}

// B's network is slow when its turn comes. Nobody overtakes it.
func TestNobodyOvertakesWhoHasTheTurn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		b.Hold(2900*milli, 3200*milli, nil)
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			o.section(second)
			assert.Equal(t, 3200*milli, o.since)
		})
		c.owner(3, func(o *owner) {
			o.at(3100 * milli)
			granted, err := o.lock.TryLock(s.Context())
			assert.NoError(t, err)
			assert.False(t, granted)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B2"}, s.served)
	})
}

// B does not hear that it has the turn, and gives up. C gets the turn from it.
func TestWhoGivesUpPassesItsTurnOn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		s.operator(2500*milli, "mutes", func(n *lab.Node) { n.Mute(true) })
		s.operator(3100*milli, "unmutes", func(n *lab.Node) { n.Mute(false) })
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			assert.Error(t, o.acquireWithin(2200*milli))
		})
		c.owner(3, func(o *owner) {
			o.at(2 * second)
			o.section(second)
			assert.Equal(t, 3200*milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C3"}, s.served)
	})
}

func TestWhoGivesUpLeavesNoTurnBehind(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B", "C")
		a, b, c := all[0], all[1], all[2]
		s.operator(2500*milli, "mutes", func(n *lab.Node) { n.Mute(true) })
		a.owner(1, func(o *owner) { o.section(3 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			assert.Error(t, o.acquireWithin(2200*milli))
		})
		c.owner(3, func(o *owner) {
			o.at(3250 * milli) // the turn would have lasted until 3.5
			o.section(second)
			assert.Equal(t, 3250*milli, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "C3"}, s.served)
	})
}

// B waits for A, and then has the lock for itself: 60 sections take 60 ms, over
// several leases. What B left at the server while it waited is gone.
func TestAProcessThatIsAloneIsNotHeldUp(t *testing.T) {
	for name, a1 := range map[string]func(o *owner){
		"A unlocks": func(o *owner) { o.section(10 * milli) },
		"A dies":    func(o *owner) { o.acquire() },
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				all := s.begin("A", "B")
				a, b := all[0], all[1]
				a.owner(1, a1)
				a.crash(20 * milli)
				var began, ended time.Duration
				for n := 2; n <= 3; n++ {
					b.owner(n, func(o *owner) {
						o.section(0)
						began = max(began, o.since)
						o.loop(30, milli)
						ended = s.Now()
					})
				}
				s.Play()
				assert.Equal(t, 60*milli, ended-began)
			})
		})
	}
}

func TestAMessageThatIsLostCostsOneTurn(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		s.operator(0, "mutes", func(n *lab.Node) { n.Mute(true) })
		for n := 1; n <= 2; n++ {
			all[0].owner(n, func(o *owner) { o.loop(20, 10*milli) })
		}
		all[1].owner(1, func(o *owner) {
			o.at(20 * milli)
			o.section(10 * milli)
			assert.LessOrEqual(t, o.since, ttl+second)
		})
		s.Play()
		assert.Len(t, s.served, 41)
	})
}

// B's turn is told before its subscription stands. It asks once more when that is
// confirmed.
func TestATurnThatWasToldTooEarlyIsNotMissed(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		a.owner(1, func(o *owner) { o.section(second) })
		b.owner(2, func(o *owner) {
			b.Begin(lab.Acquire) // a question, SUBSCRIBE
			b.Fault(lab.Acquire, 2, lab.Fault{Deliver: 2 * second})
			o.at(500 * milli)
			o.section(second)
			assert.Equal(t, 2*second, o.since)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "B2"}, s.served)
	})
}

func TestTryLockDoesNotOvertake(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		b.owner(1, func(o *owner) { o.section(2 * second) })
		a.owner(2, func(o *owner) { o.section(2 * second) })
		a.owner(3, func(o *owner) {
			for _, at := range []time.Duration{second, 3 * second} {
				o.at(at)
				granted, err := o.lock.TryLock(s.Context())
				assert.NoError(t, err)
				assert.False(t, granted)
			}
			o.at(5 * second)
			granted, err := o.lock.TryLock(s.Context())
			assert.NoError(t, err)
			assert.True(t, granted)
			assert.NoError(t, o.lock.Unlock(s.Context()))
		})
		s.Play()
		assert.Equal(t, []string{"B1", "A2"}, s.served)
	})
}
