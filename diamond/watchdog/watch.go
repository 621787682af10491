package watchdog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/lock"
)

// Lease is the lease of one grant, with the goroutine that renews it. A nil
// Lease is that of no grant.
type Lease struct {
	ttl   time.Duration
	renew func(context.Context) (extended bool, err error)

	deadline atomic.Pointer[time.Time] // moved by each renewal
	timer    *time.Timer               // closes lost at the deadline

	lost chan struct{} // closed when the lease is gone
	lose func()        // closes lost and ends the watchdog

	watchdog context.Context // ends when the lease is gone, or with Stop
	cancel   context.CancelFunc
	first    *time.Timer   // starts the watchdog
	done     chan struct{} // closed when the watchdog has ended
}

// Watch starts a grant's watchdog: it renews the lease whenever a third of it
// has passed, unless it is fixed. The lease counts from when the command was
// sent. renew says whether the lock was still the grant's, and ends with its
// context. Stop must be called, also after a loss.
func Watch(ttl time.Duration, sent time.Time, fixed bool,
	renew func(context.Context) (extended bool, err error)) *Lease {
	l := &Lease{ttl: ttl, renew: renew,
		lost: make(chan struct{}), done: make(chan struct{})}
	l.watchdog, l.cancel = context.WithCancel(context.Background())
	l.lose = sync.OnceFunc(func() { close(l.lost); l.cancel() })
	end := sent.Add(ttl)
	l.deadline.Store(&end)
	l.timer = time.AfterFunc(time.Until(end), l.lose)
	l.first = time.AfterFunc(ttl/3, func() { // most sections are shorter
		defer close(l.done)
		for !fixed && l.watchdog.Err() == nil {
			lock.Sleep(l.watchdog, l.extend())
		}
	})
	return l
}

// extend renews the lease once, and returns the pause before the next renewal.
// After a failure it is a tenth of the lease, soon enough even if that renewal
// hung for a third.
func (l *Lease) extend() (pause time.Duration) {
	ctx, cancel := context.WithTimeout(l.watchdog, l.ttl/3)
	defer cancel()
	end := time.Now().Add(l.ttl)
	switch extended, err := l.renew(ctx); {
	case err != nil: // the deadline stays
		return l.ttl / 10
	case !extended:
		l.lose()
	default:
		l.deadline.Store(&end)
		l.timer.Reset(time.Until(end))
	}
	return l.ttl / 3
}

// Lost is closed when the server or the local clock says that the lease is
// gone, and not by Stop. It looks at the clock when it is called: a process
// that has just woken up may run before its own timers do.
func (l *Lease) Lost() <-chan struct{} {
	if l == nil {
		return nil
	}
	if l.watchdog.Err() == nil && time.Until(*l.deadline.Load()) <= 0 {
		l.lose()
	}
	return l.lost
}

// Stop ends the watchdog and waits for it: no renewal follows.
func (l *Lease) Stop() {
	if l == nil {
		return
	}
	if l.cancel(); l.first.Stop() {
		close(l.done)
	}
	<-l.done
	l.timer.Stop()
}
