package explore

import (
	"testing/synctest"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// leaseEnd is when the lease of a key ends on a node; the zero time when there is
// none, or when it is over.
func (c *controller) leaseEnd(node int, key string) time.Time {
	s := c.world.Node(node).Observe(key)
	if key == c.world.Readers {
		return firstLeaseEnd(s)
	}
	if !s.Exists || c.world.LeaseEnd == nil {
		return s.Ends
	}
	// A lock that compares clocks calls a lease over only after its end.
	end, ok := c.world.LeaseEnd(s.Value)
	if end = end.Add(time.Millisecond); ok && end.After(time.Now()) {
		return end
	}
	return time.Time{}
}

// firstLeaseEnd is when the first reader's lease ends: a server whose clock counts
// milliseconds knows it one later.
func firstLeaseEnd(readers history.State) (first time.Time) {
	for _, end := range readers.Members {
		if end = end.Add(time.Millisecond); end.After(time.Now()) &&
			(first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	return first
}

// nextLeaseEnd is when the first lease ends, and where; the zero time when none does.
func (c *controller) nextLeaseEnd() (next time.Time, where []history.Place) {
	for n := range c.world.Nodes {
		for _, key := range c.world.Keys {
			end := c.leaseEnd(n, key)
			if end.IsZero() || !next.IsZero() && end.After(next) {
				continue
			}
			if !end.Equal(next) {
				next, where = end, nil
			}
			where = append(where, place(n, key))
		}
	}
	return next, where
}

// leased says whether a lease will end on some node.
func (c *controller) leased() bool {
	end, _ := c.nextLeaseEnd()
	return !end.IsZero()
}

// endless says whether the key of a client's grant has no lease on some node, so
// that only a command can free it.
func (c *controller) endless(of *client) bool {
	w := c.world
	for n := range w.Nodes {
		for _, key := range w.Keys {
			g := w.Log().Grants[place(n, key)]
			if g == nil || g.Owner != of.Name {
				continue
			}
			s := w.Node(n).Observe(key)
			if !s.Exists || !s.Ends.IsZero() {
				continue
			}
			if w.LeaseEnd != nil {
				if _, ok := w.LeaseEnd(s.Value); ok {
					continue
				}
			}
			return true
		}
	}
	return false
}

// moveToLeaseEnd moves the clock to the next end of a lease. Whenever a client's
// timer makes it do something on the way, meanwhile is called at that moment.
func (c *controller) moveToLeaseEnd(meanwhile func()) {
	end, ending := c.nextLeaseEnd()
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	for moving := true; moving; {
		select {
		case <-c.Arrived:
		case <-timer.C:
			moving = false
		}
		synctest.Wait() // all that is due at this very moment happens
		meanwhile()
	}
	for _, at := range ending {
		c.world.Log().Touch(at.Node)
		c.world.Log().Befalls(at.Node, "the lease of "+at.Key+" ends")
	}
}

// moveToArrival moves the clock to when a timer makes a living, waking client send or do
// something, if that is before the next lease ends and within two leases. It is false when
// there was no such thing; then the run is over, because the clock has moved all the same.
func (c *controller) moveToArrival() bool {
	before := c.arrivals()
	timer := time.NewTimer(c.horizon() - c.world.Now() - 1)
	defer timer.Stop()
	for {
		select {
		case <-c.Arrived:
		case <-timer.C:
			return false
		}
		synctest.Wait()
		if c.arrivals() != before {
			return true
		}
	}
}

// move moves the clock.
func (c *controller) move(by time.Duration) {
	time.Sleep(by)
	synctest.Wait()
}

// horizon is when the clock must stop: at the next end of a lease, and in two
// leases at the latest.
func (c *controller) horizon() time.Duration {
	limit := time.Now().Add(2 * lease)
	if end, _ := c.nextLeaseEnd(); !end.IsZero() && end.Before(limit) {
		limit = end
	}
	return limit.Sub(c.world.Log().Start)
}

func (c *controller) arrivals() int64 {
	var sum int64
	for _, client := range c.clients {
		if !client.Dead() && !client.Asleep() {
			sum += client.arrivals.Load()
		}
	}
	return sum
}
