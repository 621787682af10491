package proxy

import (
	"runtime"
	"time"
)

// clock waits more exactly than the runtime's timers, which on some systems are
// late by up to a millisecond. One thread sleeps for all who wait; that is enough
// because all delays are the same, so that the first to come is the first due.
type clock struct {
	alarms     chan alarm
	quit, done chan struct{}
}

type alarm struct {
	due  time.Time
	rung chan struct{}
}

func newClock() *clock {
	c := &clock{make(chan alarm, 1024), make(chan struct{}), make(chan struct{})}
	go c.run()
	return c
}

func (c *clock) run() {
	defer close(c.done)
	runtime.LockOSThread() // and never unlocked: its timer slack is its own
	wakeExactly()
	for {
		select {
		case a := <-c.alarms:
			nap(time.Until(a.due))
			close(a.rung)
		case <-c.quit:
			return
		}
	}
}

// until waits for a moment, or until stop.
func (c *clock) until(due time.Time) {
	a := alarm{due, make(chan struct{})}
	select {
	case c.alarms <- a:
	case <-c.done:
		return
	}
	select {
	case <-a.rung:
	case <-c.done:
	}
}

func (c *clock) stop() {
	select {
	case <-c.quit:
	default:
		close(c.quit)
	}
	<-c.done
}
