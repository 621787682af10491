package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		Scripts: s.scripts, Most: s.most, Keys: s.keys(key), Readers: s.readers(key)}
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
func (v virtual) repeats() bool    { return false }

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

// onReal are the settings of a run on real servers.
type onReal struct {
	pool  lab.Pool
	lease time.Duration       // 0: three seconds
	form  func(string) string // makes a key of a unique name; nil: the name
}

// OnServersOf runs the scenarios on real servers, one a node, in real time: the ten
// seconds of a scenario's lease last three, so that a busy machine runs the same scenario.
// As many run at the same time as there are servers for. A scenario in which a real server
// can't take part is left out, and Report says so. They may be servers of another kind
// than Redis: locks on those are built without Nodes, and connect with Env.Dial.
func OnServersOf(all RealServers) Option {
	return func(s *settings) { s.pool = all }
}

// RealLease is how long a scenario's lease of ten seconds lasts on real servers,
// three seconds without it.
func RealLease(d time.Duration) Option {
	return func(s *settings) { s.onReal.lease = d }
}

// RealKey makes the locks' keys on real servers of unique names.
func RealKey(of func(name string) string) Option {
	return func(s *settings) { s.form = of }
}

// loan is the servers that one scenario has of a pool.
type loan struct {
	pool    RealServers
	servers []RealServer // nil while it has none
}

// borrow waits until so many servers are free. Those of a first run it gives back: the
// run may have changed them for good, as a Sentinel's failover does.
func (l *loan) borrow(ctx context.Context, n int) (err error) {
	l.end()
	if l.servers, err = l.pool.Borrow(ctx, n); err != nil {
		return fmt.Errorf("borrow servers: %w", err)
	}
	return nil
}

// end gives the servers back.
func (l *loan) end() {
	if l.servers != nil {
		l.pool.Return(l.servers)
		l.servers = nil
	}
}

// runReal is Run on real servers.
func runReal(t *testing.T, build Build, s settings) Report {
	t.Helper()
	selected := s.catalogue()
	reports := make([][]Result, len(selected))
	var running sync.WaitGroup
	var hopeless atomic.Pointer[string]
	for i, scenario := range selected {
		s := s
		s.lent = &loan{pool: s.pool}
		if err := s.lent.borrow(t.Context(), s.nodes); err != nil {
			running.Wait()
			var few lab.TooFew
			if errors.As(err, &few) {
				t.Skipf("the lock needs %d servers, and %v", s.nodes, few)
			}
			t.Fatal(err)
		}
		running.Go(func() {
			defer s.lent.end()
			reports[i] = s.one(t, scenario, build, &hopeless)
		})
	}
	running.Wait()
	return slices.Concat(reports...)
}

// misses says whether a declared flaw does not show, for two clients may have met in another
// order than the scenario's moments say; or whether the scenario could not begin.
func (s *settings) misses(results []Result, err error) bool {
	if err != nil {
		_, unready := errors.AsType[unready](err)
		return unready
	}
	return slices.ContainsFunc(results, func(r Result) bool {
		return r.Verdict != Breaks && r.Verdict != CannotRun &&
			s.declares(r.Scenario, r.Invariant)
	})
}

// realLease is how long the ten seconds of a scenario's lease last when it is
// run for the n-th time, counted from 0.
func (r *onReal) realLease(n int) time.Duration {
	lease := r.lease
	if lease == 0 {
		lease = 3 * time.Second
	}
	for range n {
		lease = lease * 3 / 2
	}
	return lease.Round(time.Millisecond) // as Redis counts
}

// realKey is a name that nobody else's keys have, on a server that may be anybody's.
func (r *onReal) realKey() string {
	name := fmt.Sprintf("%08x:stock", rand.Uint32())
	if pool, ok := r.pool.(lab.NamedPool); ok {
		name = pool.Run() + ":" + name
	}
	name = "lockladder:" + name
	if r.form != nil {
		name = r.form(name)
	}
	return name
}
