package order

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// longest is how much virtual time a scenario may take. The longest patience of a caller
// is an hour; a lock that renews a lease until then costs a second of a processor's time.
const longest = 2 * time.Hour

// most is the default of Virtual.Most. A thousand clients that ask five nodes
// every 100 ms stay below it.
const most = 200_000

// Virtual is the order in virtual time. A bubble fixes the time but not the
// order within one instant; this fixes that too. It lets one waiting thing pass
// at a time, and the next when everything has come to rest, in the order of
// (time, round of arrival, client, node, text). Between passing and blocking
// again, a goroutine runs alone among those that passed, which is why the
// world's state needs no lock.
type Virtual struct {
	Bubble

	// Most is how many things may pass in a second of virtual time before the
	// scenario counts as stuck; by default 200,000.
	Most int

	mu      sync.Mutex
	waiting []*pass
	round   uint64
	closed  bool
	arrived chan struct{}
}

// pass is one thing that waits.
type pass struct {
	Turn
	round uint64 // how many had passed when it arrived
	open  chan bool
}

func (v *Virtual) Run(t *testing.T, live func() error) error {
	t.Helper()
	return v.Bubble.Run(t, func() error {
		v.arrived = make(chan struct{}, 1) // of the bubble
		return live()
	})
}

func (v *Virtual) Wait(t Turn) bool {
	if now := time.Now(); now.After(t.Due) {
		t.Due = now
	}
	p := &pass{Turn: t, open: make(chan bool, 1)}
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return false
	}
	p.round = v.round
	v.waiting = append(v.waiting, p)
	v.mu.Unlock()
	v.Notice()
	return <-p.open
}

func (v *Virtual) Notice() {
	select {
	case v.arrived <- struct{}{}:
	default:
	}
}

// next lets the first thing pass that is due, or says when one will be.
func (v *Virtual) next() (opened bool, due time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.waiting) == 0 {
		return false, time.Time{}
	}
	first := slices.MinFunc(v.waiting, func(a, b *pass) int {
		return cmp.Or(
			a.Due.Compare(b.Due),
			cmp.Compare(a.round, b.round),
			cmp.Compare(a.Client, b.Client),
			cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.Text, b.Text))
	})
	if first.Due.After(time.Now()) {
		return false, first.Due
	}
	i := slices.Index(v.waiting, first)
	v.waiting = slices.Delete(v.waiting, i, i+1)
	v.round++
	v.Busy()
	first.open <- true
	return true, time.Time{}
}

func (v *Virtual) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for _, p := range v.waiting {
		p.open <- false
	}
	v.waiting = nil
}

func (v *Virtual) Play(running func() bool) error {
	limit := time.NewTimer(longest)
	defer limit.Stop()
	since, passed := time.Now(), 0
	most := cmp.Or(v.Most, most)
	for {
		synctest.Wait()
		opened, due := v.next()
		if opened {
			if passed++; passed == most {
				return fmt.Errorf("%w: it sends %d commands in a second of"+
					" virtual time, who waits must let time pass", ErrStuck, most)
			}
			continue
		}
		if time.Since(since) >= time.Second {
			since, passed = time.Now(), 0
		}
		if !running() {
			return nil
		}
		var timer <-chan time.Time
		if !due.IsZero() {
			timer = time.After(time.Until(due))
		}
		select {
		case <-v.arrived:
		case <-timer:
		case <-limit.C:
			return fmt.Errorf("%w: the scenario did not end within %v of virtual"+
				" time", ErrEndless, longest)
		}
	}
}
