package scenarios_test

import (
	"context"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/internal/locktest/mutants"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/proxy"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

var onRedis = servers.Flag()

func TestMain(m *testing.M) {
	// Not OneProcessor: go test ./... comes to this package last, when the other
	// processors have little left to do.
	laddertest.CollectLess()
	servers.Main(m, onRedis, 3*len(ladder.Rungs))
}

// own skips a test that needs servers of our own when none are asked for. Such
// tests run at the same time.
func own(t *testing.T) {
	t.Helper()
	if *onRedis != servers.Auto {
		t.Skip("it starts servers, which is asked for with -redis auto")
	}
	t.Parallel()
}

func TestEveryRungBreaksTheSameOnRealServers(t *testing.T) {
	if *onRedis == "" {
		t.Skip("real servers are asked for with -redis auto")
	}
	all := servers.Asked(t, *onRedis)
	laddertest.OnServers(t, func(ladder.Rung) scenarios.RealServers { return all })
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

// A lock that breaks in one run of three is one that breaks. Each run has servers of
// its own, because an earlier run may have changed them for good.
func TestAFlawThatDoesNotShowInRealTimeIsLookedForTwiceMore(t *testing.T) {
	own(t)
	build, runs := untilTheThirdRun(mutants.Rung("diamond"), mutants.Rung("gold"))
	pool := &borrowed{RealServers: servers.Asked(t, *onRedis)}
	report := scenarios.Run(t, build, scenarios.Only("overrun_release"),
		scenarios.Flaws(flawOfGold...), scenarios.OnServersOf(pool))
	assert.GreaterOrEqual(t, len(runs), 3, "more, where the machine is too late for one")
	assert.EqualValues(t, len(runs), pool.times.Load(), "servers were borrowed for each run")
	assert.EqualValues(t, len(runs), pool.returned.Load())
	assert.Equal(t, scenarios.Breaks,
		report.Verdict("overrun_release", scenarios.ForeignRelease))
}

// far is a pool whose servers answer late, as those of a busy machine do.
type far struct {
	scenarios.RealServers
	t *testing.T
}

func (f far) Borrow(ctx context.Context, n int) ([]scenarios.RealServer, error) {
	lent, err := f.RealServers.Borrow(ctx, n)
	for i, server := range lent {
		lent[i] = distant{server, answersLate(f.t, server.Addr())}
	}
	return lent, err
}

func (f far) Return(lent []scenarios.RealServer) {
	for i, server := range lent {
		lent[i] = server.(distant).RealServer
	}
	f.RealServers.Return(lent)
}

// distant is a server that is reached at another address.
type distant struct {
	scenarios.RealServer
	addr string
}

func (d distant) Addr() string { return d.addr }

// answersLate is where the server at that address answers 30 ms late.
func answersLate(t *testing.T, addr string) string {
	late, err := proxy.Listen(addr)
	require.NoError(t, err)
	t.Cleanup(late.Close)
	late.Set(proxy.Weather{Delay: 30 * time.Millisecond, Slow: proxy.Replies})
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
				scenarios.OnServersOf(servers.Asked(t, *onRedis)))...)
			assert.Equal(t, want, report.Verdict("reader_renewal_isolated",
				scenarios.ForeignRenewal))
		})
	}
}

// On such a machine even a lock without a flaw runs out of time.
func TestAFlawThatIsNotDeclaredIsDoubtedInRealTimeOnASlowMachine(t *testing.T) {
	own(t)
	build, runs := untilTheThirdRun(mutants.Rung("gold"), mutants.Rung("diamond"))
	report := scenarios.Run(t, build, scenarios.Only("overrun_release"),
		scenarios.OnServersOf(far{servers.Asked(t, *onRedis), t}))
	assert.GreaterOrEqual(t, len(runs), 3, "more, where the machine is too late for one")
	assert.Equal(t, scenarios.Holds,
		report.Verdict("overrun_release", scenarios.ForeignRelease))
}

// hasty is a lock whose Lock gives up after one attempt.
type hasty struct{ attempts }

type attempts interface {
	TryLock(context.Context) (bool, error)
	Unlock(context.Context) error
}

func (h hasty) Lock(ctx context.Context) error {
	granted, err := h.TryLock(ctx)
	if err == nil && !granted {
		err = context.DeadlineExceeded
	}
	return err
}

// A client may wait there for longer than the scenario lets it.
func TestAScenarioThatFailsInRealTimeIsRunAgainOnASlowMachine(t *testing.T) {
	own(t)
	diamond := mutants.Rung("diamond")
	build, runs := untilTheThirdRun(func(env lock.Env) (lock.Lock, error) {
		l, err := diamond(env)
		return hasty{l}, err
	}, diamond)
	report := scenarios.Run(t, build, scenarios.Only("mutual_exclusion"),
		scenarios.OnServersOf(far{servers.Asked(t, *onRedis), t}))
	assert.GreaterOrEqual(t, len(runs), 3, "more, where the machine is too late for one")
	assert.Equal(t, scenarios.Holds,
		report.Verdict("mutual_exclusion", scenarios.TwoHolders))
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
