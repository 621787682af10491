package ladder_test

import (
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The promises of the rungs whose waiters stand in a queue at the server: whose turn
// it is, and what becomes of the turn of a waiter that has left.

func TestADeadWaiterCostsOneTurn(t *testing.T) {
	for name, comes := range map[string]time.Duration{
		"others wait for their turn": 2500 * time.Millisecond,
		"others come in its turn":    3100 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			promised(t, queuing, func(p *promise) {
				p.a.Section(3 * time.Second)
				p.b.At(time.Second).Locks()
				p.b.CrashesAt(2 * time.Second)
				p.Owner("C").At(comes).Section(time.Second).
					SinceAtMost(3*time.Second + lease/20 + time.Microsecond)
				p.Serves("A", "C")
			})
		})
	}
}

func TestTryLockDoesNotQueue(t *testing.T) {
	promised(t, queuing, func(p *promise) {
		p.a.Section(3 * time.Second)
		p.b.At(time.Second).Tries(false)
		p.Owner("C").At(2 * time.Second).Section(time.Second).
			Since(3 * time.Second)
		p.Serves("A", "C")
	})
}

// B's network is slow when its turn comes. Neither Lock nor TryLock overtakes it.
func TestNobodyOvertakesTheOwnerThatHasTheTurn(t *testing.T) {
	promised(t, queuing, func(p *promise) {
		p.b.Hold(2900*time.Millisecond, 3300*time.Millisecond, nil)
		p.a.Section(3 * time.Second)
		p.b.At(time.Second).Section(time.Second).Since(3300 * time.Millisecond)
		p.Owner("C").At(3100 * time.Millisecond).Section(time.Second)
		p.Owner("D").At(3200 * time.Millisecond).Tries(false)
		p.Serves("A", "B", "C")
	})
}

// B's turn is told before its subscription stands. It asks once more when that is
// confirmed.
func TestATurnThatWasToldTooEarlyIsNotMissed(t *testing.T) {
	promised(t, queuing, func(p *promise) {
		p.a.Section(time.Second)
		p.b.At(500*time.Millisecond).
			Fails(lab.Acquire, 2, lab.Fault{Deliver: 2 * time.Second}). // SUBSCRIBE
			Section(time.Second).Since(2 * time.Second)
		p.Play()
	})
}
