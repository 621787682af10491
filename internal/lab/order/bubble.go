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
	name   atomic.Value  // how stacks name it: a string
	passed atomic.Uint64 // how much has happened
}

// Run is Order's.
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
			err = live()
		})
	}()
	return b.watch(done)
}

// Exact is true.
func (b *Bubble) Exact() bool { return true }

// Take and Give do nothing: one thing passes at a time, and a mutex would stop the
// clock.
func (b *Bubble) Take() {}

// Give is Order's, see Take.
func (b *Bubble) Give() {}

// Await does nothing: the times of a scenario are exact.
func (b *Bubble) Await(func() bool, func() bool, time.Duration) {}

// From does it at once: what holds from a moment on compares times.
func (b *Bubble) From(_ time.Time, _, _ func() bool, _ time.Duration, do func()) {
	do()
}

// Busy is Order's.
func (b *Bubble) Busy() { b.passed.Add(1) }

// Passed is how often something has passed or was busy.
func (b *Bubble) Passed() uint64 { return b.passed.Load() }

// Took does nothing: what takes time here takes it in the scenario.
func (b *Bubble) Took(time.Duration) {}

// Late is 0: no machine is too slow for virtual time.
func (b *Bubble) Late() time.Duration { return 0 }

// Elapse lets virtual time go by, and shows the watch that it does: a thousand
// clients have timers that all come up now.
func (b *Bubble) Elapse(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(time.Second)
		b.Busy()
	}
	synctest.Wait()
}
