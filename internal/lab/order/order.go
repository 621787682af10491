// Package order says who goes next in a scenario: in virtual time one thing passes at a time, in
// a fixed order; on real servers all go on at once, each when its time has come; and the
// explorer, which implements Order itself, lets pass what its schedule says.
package order

import (
	"errors"
	"testing"
	"time"
)

// Order is who goes next, and how time passes until then.
type Order interface {
	// Run does the work of a world where this order holds, and returns its error, ErrLeak or
	// ErrStuck. Stuck goroutines are left behind, because they can't be stopped.
	Run(t *testing.T, live func() error) error

	// Wait blocks until it is this turn. It is false when the world has ended instead.
	Wait(Turn) bool

	// Play lets things pass until nothing runs any more. It returns an error,
	// perhaps ErrStuck, when that does not come about.
	Play(running func() bool) error

	// Notice says that something has changed that Play may have to look at, and
	// Busy that something gets on although nothing passes.
	Notice()
	Busy()

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

// ErrStuck says that the world came to a halt on something that is neither a timer, nor the
// network, nor a channel, mostly a mutex that is held while Redis is asked.
var ErrStuck = errors.New("the lock is stuck")

// ErrEndless says that a script, such as a client's call, did not end.
var ErrEndless = errors.New("a call never returns")
