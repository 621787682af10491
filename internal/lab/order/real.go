package order

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Real is the order in real time, which is the world's own: everything goes on
// at once, and nothing waits but for its time. A machine may be late then. A nil Real
// says that time is virtual, and has the methods for that: nothing is ever late, and one
// thing passes at a time.
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

func (r *Real) Run(_ *testing.T, live func() error) error {
	defer r.watchTheClock()()
	return live()
}

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

// Take and Give enclose what only one may do at a time. In virtual time a mutex would
// stop the clock.
func (r *Real) Take() {
	if r != nil {
		r.turn.Lock()
	}
}

// Give ends what Take began.
func (r *Real) Give() {
	if r != nil {
		r.turn.Unlock()
	}
}

// look is how often Await looks: often enough for a lease of seconds, and seldom enough
// for the processors, with many scenarios at once.
const look = 4 * time.Millisecond

// Await waits, for some time at most, until an event has happened, or its waiter is
// dead: no margin is wide enough for a busy machine, and the event is what a moment
// stands for. In virtual time the moment is enough.
func (r *Real) Await(event, dead func() bool, patience time.Duration) {
	if r == nil {
		return
	}
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

// From does something that holds from a moment on: when it has come and the event has
// happened, because on a busy machine nobody may have come so far at the moment. In
// virtual time it is done at once.
func (r *Real) From(moment time.Time, event, dead func() bool,
	patience time.Duration, do func()) {
	if r == nil {
		do()
		return
	}
	time.AfterFunc(time.Until(moment), func() {
		r.Await(event, dead, patience)
		do()
	})
}

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

func (r *Real) Notice() {
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// Busy does nothing: nobody watches.
func (r *Real) Busy() {}

func (r *Real) Close() { r.end.Do(func() { close(r.ended) }) }

// Elapse does nothing: it would take as long.
func (r *Real) Elapse(time.Duration) {}

// Took says how long something took that takes no time in a scenario. Virtual time
// has nothing like it.
func (r *Real) Took(d time.Duration) {
	for r != nil {
		longest := r.lateness.Load()
		if int64(d) <= longest || r.lateness.CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// Late is the longest that a timer was late, that a command took to reach a server, or
// that a server took to answer.
func (r *Real) Late() time.Duration {
	if r == nil {
		return 0
	}
	return time.Duration(r.lateness.Load())
}

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
