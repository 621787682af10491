package inventory

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// fate is what happens to a client when it is inside for the first time.
type fate byte

const (
	unharmed fate = iota
	crashes       // it dies between reading and taking, and sends nothing more
	overruns      // it works for overrunLeases leases between reading and taking
)

// overrunLeases is how long a client works that outlives its lease.
const overrunLeases = 1.5

// fates draws the clients that will be struck. The same seed draws the same.
func fates(clients int, crash, overrun float64, seed uint64) []fate {
	drawn := make([]fate, clients)
	order := rand.New(rand.NewPCG(seed, uint64(clients))).Perm(clients)
	strike := func(share float64, with fate) {
		n := int(math.Round(share * float64(clients)))
		if share > 0 {
			n = max(n, 1)
		}
		for ; n > 0 && len(order) > 0; n-- {
			drawn[order[0]] = with
			order = order[1:]
		}
	}
	strike(crash, crashes)
	strike(overrun, overruns)
	return drawn
}

// struck lets the client's fate happen, once. It is true when the client is
// dead.
func (c *client) struck(ctx context.Context) bool {
	fate := c.fate
	c.fate = unharmed
	switch fate {
	case crashes:
		c.die()
		return true
	case overruns:
		c.result.Overran++
		work := time.NewTimer(c.overrun())
		defer work.Stop()
		select {
		case <-work.C:
		case <-ctx.Done():
		}
	}
	return false
}

// overrun is how long a client works that outlives its lease.
func (c *client) overrun() time.Duration {
	return time.Duration(overrunLeases * float64(c.env.TTL))
}
