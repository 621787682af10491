package order

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Bubble is virtual time: a testing/synctest bubble, in which ten seconds pass in
// microseconds, and that is watched from outside. It is what the orders in virtual
// time have in common; they say who goes next.
type Bubble struct {
	name    atomic.Value  // how stacks name it: a string
	passed  atomic.Uint64 // how much has happened
	Arrived chan struct{} // see Notice
}

func (b *Bubble) Run(t *testing.T, live func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer func() {
			// The bubble's root panics when goroutines remain.
			if r := recover(); r != nil {
				err = fmt.Errorf("%w: %v", ErrLeak, b.leaking())
			}
		}()
		synctest.Test(t, func(*testing.T) {
			if own := bubbled.FindStringSubmatch(stacks(false)[0]); own != nil {
				b.name.Store(own[2])
			}
			b.Arrived = make(chan struct{}, 1) // of the bubble
			err = live()
		})
	}()
	return b.watch(done)
}

func (b *Bubble) Notice() {
	select {
	case b.Arrived <- struct{}{}:
	default:
	}
}

func (b *Bubble) Busy() { b.passed.Add(1) }

// Passed is how often something has passed or was busy.
func (b *Bubble) Passed() uint64 { return b.passed.Load() }

// Elapse lets virtual time go by, and shows the watch that it does: a thousand
// clients have timers that all come up now.
func (b *Bubble) Elapse(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(time.Second)
		b.Busy()
	}
	synctest.Wait()
}

// watch waits for the world's end in real time and notices a world that can't
// come to one. A clock alone can't tell a stuck world from one that gets no
// processor, on a busy machine or beside a larger world. So a world is stuck
// only if none of its goroutines could run at any look. One that computes without end
// is left to the timeout of go test.
func (b *Bubble) watch(done <-chan error) error {
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	var q quiet
	for {
		select {
		case err := <-done:
			return err
		case <-timer.C:
		}
		if passed := b.Passed(); passed != q.passed {
			q = quiet{passed: passed}
			continue
		}
		if err := q.look(b.goroutines); err != nil {
			return err
		}
	}
}

// goroutines are those inside the bubble.
func (b *Bubble) goroutines() []goroutine {
	var own []goroutine
	for _, stack := range stacks(true) {
		header := bubbled.FindStringSubmatch(stack)
		if header != nil && header[2] == b.name.Load() {
			own = append(own, goroutine{header[1], stack})
		}
	}
	return own
}

// leaking names the function that a goroutine was left behind in.
func (b *Bubble) leaking() (name string) {
	name = unknown
	for _, g := range b.goroutines() {
		if name, _ = caller(g.stack); name != unknown {
			break
		}
	}
	return name
}
