package scenarios

import (
	"cmp"
	"slices"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/node"
)

// venue is where scenarios run, as what they must know of it.
type venue interface {
	// config describes the world of a scenario that is run for the n-th time.
	config(n int) lab.Config

	exact() bool      // nothing is ever late, and clocks can be moved
	readable() bool   // commands show what they do to the lock
	disposable() bool // servers may be killed, stopped and flushed
	repeats() bool    // the driver sends a command again that wasn't answered
}

// venue is where the settings say.
func (s settings) venue() venue {
	if s.lent != nil {
		return servers{s}
	}
	return virtual{s}
}

// world is what the worlds of both venues have in common.
func (s settings) world(key string) lab.Config {
	return lab.Config{Nodes: s.nodes, Key: key, TTL: lease, LeaseEnd: s.leaseEnd,
		Seen: s.seen, Scripts: s.scripts, Most: s.most, Keys: s.keys(key),
		Readers: s.readers(key)}
}

// virtual is virtual time.
type virtual struct{ settings }

func (v virtual) config(int) lab.Config {
	c := v.world(cmp.Or(v.key, "lock:stock"))
	c.Latency, c.Driver = latency, v.driver
	if v.lease > 0 {
		c.TTL, c.Scale = v.lease, float64(v.lease)/float64(lease)
	}
	v.change.apply(&c)
	if v.story != nil {
		c.Fate = v.story.fate
	}
	return c
}

func (v virtual) exact() bool      { return true }
func (v virtual) readable() bool   { return true }
func (v virtual) disposable() bool { return true }
func (v virtual) repeats() bool    { return v.driver != nil }

// servers are real servers, in real time. A scenario is slower each time.
type servers struct{ settings }

func (v servers) config(n int) lab.Config {
	c := v.world(v.realKey())
	c.Servers, c.TTL = v.lent.servers, v.realLease(n)
	c.Scale = float64(c.TTL) / float64(lease)
	return c
}

func (v servers) exact() bool { return false }

func (v servers) readable() bool {
	_, store := v.lent.servers[0].(node.Store)
	return !store
}

func (v servers) disposable() bool {
	return !slices.ContainsFunc(v.lent.servers, func(s RealServer) bool {
		return !node.Disposable(s)
	})
}

// repeats is true of a cluster's driver, which always does.
func (v servers) repeats() bool {
	_, cluster := v.lent.servers[0].(node.ClusterServer)
	return cluster
}
