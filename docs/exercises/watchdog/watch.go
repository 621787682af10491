package watchdog

import (
	"context"
	"time"
)

// Lease is the lease of one grant, with the goroutine that renews it. A nil
// Lease is that of no grant.
type Lease struct {
	lost   chan struct{} // closed when the lease is gone
	cancel context.CancelFunc
}

// Watch starts a grant's watchdog: it renews the lease when a third of it is over,
// unless it is fixed. The lease counts from when the command was sent. renew says
// whether the lock was still the grant's, and ends with its context.
func Watch(ttl time.Duration, sent time.Time, fixed bool,
	renew func(context.Context) (extended bool, err error)) *Lease {
	ctx, cancel := context.WithTimeout(context.Background(), ttl)
	l := &Lease{lost: make(chan struct{}), cancel: cancel}
	time.AfterFunc(time.Until(sent.Add(ttl/3)), func() {
		if !fixed {
			renew(ctx)
		}
	})
	return l
}

// Lost is closed when the lease is gone, and not by Stop.
func (l *Lease) Lost() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.lost
}

// Stop ends the watchdog: no renewal follows.
func (l *Lease) Stop() {
	if l != nil {
		l.cancel()
	}
}
