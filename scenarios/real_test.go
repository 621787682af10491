package scenarios_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/internal/locktest/mutants"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/internal/proxy"
)

var onRedis = serverstest.Flag()

func TestMain(m *testing.M) {
	// Not OneProcessor: go test ./... comes to this package last, when the other
	// processors have little left to do.
	laddertest.CollectLess()
	serverstest.Main(m, onRedis, 3*len(ladder.Rungs))
}

// own skips a test that needs servers of our own when none are asked for. Such
// tests run at the same time.
func own(t *testing.T) {
	t.Helper()
	if *onRedis != serverstest.Auto {
		t.Skip("it starts servers, which is asked for with -redis auto")
	}
	t.Parallel()
}

// eachRung runs scenarios against every rung. A worker, which is this test once
// more, comes no further than to Work and needs no servers.
func eachRung(t *testing.T, on func(ladder.Rung) scenarios.RealServers,
	options ...scenarios.Option) {
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			scenarios.Work(t, rung.Build)
			t.Parallel()
			var virtual scenarios.Report
			t.Run("in virtual time", func(t *testing.T) {
				virtual = laddertest.Scenarios(t, rung.Name)
			})
			servers := on(rung)
			run := func(more ...scenarios.Option) scenarios.Report {
				return scenarios.Run(t, rung.Build, slices.Concat(options,
					laddertest.Options(rung), more,
					[]scenarios.Option{scenarios.OnServersOf(servers)})...)
			}
			real := run()
			if virtual != nil { // else -run names other scenarios
				laddertest.SameVerdicts(t, real, virtual,
					func(name string) scenarios.Report {
						return run(scenarios.Only(name))
					})
			}
		})
	}
}

func TestEveryRungBreaksTheSameOnRealServers(t *testing.T) {
	if *onRedis == "" {
		t.Skip("real servers are asked for with -redis auto")
	}
	all := serverstest.Servers(t, *onRedis)
	eachRung(t, func(ladder.Rung) scenarios.RealServers { return all })
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
	own(t)
	one, three := serverstest.Clusters(t, 1), serverstest.Clusters(t, 3)
	var keys atomic.Int64
	kinds := slices.Sorted(maps.Keys(forms))
	eachRung(t, func(rung ladder.Rung) scenarios.RealServers {
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
	own(t)
	all := serverstest.Watched(t)
	eachRung(t, func(ladder.Rung) scenarios.RealServers { return all },
		scenarios.Only("failover"), scenarios.RealLease(30*time.Second))
}

// borrowed counts how often servers are borrowed of a pool.
type borrowed struct {
	scenarios.RealServers
	times, returned atomic.Int64
}

func (b *borrowed) Borrow(ctx context.Context, n int) ([]scenarios.RealServer, error) {
	b.times.Add(1)
	return b.RealServers.Borrow(ctx, n)
}

func (b *borrowed) Return(lent []scenarios.RealServer) {
	b.returned.Add(1)
	b.RealServers.Return(lent)
}

// untilTheThirdRun is one lock in the first two runs of a scenario, and another one
// from then on. Each run has keys of its own, and is in runs.
func untilTheThirdRun(first, then scenarios.Build) (build scenarios.Build,
	runs map[string]bool) {
	var mu sync.Mutex
	runs = map[string]bool{}
	return func(env lock.Env) (lock.Lock, error) {
		mu.Lock()
		runs[ofRun.FindString(env.Key)] = true
		n := len(runs)
		mu.Unlock()
		if n < 3 {
			return first(env)
		}
		return then(env)
	}, runs
}

// far is a pool whose servers answer half a second late, as those of a busy machine do, to
// the first two that borrow them.
type far struct {
	scenarios.RealServers
	t     *testing.T
	times *atomic.Int64
}

func (f far) Borrow(ctx context.Context, n int) ([]scenarios.RealServer, error) {
	lent, err := f.RealServers.Borrow(ctx, n)
	if f.times.Add(1) > 2 {
		return lent, err
	}
	for i, server := range lent {
		lent[i] = distant{server, answersLate(f.t, server.Addr())}
	}
	return lent, err
}

func (f far) Return(lent []scenarios.RealServer) {
	for i, server := range lent {
		if d, ok := server.(distant); ok {
			lent[i] = d.RealServer
		}
	}
	f.RealServers.Return(lent)
}

// distant is a server that is reached at another address.
type distant struct {
	scenarios.RealServer
	addr string
}

func (d distant) Addr() string { return d.addr }

// answersLate is where the server at that address answers late.
func answersLate(t *testing.T, addr string) string {
	late, err := proxy.Listen(addr)
	require.NoError(t, err)
	t.Cleanup(late.Close)
	late.Set(proxy.Weather{Delay: 500 * time.Millisecond, Slow: proxy.Replies})
	return late.Addr()
}

// A read-write lock has readers, but a real server doesn't show their leases.
func TestALockWithoutReadersHasNoneToJudgeInRealTime(t *testing.T) {
	own(t)
	for name, want := range map[string]scenarios.Verdict{
		"reentrant": scenarios.DoesNotArise, "reentrant/readwrite": scenarios.CannotRun} {
		t.Run(name, func(t *testing.T) {
			rung := laddertest.Find(t, name)
			scenarios.Work(t, rung.Build)
			report := scenarios.Run(t, rung.Build, append(laddertest.Options(rung),
				scenarios.Only("reader_renewal_isolated"),
				scenarios.OnServersOf(serverstest.Servers(t, *onRedis)))...)
			assert.Equal(t, want, report.Verdict("reader_renewal_isolated",
				scenarios.ForeignRenewal))
		})
	}
}

func TestARunThatTheMachineWasTooLateForIsVoidAndPlayedAgain(t *testing.T) {
	own(t)
	build, runs := untilTheThirdRun(mutants.Rung("gold"), mutants.Rung("diamond"))
	pool := &borrowed{RealServers: far{serverstest.Servers(t, *onRedis), t,
		new(atomic.Int64)}}
	report := scenarios.Run(t, build, scenarios.Only("unlock_not_held"),
		scenarios.OnServersOf(pool))
	assert.GreaterOrEqual(t, len(runs), 3, "gold breaks it in the first two")
	assert.EqualValues(t, len(runs), pool.times.Load(), "servers were borrowed for each run")
	assert.EqualValues(t, len(runs), pool.returned.Load())
	assert.Equal(t, scenarios.Holds,
		report.Verdict("unlock_not_held", scenarios.ForeignRelease))
}

// flawOfGold is one that diamond has not.
var flawOfGold = lock.Flaws("overrun_release: foreign release, two holders")

var ofRun = regexp.MustCompile("[0-9a-f]{8}")

func TestWhatALockBreaksSometimesFailsNoTest(t *testing.T) {
	for _, name := range []string{"gold", "diamond"} { // it breaks, and it holds
		t.Run(name, func(t *testing.T) {
			scenarios.Run(t, mutants.Rung(name), scenarios.Only("overrun_release"),
				scenarios.Sometimes(flawOfGold...))
		})
	}
}
