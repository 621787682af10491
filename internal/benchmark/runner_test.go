package benchmark_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
)

// forever is longer than any test: what is bounded by it only is not bounded.
const forever = time.Hour

// embedded makes a runner for a few clients on five embedded servers.
func embedded(t *testing.T, clients, stock int) *benchmark.Runner {
	servers := benchmark.Embed(5, benchmark.Config{Clients: clients})
	t.Cleanup(func() { assert.NoError(t, servers.Close(t.Context())) })
	return runner(servers, clients, stock)
}

func runner(servers *benchmark.Servers, clients, stock int) *benchmark.Runner {
	return &benchmark.Runner{
		Servers: servers,
		Clients: clients,
		Stock:   stock,
		TTL:     time.Minute,
		Poll:    5 * time.Millisecond,
		Timeout: forever,
		Grace:   forever,
	}
}

func measure(t *testing.T, r *benchmark.Runner,
	subject benchmark.Subject) benchmark.Row {
	t.Helper()
	row, err := r.Measure(t.Context(), subject)
	require.NoError(t, err)
	return row
}

// subject finds a rung or a baseline.
func subject(t *testing.T, name string) benchmark.Subject {
	t.Helper()
	for _, subject := range benchmark.Around(rungs()...) {
		if subject.Name == name {
			return subject
		}
	}
	require.Fail(t, "there is no such subject", name)
	return benchmark.Subject{}
}

func rungs() []benchmark.Subject {
	var rungs []benchmark.Subject
	for _, rung := range ladder.Rungs {
		rungs = append(rungs, benchmark.Subject{Name: rung.Name,
			Kind: benchmark.Rung, Nodes: rung.Nodes, Build: rung.Build})
	}
	return rungs
}

// fake is somebody's lock.
type fake struct {
	acquire func(context.Context) error
	release func(context.Context) error
}

func (f fake) TryLock(context.Context) (bool, error) { return false, nil }

func (f fake) Lock(ctx context.Context) error {
	if f.acquire == nil {
		return nil
	}
	return f.acquire(ctx)
}

func (f fake) Unlock(ctx context.Context) error {
	if f.release == nil {
		return nil
	}
	return f.release(ctx)
}

// theirs is a subject whose owners are all the same fake.
func theirs(f fake) benchmark.Subject {
	return benchmark.Subject{Name: "theirs", Kind: benchmark.Alternative,
		Build: func(lock.Env) (lock.Lock, error) { return f, nil }}
}

// meeting makes the first n of those who come wait for each other.
func meeting(n int) func(context.Context) {
	var come atomic.Int64
	all := make(chan struct{})
	return func(context.Context) {
		if come.Add(1) == int64(n) {
			close(all)
		}
		if come.Load() <= int64(n) {
			<-all
		}
	}
}

func TestEveryRungSellsTheStockExactlyAndHasOneHolder(t *testing.T) {
	r := embedded(t, 20, 7)
	for _, subject := range rungs() {
		t.Run(subject.Name, func(t *testing.T) {
			row := measure(t, r, subject)

			assert.Equal(t, subject.Name, row.Rung)
			assert.Equal(t, benchmark.Rung, row.Kind)
			assert.Equal(t, subject.Nodes, row.Nodes)
			assert.True(t, row.Finished)
			assert.EqualValues(t, 20, row.Sections)
			assert.EqualValues(t, 7, row.Sold)
			assert.Equal(t, new(int64(0)), row.Left)
			assert.Zero(t, row.Oversold)
			assert.Equal(t, new(int64(1)), row.MaxHolders)
			assert.Zero(t, row.Failures, row.FirstFailure)
			assert.NotNil(t, row.Retries)
			assert.NotNil(t, row.Wait)
			assert.Equal(t, new(1.0), row.Jain)
		})
	}
}

func TestMoreStockThanClientsStaysLeft(t *testing.T) {
	row := measure(t, embedded(t, 3, 10), subject(t, "gold"))
	assert.EqualValues(t, 3, row.Sold)
	assert.Equal(t, new(int64(7)), row.Left)
}

func TestWithoutALockEverybodyWhoReadTheSameStockSells(t *testing.T) {
	r := embedded(t, 10, 3)
	r.Think = meeting(10)
	row := measure(t, r, subject(t, "no-lock"))

	assert.EqualValues(t, 10, row.Sold)
	assert.Equal(t, new(int64(-7)), row.Left)
	assert.EqualValues(t, 7, row.Oversold)
	assert.Equal(t, new(int64(10)), row.MaxHolders)
	assert.Nil(t, row.Wait, "nobody waited")
	assert.Nil(t, row.Retries, "nobody asked")
}

func TestAMutexInEachOfFourServicesLetsFourIn(t *testing.T) {
	r := embedded(t, 8, 1)
	r.Think = meeting(4)
	row := measure(t, r, subject(t, "mutex-per-service"))

	assert.Equal(t, new(int64(4)), row.MaxHolders)
	assert.EqualValues(t, 4, row.Sold)
	assert.EqualValues(t, 3, row.Oversold)
	assert.True(t, row.Finished)
}

func TestAtomicStepsDoNotOversell(t *testing.T) {
	r := embedded(t, 30, 10)
	for _, name := range []string{"watch-multi", "lua-decrement"} {
		t.Run(name, func(t *testing.T) {
			row := measure(t, r, subject(t, name))
			assert.EqualValues(t, 10, row.Sold)
			assert.Equal(t, new(int64(0)), row.Left)
			assert.Zero(t, row.Oversold)
			assert.EqualValues(t, 30, row.Sections)
			assert.Nil(t, row.MaxHolders, "there is no critical section")
			assert.True(t, row.Finished)
		})
	}
}

func TestCommandsAndRoundTripsAreThoseThatTheClientSends(t *testing.T) {
	for name, want := range map[string]struct{ commands, trips float64 }{
		"no-lock":       {2, 2},   // GET, DECR
		"bronze":        {4, 4},   // SETNX, GET, DECR, DEL
		"silver":        {5, 5},   // and PEXPIRE
		"diamond":       {4, 4},   // the scripts are known to the server
		"reentrant":     {4, 4},   //
		"redlock":       {12, 12}, // five SET, GET, DECR, five EVALSHA
		"serial-limit":  {4, 4},   // SET, GET, DECR, EVALSHA
		"watch-multi":   {5, 3},   // WATCH, GET, and in one MULTI, DECR, EXEC
		"lua-decrement": {1, 1},   // EVALSHA
	} {
		t.Run(name, func(t *testing.T) {
			row := measure(t, embedded(t, 1, 1), subject(t, name))
			assert.Equal(t, new(want.commands), row.CommandsPerSection)
			assert.Equal(t, new(want.trips), row.RoundTripsPerSection)
		})
	}
}

func TestTheSerialLimitIsOneClientWithEverybodysTurns(t *testing.T) {
	row := measure(t, embedded(t, 10, 4), subject(t, "serial-limit"))

	assert.Equal(t, 1, row.Clients)
	assert.Equal(t, 10, row.Turns)
	assert.EqualValues(t, 10, row.Sections)
	assert.EqualValues(t, 4, row.Sold)
	assert.Equal(t, new(3.4), row.CommandsPerSection, "four of ten took one")
	assert.Equal(t, new(int64(0)), row.Retries)
	assert.Equal(t, new(1.0), row.RatioToSerial)
	assert.Nil(t, row.Jain, "one client shares with nobody")
}

func TestRowsAreComparedWithTheSerialLimitOfTheirRun(t *testing.T) {
	r := embedded(t, 5, 4)
	assert.Nil(t, measure(t, r, subject(t, "gold")).RatioToSerial)

	serial := measure(t, r, subject(t, "serial-limit"))
	gold := measure(t, r, subject(t, "gold"))
	require.NotNil(t, gold.RatioToSerial)
	assert.InDelta(t, *gold.HandoversPerSecond / *serial.HandoversPerSecond,
		*gold.RatioToSerial, 0.0001)
}

func TestEveryAttemptAfterTheFirstIsARetry(t *testing.T) {
	r := embedded(t, 4, 4)
	asking := benchmark.Subject{Name: "asking", Nodes: 1,
		Build: func(env lock.Env) (lock.Lock, error) {
			rdb := env.Nodes[0]
			return fake{acquire: func(ctx context.Context) error {
				for range 3 {
					rdb.SetNX(ctx, env.Key, "x", 0)
					rdb.Get(ctx, env.Key) // as silver/timestamp does
				}
				return nil
			}}, nil
		}}
	assert.Equal(t, new(int64(8)), measure(t, r, asking).Retries)
}

func TestARefusedTransactionIsARetry(t *testing.T) {
	redis := miniredis.RunT(t)
	servers, err := benchmark.Connect(t.Context(), []string{redis.Addr()}, benchmark.Config{Clients: 1})
	require.NoError(t, err)
	defer servers.Close(t.Context())
	// Somebody else takes one between this client's GET and its EXEC, once.
	var once sync.Once
	redis.Server().SetPreHook(func(_ *server.Peer, command string,
		_ ...string) bool {
		if command == "MULTI" {
			once.Do(func() {
				for _, key := range redis.Keys() {
					_, err := redis.Incr(key, -1)
					assert.NoError(t, err)
				}
			})
		}
		return false
	})
	row := measure(t, runner(servers, 1, 10), subject(t, "watch-multi"))

	assert.Equal(t, new(int64(1)), row.Retries)
	assert.EqualValues(t, 1, row.Sold)
	assert.Equal(t, new(int64(8)), row.Left)
	assert.Equal(t, new(10.0), row.CommandsPerSection)
	assert.Equal(t, new(6.0), row.RoundTripsPerSection)
}

func TestALockElsewhereGetsNoNodesAndIsNotCounted(t *testing.T) {
	var got lock.Env
	elsewhere := theirs(fake{})
	elsewhere.Build = func(env lock.Env) (lock.Lock, error) {
		got = env
		return fake{}, nil
	}
	row := measure(t, embedded(t, 1, 1), elsewhere)

	assert.Nil(t, got.Nodes)
	assert.NotEmpty(t, got.Key)
	assert.Equal(t, time.Minute, got.TTL)
	assert.EqualValues(t, 1, row.Sold)
	assert.Nil(t, row.CommandsPerSection)
	assert.Nil(t, row.RoundTripsPerSection)
	assert.Nil(t, row.Retries)
}

func TestARowThatIsNeverGrantedIsCutOffAndReported(t *testing.T) {
	r := embedded(t, 5, 3)
	r.Timeout = 20 * time.Millisecond
	row := measure(t, r, theirs(fake{acquire: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}))

	assert.False(t, row.Finished)
	assert.Zero(t, row.Sections)
	assert.Zero(t, row.Failures, "a client that was cut off has not failed")
	assert.Zero(t, row.Absent)
	assert.Zero(t, row.Sold)
	assert.Equal(t, new(int64(3)), row.Left)
	assert.Equal(t, new(int64(0)), row.MaxHolders)
	assert.Equal(t, new(0.0), row.HandoversPerSecond)
	assert.Nil(t, row.Wait)
	assert.Nil(t, row.CommandsPerSection)
	assert.Nil(t, row.Jain)
}

func TestALockThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	r := embedded(t, 4, 3)
	r.Timeout, r.Grace = 20*time.Millisecond, 20*time.Millisecond
	deaf := make(chan struct{})
	defer close(deaf)
	var came atomic.Int64
	row := measure(t, r, theirs(fake{acquire: func(context.Context) error {
		if came.Add(1) > 1 {
			<-deaf
		}
		return nil
	}}))

	assert.False(t, row.Finished)
	assert.Equal(t, 3, row.Absent)
	assert.EqualValues(t, 1, row.Sections)
	assert.Nil(t, row.Jain)
}

func TestFailuresAreCountedAndTheFirstIsTold(t *testing.T) {
	r := embedded(t, 6, 3)
	broken := errors.New("broken")

	row := measure(t, r, theirs(fake{release: func(context.Context) error {
		return fmt.Errorf("release: %w", broken)
	}}))
	assert.True(t, row.Finished)
	assert.EqualValues(t, 6, row.Failures)
	assert.EqualValues(t, 6, row.Sections, "the sections were completed")
	assert.Equal(t, new("release: broken"), row.FirstFailure)

	row = measure(t, r, theirs(fake{acquire: func(context.Context) error {
		return fmt.Errorf("acquire: %w", broken)
	}}))
	assert.EqualValues(t, 6, row.Failures)
	assert.Zero(t, row.Sections)
	assert.Equal(t, new("acquire: broken"), row.FirstFailure)
}

func TestLeasesEndOnEmbeddedServers(t *testing.T) {
	r := embedded(t, 2, 2)
	r.TTL, r.Timeout = 5*time.Millisecond, 5*time.Second
	gold := subject(t, "gold")
	forgetful := gold
	forgetful.Build = func(env lock.Env) (lock.Lock, error) {
		l, err := gold.Build(env)
		return fake{acquire: l.Lock}, err
	}
	assert.True(t, measure(t, r, forgetful).Finished)
}

func TestNoRowPaysForWhatEarlierOnesLeftOnEmbeddedServers(t *testing.T) {
	r := embedded(t, 1, 1)
	measure(t, r, subject(t, "reentrant/fenced")) // keeps its counter
	gold := subject(t, "gold")
	build := gold.Build
	var keys int64
	gold.Build = func(env lock.Env) (lock.Lock, error) {
		keys = env.Nodes[0].DBSize(t.Context()).Val()
		return build(env)
	}
	measure(t, r, gold)
	assert.EqualValues(t, 1, keys, "the stock")
}

func TestGarbageIsCollectedBetweenTheRoundsOnRealServers(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	for name, c := range map[string]struct {
		environment map[string]string
		away        bool
	}{
		"nobody decides otherwise": {nil, true},
		"GOGC is set":              {map[string]string{"GOGC": "50"}, false},
		"GOMEMLIMIT is set":        {map[string]string{"GOMEMLIMIT": "1GiB"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range c.environment {
				t.Setenv(name, value)
			}
			redis := miniredis.RunT(t)
			servers, err := benchmark.Connect(t.Context(), []string{redis.Addr()},
				benchmark.Config{Clients: 1})
			require.NoError(t, err)
			defer func() { assert.NoError(t, servers.Close(t.Context())) }()
			before := collectorAt()
			var during []uint64
			row := measure(t, runner(servers, 1, 1), theirs(fake{
				acquire: func(context.Context) error {
					during = collectorAt()
					return nil
				}}))
			assert.True(t, row.Finished)
			require.NotNil(t, during)
			assert.Equal(t, c.away, during[0] == math.MaxUint64, "GOGC %d", during[0])
			assert.Equal(t, c.away, during[1] != before[1],
				"never more than so much: %d", during[1])
			assert.Equal(t, before, collectorAt(), "as before")
		})
	}
}

// collectorAt is the collector's GOGC, the largest number when it is off, and
// its limit.
func collectorAt() []uint64 {
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"},
		{Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(samples)
	return []uint64{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

func TestALockThatCannotBeBuiltIsAnError(t *testing.T) {
	r := embedded(t, 1, 1)
	_, err := r.Measure(t.Context(), benchmark.Subject{Name: "mine", Nodes: 1,
		Build: func(lock.Env) (lock.Lock, error) {
			return nil, lock.ErrInvalid
		}})
	assert.ErrorIs(t, err, lock.ErrInvalid)
	assert.ErrorContains(t, err, "measure mine: build the lock")

	_, err = r.Measure(t.Context(), benchmark.Subject{Name: "mine", Nodes: 1})
	assert.ErrorIs(t, err, lock.ErrInvalid)
}

func TestAnEndedContextBeginsNoRow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := embedded(t, 1, 1).Measure(ctx, subject(t, "gold"))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestEveryRoundComesJustAfterTheSerialLimit(t *testing.T) {
	r := embedded(t, 5, 5)
	r.Rounds = 3
	row := measure(t, r, subject(t, "gold"))

	require.Len(t, row.Rounds, 3)
	var ratios []float64
	for _, round := range row.Rounds {
		require.NotNil(t, round.RatioToSerial)
		ratios = append(ratios, *round.RatioToSerial)
	}
	slices.Sort(ratios)
	assert.Equal(t, ratios[1], *row.RatioToSerial, "the median is reported")
	assert.True(t, row.Complete())
	serial := measure(t, r, subject(t, "serial-limit"))
	assert.Equal(t, new(1.0), serial.Rounds[0].RatioToSerial)
	assert.EqualValues(t, 1000, serial.Sections, "five turns say nothing")
	assert.EqualValues(t, 1000, serial.Sold, "and all of them sell as well")
	assert.Equal(t, 5, serial.InTableOf)
}

func TestRoundsThatAreCutOffAreLeftOut(t *testing.T) {
	r := embedded(t, 3, 3)
	r.Rounds = 3
	ctx, cancel := context.WithCancel(t.Context())
	// A thousand turns of the serial limit and three of the rung are a round;
	// the rung's second is cut off.
	var turns atomic.Int64
	r.Think = func(context.Context) {
		if turns.Add(1) == 2*1000+3+1 {
			cancel()
		}
	}
	row, err := r.Measure(ctx, subject(t, "gold"))
	require.NoError(t, err)
	assert.Len(t, row.Rounds, 1)
	assert.True(t, row.Finished, "the one that was measured")
	assert.False(t, row.Complete())
}

func TestClientsTakeTurnsUntilTheLoopIsOver(t *testing.T) {
	r := embedded(t, 3, 3)
	r.Loop, r.Poll = 50*time.Millisecond, time.Millisecond
	row := measure(t, r, subject(t, "gold"))
	assert.True(t, row.Finished)
	assert.GreaterOrEqual(t, row.Seconds, 0.05)
	assert.Greater(t, row.Sections, int64(3))
	assert.Equal(t, new(0.05), row.LoopSeconds)
	assert.EqualValues(t, row.Sections, row.Turns)
	assert.Zero(t, row.Failures, row.FirstFailure)
	assert.Equal(t, new(int64(1)), row.MaxHolders)
}

func TestALoopThatIsInterruptedIsNotFinished(t *testing.T) {
	r := embedded(t, 3, 3)
	r.Loop = forever / 2
	ctx, cancel := context.WithCancel(t.Context())
	r.Think = func(context.Context) { cancel() }
	row, err := r.Measure(ctx, subject(t, "gold"))
	require.NoError(t, err)
	assert.False(t, row.Finished)
}

func TestEveryClientTakesSoManyTurns(t *testing.T) {
	r := embedded(t, 3, 12)
	r.Ops = 4
	row := measure(t, r, subject(t, "gold"))
	assert.EqualValues(t, 12, row.Sections)
	assert.Equal(t, 12, row.Turns)
	assert.EqualValues(t, 12, row.Sold)
	assert.Equal(t, new(1.0), row.Jain)
	assert.EqualValues(t, 12,
		measure(t, r, subject(t, "serial-limit")).Sections)
}

func TestWhoCrashesSendsNothingMoreAndIsCounted(t *testing.T) {
	r := embedded(t, 4, 4)
	// A watchdog that lives on renews such a lease for ever, and the others wait.
	r.Crash, r.TTL, r.Seed = 0.75, 300*time.Millisecond, 1
	r.Timeout = 20 * time.Second
	row := measure(t, r, subject(t, "diamond/watchdog"))
	assert.True(t, row.Finished)
	assert.Equal(t, 3, row.Crashed)
	assert.EqualValues(t, 1, row.Sections)
	assert.EqualValues(t, 1, row.Sold)
	assert.Zero(t, row.Failures, row.FirstFailure)

	r.Crash, r.Timeout = 1, 100*time.Millisecond
	row = measure(t, r, subject(t, "bronze"))
	assert.False(t, row.Finished, "it has no lease: the first to die stays")
	assert.Equal(t, 1, row.Crashed)
	assert.Equal(t, 3, row.Stuck)
}

func TestWhoOverrunsItsLeaseIsToldWhenItReleases(t *testing.T) {
	r := embedded(t, 4, 4)
	r.Overrun, r.TTL, r.Seed = 0.25, 20*time.Millisecond, 1
	row := measure(t, r, subject(t, "diamond"))
	assert.Equal(t, 1, row.Overran)
	assert.GreaterOrEqual(t, row.NotHeld, int64(1))
}

func TestAChangeBetweenReadingAndTakingIsALostUpdate(t *testing.T) {
	r := embedded(t, 3, 9)
	r.Think = meeting(3)
	row := measure(t, r, subject(t, "no-lock"))
	assert.EqualValues(t, 2, row.LostUpdates, "all but the first to take")
	r.Think = nil
	assert.Zero(t, measure(t, r, subject(t, "gold")).LostUpdates)
}

func TestASlowerNetworkIsWaitedFor(t *testing.T) {
	servers := benchmark.Embed(1, benchmark.Config{Clients: 1,
		RTT: 4 * time.Millisecond})
	defer servers.Close(t.Context())
	row := measure(t, runner(servers, 1, 1), subject(t, "gold"))
	assert.GreaterOrEqual(t, row.Seconds, 0.016, "four round trips")
}

func TestClientsCanShareFewerConnections(t *testing.T) {
	redis := miniredis.RunT(t)
	servers, err := benchmark.Connect(t.Context(), []string{redis.Addr()},
		benchmark.Config{Clients: 20, Pool: 3})
	require.NoError(t, err)
	defer servers.Close(t.Context())
	row := measure(t, runner(servers, 20, 20), subject(t, "gold"))
	assert.EqualValues(t, 20, row.Sold)
	assert.Equal(t, 3, redis.TotalConnectionCount())
}

func TestProgressIsThatOfTheRowUnderWay(t *testing.T) {
	r := embedded(t, 2, 2)
	var seen []benchmark.Progress
	r.Think = func(context.Context) { seen = append(seen, r.Progress()) }
	measure(t, r, subject(t, "gold"))

	require.Len(t, seen, 2)
	assert.Equal(t, 0, seen[0].Sections)
	assert.Equal(t, 1, seen[1].Sections)
	assert.Equal(t, 2, seen[1].Turns)
	assert.Equal(t, 1, seen[0].Rounds)
	assert.Equal(t, benchmark.Progress{}, r.Progress())
}

func TestWhoHasTheLockWhenTheRunIsCancelledFinishesAndReleases(t *testing.T) {
	for _, subject := range rungs() {
		t.Run(subject.Name, func(t *testing.T) {
			redis := miniredis.RunT(t)
			servers, err := benchmark.Connect(t.Context(),
				[]string{redis.Addr()}, benchmark.Config{Clients: 5})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			r := runner(servers, 5, 5)
			var key string
			build := subject.Build
			subject.Build = func(env lock.Env) (lock.Lock, error) {
				key = env.Key
				return build(env)
			}
			// The first holder cancels while the others wait. One of those may
			// be granted the lock by a command that is under way.
			r.Think = func(context.Context) {
				assert.True(t, redis.Exists(key))
				cancel()
			}
			row, err := r.Measure(ctx, subject)
			require.NoError(t, err)

			assert.Positive(t, row.Sections)
			assert.Equal(t, row.Sections, row.Sold)
			assert.Equal(t, new(5-row.Sold), row.Left)
			assert.Equal(t, new(int64(1)), row.MaxHolders)
			assert.Zero(t, row.Failures, row.FirstFailure)
			// Cancelled between SETNX and PEXPIRE, silver leaves its lock.
			if subject.Name != "silver" {
				assert.False(t, redis.Exists(key), "the lock is released")
			}

			assert.NoError(t, servers.Close(ctx))
			assert.Empty(t, redis.Keys(), "nothing of the run is left")
		})
	}
}

func TestACancelledRowIsReportedWithWhatItDid(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := embedded(t, 5, 5)
	r.Think = func(context.Context) { cancel() }
	var granted atomic.Bool
	row, err := r.Measure(ctx, theirs(fake{
		acquire: func(ctx context.Context) error {
			if granted.CompareAndSwap(false, true) {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		},
		release: func(ctx context.Context) error { return ctx.Err() },
	}))
	require.NoError(t, err)

	assert.False(t, row.Finished)
	assert.EqualValues(t, 1, row.Sections)
	assert.EqualValues(t, 1, row.Sold)
	assert.Equal(t, new(int64(4)), row.Left)
	assert.Zero(t, row.Failures, "the release has a context of its own")
	assert.Equal(t, new(0.2), row.Jain, "one of five was served")
}

func TestOnlyTheKeysOfTheRunAreRemoved(t *testing.T) {
	redis := miniredis.RunT(t)
	require.NoError(t, redis.Set("lockladder:bench:theirs", "x"))
	servers, err := benchmark.Connect(t.Context(), []string{redis.Addr()}, benchmark.Config{Clients: 1})
	require.NoError(t, err)
	// A lock may put its own word in front of the key that it is given.
	dirty := theirs(fake{})
	dirty.Build = func(env lock.Env) (lock.Lock, error) {
		return fake{}, redis.Set("word:"+env.Key+":more", "x")
	}
	measure(t, runner(servers, 1, 1), dirty)
	assert.Greater(t, len(redis.Keys()), 2)

	require.NoError(t, servers.Close(t.Context()))
	assert.Equal(t, []string{"lockladder:bench:theirs"}, redis.Keys())
}

func TestKeysThatCannotBeRemovedAreTold(t *testing.T) {
	redis := miniredis.RunT(t)
	servers, err := benchmark.Connect(t.Context(), []string{redis.Addr()}, benchmark.Config{Clients: 1})
	require.NoError(t, err)
	redis.SetError("READONLY no")
	err = servers.Close(t.Context())
	assert.ErrorContains(t, err, "remove the keys *lockladder:bench:")
	assert.ErrorContains(t, err, "READONLY no")
}

func TestALockForFiveNodesIsMeasuredOnThoseThatThereAre(t *testing.T) {
	redis := miniredis.RunT(t)
	servers, err := benchmark.Connect(t.Context(), []string{redis.Addr()}, benchmark.Config{Clients: 3})
	require.NoError(t, err)
	defer servers.Close(t.Context())
	row := measure(t, runner(servers, 3, 2), subject(t, "redlock"))

	assert.Equal(t, 1, row.Nodes)
	assert.True(t, row.Finished)
	assert.EqualValues(t, 2, row.Sold)
	assert.Contains(t, benchmark.Table{}.Row(row), "redlock (1 node)")
}

func TestAnUnreachableServerIsNamedWithTheCause(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	require.NoError(t, closed.Close())
	there := miniredis.RunT(t)

	_, err = benchmark.Connect(t.Context(), []string{there.Addr(), address}, benchmark.Config{Clients: 1})
	assert.ErrorContains(t, err, "reach the server at "+address)
	assert.ErrorAs(t, err, new(*net.OpError))
}

func TestASilentServerIsNotWaitedForLongerThanTheContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()

	_, err = benchmark.Connect(ctx, []string{silent.Addr().String()}, benchmark.Config{Clients: 1})
	assert.ErrorContains(t, err, silent.Addr().String())
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTooFewConnectionsAreToldBeforeTheRow(t *testing.T) {
	redis := miniredis.RunT(t)
	servers, err := benchmark.Connect(t.Context(), []string{redis.Addr()}, benchmark.Config{Clients: 4})
	require.NoError(t, err)
	defer servers.Close(t.Context())
	redis.SetError("ERR max number of clients reached")
	defer redis.SetError("")

	_, err = runner(servers, 4, 1).Measure(t.Context(), subject(t, "gold"))
	assert.ErrorContains(t, err, "open 12 connections to "+redis.Addr())
	assert.ErrorContains(t, err, "max number of clients reached")
}

func TestSettingsAreChecked(t *testing.T) {
	good := runner(nil, 1, 0)
	assert.NoError(t, good.Check())
	for want, spoil := range map[string]func(*benchmark.Runner){
		"there are 0 clients":       func(r *benchmark.Runner) { r.Clients = 0 },
		"the stock is -1":           func(r *benchmark.Runner) { r.Stock = -1 },
		"the ttl is 999µs":          func(r *benchmark.Runner) { r.TTL = 999e3 },
		"the poll interval is -1ns": func(r *benchmark.Runner) { r.Poll = -1 },
		"the timeout is 0s":         func(r *benchmark.Runner) { r.Timeout = 0 },
		"there are -1 turns":        func(r *benchmark.Runner) { r.Ops = -1 },
		"the loop lasts -1ns":       func(r *benchmark.Runner) { r.Loop = -1 },
		"shorter than the timeout": func(r *benchmark.Runner) {
			r.Loop = r.Timeout
		},
		"there are -1 rounds":         func(r *benchmark.Runner) { r.Rounds = -1 },
		"the shares of faults are -1": func(r *benchmark.Runner) { r.Crash = -1 },
		"more than 1 together": func(r *benchmark.Runner) {
			r.Crash, r.Overrun = 0.6, 0.6
		},
	} {
		bad := runner(nil, 1, 0)
		spoil(bad)
		assert.ErrorContains(t, bad.Check(), want)
	}
}

func TestEmbeddedServersAreAskedLessOftenByManyClients(t *testing.T) {
	r := embedded(t, 1000, 1)
	gold, redlock := subject(t, "gold"), subject(t, "redlock")
	assert.Equal(t, 5*time.Millisecond, r.Pause(gold), "as the user said")

	r.Poll = 0
	assert.Equal(t, time.Second, r.Pause(gold))
	assert.Equal(t, time.Second, r.Pause(benchmark.Subject{}))
	assert.Equal(t, 5*time.Second, r.Pause(redlock))
	r.Clients = 20
	assert.Equal(t, lock.DefaultPoll, r.Pause(redlock))
	r.Clients, r.Servers = 1000, &benchmark.Servers{}
	assert.Equal(t, lock.DefaultPoll, r.Pause(gold))
	assert.Equal(t, time.Second, r.Pause(redlock))
}
