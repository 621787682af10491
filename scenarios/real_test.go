package scenarios_test

import (
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/scenarios"
)

var onRedis = serverstest.Flag()

func TestMain(m *testing.M) {
	flag.Parse()
	if *onRedis != "" {
		// The stories mostly wait: all rungs can wait at the same time.
		flag.Set("test.parallel", "12")
	}
	os.Exit(m.Run())
}

// own skips a test that needs servers of our own when none are asked for.
func own(t *testing.T) {
	t.Helper()
	if *onRedis != serverstest.Auto {
		t.Skip("it starts servers, which is asked for with -redis auto")
	}
}

// eachRung tells scenarios against every rung, on the servers that it is given.
func eachRung(t *testing.T, on func(*testing.T, ladder.Rung) []lab.Server,
	options ...scenarios.Option) {
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			scenarios.Work(t, rung.Build) // first: a worker needs no servers
			t.Parallel()
			scenarios.Run(t, rung.Build, append(append(options[:len(options):len(
				options)], laddertest.Options(rung)...),
				scenarios.OnServers(on(t, rung)...))...)
		})
	}
}

func TestEveryRungBreaksTheSameOnRealServers(t *testing.T) {
	if *onRedis == "" {
		t.Skip("real servers are asked for with -redis auto")
	}
	eachRung(t, func(t *testing.T, rung ladder.Rung) []lab.Server {
		return serverstest.Nodes(t, *onRedis, rung.Nodes)
	})
}

// forms are the kinds of keys that Redis Cluster tells apart: where a lock has
// several of its own, all must lie in one slot.
var forms = map[string]func(string) string{
	"a plain name":         func(name string) string { return name },
	"a hash tag":           func(name string) string { return "shop:{" + name + "}:lock" },
	"a hash tag in front":  func(name string) string { return "{" + name + "}" },
	"a second hash tag":    func(name string) string { return "{" + name + "}:{lock}" },
	"a brace that is open": func(name string) string { return name + ":{lock" },
	"a brace at the end":   func(name string) string { return name + "{" },
}

// A cluster is one node to a lock: its client learns which master has the key.
// What is told here is what a client of a cluster does differently: it finds the
// key's master, repeats commands after errors of the network, and subscribes at
// one of several masters. The other stories are about the lock alone. The
// stories that kill or flush a server are not told, because the rungs share the
// cluster; and a master that comes back refuses for two seconds, so that no
// lease of a second outlives it.
func TestEveryRungBreaksTheSameOnACluster(t *testing.T) {
	own(t)
	told := scenarios.Only("mutual_exclusion", "crash_holding",
		"overrun_release", "nested", "lost_reply", "lost_release_reply",
		"unlock_not_held", "lost_wakeup", "lost_lease_told",
		"renewal_fails_once")
	on := clusters(t)
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			eachRung(t, on, told, scenarios.RealKey(form))
		})
	}
}

// clusters has a cluster of three masters for all rungs on one node. Of several
// nodes each is a cluster, of one master: Redlock counts on nodes that fail
// independently, which the masters of one cluster do not do for one key.
// They are started when the first rung asks: workers need none.
func clusters(t *testing.T) func(*testing.T, ladder.Rung) []lab.Server {
	var turn sync.Mutex
	three := map[int][]lab.Server{}
	return func(_ *testing.T, rung ladder.Rung) []lab.Server {
		turn.Lock()
		defer turn.Unlock()
		for len(three[rung.Nodes]) < rung.Nodes {
			masters := 3
			if rung.Nodes > 1 {
				masters = 1
			}
			three[rung.Nodes] = append(three[rung.Nodes], serverstest.Clustered(
				serverstest.Cluster(t, masters)))
		}
		return three[rung.Nodes]
	}
}

// The failover of the catalogue, with a Sentinel that notices the master's death
// and clients that ask it where the master is. That takes a second or two, so
// the lease is twenty. Of several nodes one is watched.
func TestEveryRungBreaksTheSameWhenASentinelFailsOver(t *testing.T) {
	own(t)
	eachRung(t, func(t *testing.T, rung ladder.Rung) []lab.Server {
		return append([]lab.Server{serverstest.Watched(t)},
			serverstest.Nodes(t, *onRedis, rung.Nodes-1)...)
	}, scenarios.Only("failover"), scenarios.RealLease(20*time.Second))
}
