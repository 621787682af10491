package readwrite_test

import (
	"context"
	"testing"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
)

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
