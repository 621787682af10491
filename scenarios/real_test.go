package scenarios_test

import (
	"context"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

var onRedis = servers.Flag()

func TestMain(m *testing.M) {
	// Not OneProcessor: go test ./... comes to this package last, when the other
	// processors have little left to do.
	locktest.CollectLess()
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

// On servers of our own, a rung from the watchdog on has the rights that its doc.go names,
// and comes through TLS.
func TestEveryRungBreaksTheSameOnRealServers(t *testing.T) {
	if *onRedis == "" {
		t.Skip("real servers are asked for with -redis auto")
	}
	all := servers.Asked(t, *onRedis)
	locktest.OnServers(t, func(rung ladder.Rung) scenarios.RealServers {
		if *onRedis != servers.Auto {
			return all
		}
		return locktest.WithRights(t, all, "..", rung)
	})
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
func untilTheThirdRun(first, then scenarios.Build) (build scenarios.Build, runs map[string]bool) {
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

// A read-write lock has readers, but a real server doesn't show their leases.
func TestALockWithoutReadersHasNoneToJudgeInRealTime(t *testing.T) {
	own(t)
	for name, want := range map[string]scenarios.Verdict{
		"reentrant": scenarios.DoesNotArise, "reentrant/readwrite": scenarios.CannotRun} {
		t.Run(name, func(t *testing.T) {
			rung := locktest.Find(t, name)
			scenarios.Work(t, rung.Build)
			report := scenarios.Run(t, rung.Build, append(locktest.Options(rung),
				scenarios.Only("reader_renewal_isolated"),
				scenarios.OnServersOf(servers.Asked(t, *onRedis)))...)
			assert.Equal(t, want, report.Verdict("reader_renewal_isolated",
				scenarios.ForeignRenewal))
		})
	}
}

func TestARunThatTheMachineWasTooLateForIsVoidAndPlayedAgain(t *testing.T) {
	own(t)
	late := func(env lock.Env) (lock.Lock, error) { // as a server of a busy machine is
		env.Nodes[0].Do(t.Context(), "CLIENT", "PAUSE", 500)
		return wrong.Rung("gold")(env)
	}
	build, runs := untilTheThirdRun(late, wrong.Rung("diamond"))
	pool := &borrowed{RealServers: servers.Asked(t, *onRedis)}
	report := scenarios.Run(t, build, scenarios.Only("unlock_not_held"),
		scenarios.OnServersOf(pool))
	assert.GreaterOrEqual(t, len(runs), 3, "gold breaks it in the first two")
	assert.EqualValues(t, len(runs), pool.times.Load(), "servers were borrowed for each run")
	assert.EqualValues(t, len(runs), pool.returned.Load())
	assert.Equal(t, scenarios.Holds, report.Verdict("unlock_not_held", scenarios.ForeignRelease))
}

func TestADeclaredFlawThatDoesNotShowIsLookedForTwiceMore(t *testing.T) {
	own(t)
	build, _ := untilTheThirdRun(wrong.Rung("diamond"), wrong.Rung("gold"))
	scenarios.Run(t, build, scenarios.Only("unlock_not_held"),
		scenarios.Flaws(lock.Flaws("unlock_not_held: foreign release, false success")...),
		scenarios.OnServersOf(servers.Asked(t, *onRedis)))
}

// slow is a lock whose servers answer too late.
type slow struct{ free }

type free = lock.Lock

func (slow) TryLock(context.Context) (bool, error) { return false, context.DeadlineExceeded }

func TestAFreeLockThatABusyServerDoesNotGrantIsAskedForTwiceMore(t *testing.T) {
	own(t)
	build, runs := untilTheThirdRun(func(lock.Env) (lock.Lock, error) { return slow{}, nil },
		wrong.Rung("diamond"))
	scenarios.Run(t, build, scenarios.Only("unlock_not_held"),
		scenarios.OnServersOf(servers.Asked(t, *onRedis)))
	assert.GreaterOrEqual(t, len(runs), 3)
}

var ofRun = regexp.MustCompile("[0-9a-f]{8}")

func TestWhatALockBreaksSometimesFailsNoTest(t *testing.T) {
	for _, name := range []string{"gold", "diamond"} { // it breaks, and it holds
		t.Run(name, func(t *testing.T) {
			scenarios.Run(t, wrong.Rung(name), scenarios.Only("overrun_release"),
				scenarios.Sometimes(lock.Flaws("overrun_release: foreign release, two holders")...))
		})
	}
}
