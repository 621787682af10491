package order

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Real is the order in real time, which is the world's own: everything goes on
// at once, and nothing waits but for its time.
type Real struct {
	Limit time.Duration // how long Play waits

	turn     sync.Mutex
	lateness atomic.Int64
	arrived  chan struct{}
	ended    chan struct{}
	end      sync.Once
}

// NewReal makes the order of one world, which may take so long.
func NewReal(limit time.Duration) *Real {
	return &Real{Limit: limit, arrived: make(chan struct{}, 1),
		ended: make(chan struct{})}
}

// Run is Order's.
func (r *Real) Run(_ *testing.T, live func() error) error {
	defer r.watchTheClock()()
	return live()
}

// Exact is false: the machine may be late.
func (r *Real) Exact() bool { return false }

// Wait is Order's: it waits for the time alone.
func (r *Real) Wait(t Turn) bool {
	timer := time.NewTimer(time.Until(t.Due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.ended:
		return false
	}
}

// Take is Order's.
func (r *Real) Take() { r.turn.Lock() }

// Give is Order's.
func (r *Real) Give() { r.turn.Unlock() }

// look is how often Await looks: often enough for a lease of seconds, and seldom enough
// for the processors, with many scenarios at once.
const look = 4 * time.Millisecond

// Await is Order's: no margin is wide enough for a busy machine.
func (r *Real) Await(event, dead func() bool, patience time.Duration) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		r.Take()
		happened := event()
		r.Give()
		if happened || dead() {
			return
		}
		time.Sleep(look)
	}
}

// From is Order's: on a busy machine nobody may have come so far at the moment.
func (r *Real) From(moment time.Time, event, dead func() bool,
	patience time.Duration, do func()) {
	time.AfterFunc(time.Until(moment), func() {
		r.Await(event, dead, patience)
		do()
	})
}

// Play is Order's.
func (r *Real) Play(running func() bool) error {
	limit := time.NewTimer(r.Limit)
	defer limit.Stop()
	for running() {
		select {
		case <-r.arrived:
		case <-limit.C:
			return fmt.Errorf("the scenario did not end within %v", r.Limit)
		}
	}
	return nil
}

// Notice is Order's.
func (r *Real) Notice() {
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// Busy does nothing: nobody watches.
func (r *Real) Busy() {}

// Close is Order's.
func (r *Real) Close() { r.end.Do(func() { close(r.ended) }) }

// Elapse does nothing: it would take as long.
func (r *Real) Elapse(time.Duration) {}

// Took is Order's. It keeps the longest.
func (r *Real) Took(d time.Duration) {
	for {
		longest := r.lateness.Load()
		if int64(d) <= longest || r.lateness.CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// Late is Order's: the longest that a timer was late, that a command took to
// reach a server, or that a server took to answer.
func (r *Real) Late() time.Duration { return time.Duration(r.lateness.Load()) }

// watchTheClock keeps how late this machine is, until the returned function is
// called: how long after its time a timer fires.
func (r *Real) watchTheClock() (stop func()) {
	const tick = 50 * time.Millisecond // often enough for a lease of seconds
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			due := time.Now().Add(tick)
			select {
			case <-time.After(tick):
				r.Took(time.Since(due))
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-done }
}
