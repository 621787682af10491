// Package order says who goes next in a scenario: in virtual time one thing passes
// at a time, in a fixed order; on real servers all go on at once, each when its
// time has come; and the explorer, which implements Order itself, lets pass what
// its schedule says.
package order

import (
	"errors"
	"testing"
	"time"
)

// Order is who goes next, and how time passes until then.
type Order interface {
	// Run does the work of a world where this order holds, and returns its error,
	// ErrLeak or ErrStuck. Stuck goroutines are left behind, because they can't be
	// stopped.
	Run(t *testing.T, live func() error) error

	// Wait blocks until it is this turn. It is false when the world has ended
	// instead.
	Wait(Turn) bool

	// Exact says whether nothing is ever late.
	Exact() bool

	// Take and Give enclose what only one may do at a time.
	Take()
	Give()

	// Await waits, for some time at most, until an event has happened, or its
	// waiter is dead: where a machine may be late for a moment, the event is what
	// the moment stands for. Where no machine is ever late it does nothing.
	Await(event, dead func() bool, patience time.Duration)

	// From does something that holds from a moment on: at once, where the moment
	// is enough, or when it has come and the event has happened.
	From(moment time.Time, event, dead func() bool, patience time.Duration,
		do func())

	// Play lets things pass until nothing runs any more. It returns an error,
	// perhaps ErrStuck, when that does not come about.
	Play(running func() bool) error

	// Notice says that something has changed that Play may have to look at, and
	// Busy that something gets on although nothing passes.
	Notice()
	Busy()

	// Took says how long something took that takes no time in a scenario. Late is
	// the longest such time so far: by how much the machine was late.
	Took(time.Duration)
	Late() time.Duration

	// Close turns everything away, now and later. After it Elapse lets time go by
	// in which timers come up, where that takes no time.
	Close()
	Elapse(time.Duration)
}

// Turn is one thing that waits to pass.
type Turn struct {
	Due    time.Time // not before
	Client string
	Node   int // -1: none
	Text   string
}

// ErrLeak says that goroutines of a lock outlived everything that they served.
var ErrLeak = errors.New("the lock leaks goroutines")

// ErrStuck says that the world came to a halt on something that is neither a
// timer, nor the network, nor a channel, mostly a mutex that is held while Redis
// is asked, or that it computes without end.
var ErrStuck = errors.New("the lock is stuck")

// ErrEndless says that a script, such as a client's call, did not end.
var ErrEndless = errors.New("a call never returns")
