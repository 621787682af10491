package cluster

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
)

func TestMain(m *testing.M) {
	locktest.CollectLess()
	asked := servers.Variable
	servers.Main(m, &asked, 3*len(ladder.Rungs))
}

// A cluster is one node to a lock: its client learns which master has the key.
// The scenarios here are about the differences of a cluster's client: it finds the
// key's master, repeats commands after errors of the network, and subscribes at
// one of several masters. The other scenarios are about the lock alone. The
// scenarios that kill or flush a server are not run, because all rungs share the
// cluster; and a master that comes back refuses for two seconds, so that hardly
// a lease outlives it.
//
// Redlock counts on nodes that fail independently, which the masters of one
// cluster do not do for one key: each of its nodes is a cluster, of one master.
func TestEveryRungBreaksTheSameOnACluster(t *testing.T) {
	servers.Need(t)
	one, three := clusters(t, 1), clusters(t, 3)
	var keys atomic.Int64
	kinds := slices.Sorted(maps.Keys(forms))
	locktest.OnServers(t, func(rung ladder.Rung) scenarios.RealServers {
		if rung.Nodes > 1 {
			return one
		}
		return three
	}, scenarios.Only("mutual_exclusion", "crash_holding",
		"overrun_release", "nested", "lost_reply", "lost_release_reply",
		"unlock_not_held", "lost_wakeup", "lost_lease_told",
		"renewal_fails_once", "hung_worker", "partitioned_holder"),
		scenarios.RealKey(func(name string) string {
			kind := kinds[int(keys.Add(1))%len(kinds)]
			return forms[kind](name)
		}))
}

// The failover of the catalogue, with a Sentinel that notices the master's death
// and clients that ask it where the master is. That takes a second or two, so
// the lease is thirty. Of several nodes one is watched.
func TestEveryRungBreaksTheSameWhenASentinelFailsOver(t *testing.T) {
	servers.Need(t)
	all := servers.Limited(watched{servers.Asked(t, servers.Auto)}, 12)
	locktest.OnServers(t, func(ladder.Rung) scenarios.RealServers { return all },
		scenarios.Only("failover"), scenarios.RealLease(30*time.Second))
}

// clusters are Redis Clusters of so many masters. They end with the test. All
// scenarios share the first ones: nothing is done to them.
func clusters(t *testing.T, masters int) scenarios.RealServers {
	t.Helper()
	return servers.Limited(&servers.Shared{Start: func() (scenarios.RealServer, error) {
		c, err := StartCluster(context.Background(), masters)
		if err != nil {
			return nil, err
		}
		t.Cleanup(c.Stop)
		return c, nil
	}}, 48)
}

// watched are masters whose replica a Sentinel promotes when they die: the first
// of several servers is one, and the others are plain. Each is used once.
type watched struct{ plain scenarios.RealServers }

func (p watched) Borrow(ctx context.Context, n int) ([]scenarios.RealServer, error) {
	s, err := StartSentinel(ctx)
	if err != nil {
		return nil, err
	}
	others, err := p.plain.Borrow(ctx, n-1)
	if err != nil {
		s.Stop()
		return nil, err
	}
	return append([]scenarios.RealServer{s}, others...), nil
}

func (p watched) Return(lent []scenarios.RealServer) {
	lent[0].(*Sentinel).Stop()
	p.plain.Return(lent[1:])
}
