package bench_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// TestMain silences the library: tests about failures would look like failures.
func TestMain(m *testing.M) {
	logging.Disable()
	locktest.CollectLess()
	os.Exit(m.Run())
}

// forever is longer than any test: a wait that only it bounds is not bounded.
const forever = time.Hour

// embedded makes a runner for a few clients on five embedded servers.
func embedded(t *testing.T, clients, stock int) *bench.Runner {
	servers := bench.Embed(5, bench.Config{Clients: clients})
	t.Cleanup(func() { assert.NoError(t, servers.Close(t.Context())) })
	return runner(servers, clients, stock)
}

func runner(servers *bench.Servers, clients, stock int) *bench.Runner {
	return &bench.Runner{Servers: servers, Settings: bench.Settings{Clients: clients, Stock: stock,
		TTL: time.Minute, Poll: 5 * time.Millisecond, Timeout: forever, Grace: forever}}
}

// connected is a server, and the servers of a run that has no other. They are closed with the test.
func connected(t *testing.T, config bench.Config) (*miniredis.Miniredis, *bench.Servers) {
	t.Helper()
	redis := miniredis.RunT(t)
	servers, err := bench.Connect(t.Context(), []string{redis.Addr()}, config)
	require.NoError(t, err)
	t.Cleanup(func() { servers.Close(context.WithoutCancel(t.Context())) })
	return redis, servers
}

func measure(t *testing.T, r *bench.Runner, subject bench.Subject) bench.Row {
	t.Helper()
	row, err := r.Measure(t.Context(), subject)
	require.NoError(t, err)
	return row
}

// has checks figures of a row.
func has(t *testing.T, row bench.Row, figures map[string]any) {
	t.Helper()
	for name, want := range figures {
		assert.EqualValues(t, want, row.Value(name), "%s: %s", row.Name(), name)
	}
}

// subject finds a rung or a baseline.
func subject(t *testing.T, name string) bench.Subject {
	t.Helper()
	found, err := bench.Select(bench.Around(bench.Rungs()...), name)
	require.NoError(t, err)
	return found[0]
}

// fake is somebody's lock, that is acquired so and needs no release.
type fake func(context.Context) error

func (f fake) TryLock(context.Context) (bool, error) { return false, nil }
func (f fake) Lock(ctx context.Context) error        { return f(ctx) }
func (f fake) Unlock(context.Context) error          { return nil }

// theirs is a subject whose owners are all the same fake.
func theirs(f fake) bench.Subject {
	return bench.Subject{Name: "theirs", Kind: bench.Alternative,
		Build: func(lock.Env) (lock.Lock, error) { return f, nil }}
}

// blocked is a lock that is never granted.
func blocked(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
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

func TestEverybodyWhoReadTheSameStockSells(t *testing.T) {
	for name, come := range map[string]int64{"no-lock": 10, "mutex-per-service": 4} {
		of := func(clients int) bench.Row {
			r := embedded(t, clients, 3)
			r.Think = meeting(int(come))
			return measure(t, r, subject(t, name))
		}
		has(t, of(10), map[string]any{"max_holders": come})
		// A fifth might read what only one of four has written. All but the first to take lose an
		// update, and nobody asks.
		has(t, of(int(come)), map[string]any{"sold": come, "left": 3 - come, "oversold": come - 3,
			"lost_updates": come - 1, "retries": nil})
	}
}

func TestARowThatIsNeverGrantedIsCutOffAndReported(t *testing.T) {
	r := embedded(t, 5, 3)
	r.Timeout = 20 * time.Millisecond
	// A client that was cut off has not failed, and the lock was given no nodes.
	has(t, measure(t, r, theirs(blocked)), map[string]any{"finished": false, "failures": 0, "absent": 0,
		"left": 3, "max_holders": 0, "acquisitions_per_second": 0, "wait_ms.p50": nil,
		"commands_per_section": nil, "jain": nil})
}

func TestALockThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	r := embedded(t, 4, 3)
	r.Timeout, r.Grace = 500*time.Millisecond, 20*time.Millisecond // the first has its turn on a busy machine, too
	deaf := make(chan struct{})
	defer close(deaf)
	var came atomic.Int64
	row := measure(t, r, theirs(func(context.Context) error {
		if came.Add(1) > 1 {
			<-deaf
		}
		return nil
	}))

	has(t, row, map[string]any{"finished": false, "absent": 3, "sections": 1})
}

func TestFailuresAreCountedAndTheFirstIsTold(t *testing.T) {
	r := embedded(t, 1, 3)
	r.Ops = 6
	n := 0
	row := measure(t, r, theirs(func(context.Context) error {
		n++
		return fmt.Errorf("broken %d", n)
	}))
	has(t, row, map[string]any{"failures": 6, "sections": 0, "first_failure": "broken 1", "finished": true})
}

func TestARowThatCantBeginIsAnError(t *testing.T) {
	r := embedded(t, 1, 1)
	_, err := r.Measure(t.Context(), bench.Subject{Name: "mine", Nodes: 1})
	assert.ErrorIs(t, err, lock.ErrInvalid)
	assert.ErrorContains(t, err, `measure "mine": `)

	// Nor does the next one, for a reason of its own.
	_, err = r.Measure(t.Context(), bench.Subject{Name: "yours", Nodes: 1,
		Build: func(lock.Env) (lock.Lock, error) { return nil, lock.ErrLost }})
	assert.ErrorIs(t, err, lock.ErrLost)
	assert.ErrorContains(t, err, `measure "yours": build the lock: `)
	assert.True(t, measure(t, r, subject(t, "gold")).Finished())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Measure(ctx, subject(t, "gold"))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestEveryRoundComesJustAfterTheSerialLimit(t *testing.T) {
	locktest.Long(t, "it measures in real time")
	r := embedded(t, 5, 5)
	r.Rounds = 3
	row := measure(t, r, subject(t, "gold"))

	ratios := row.Ratios()
	require.Len(t, ratios, 3)
	slices.Sort(ratios)
	assert.Equal(t, ratios[1], *row.Ratio(), "the median is reported")
	assert.True(t, row.Finished())
	serial := measure(t, r, subject(t, "serial-limit"))
	assert.Equal(t, []float64{1, 1, 1}, serial.Ratios())
	has(t, serial, map[string]any{"sections": 1000, "sold": 1000, "table_clients": 5}) // five turns say nothing
}

func TestRowsAreMeasuredInTurns(t *testing.T) {
	r := embedded(t, 1, 1)
	r.Rounds = 3
	var order string
	named := func(name string, fails int) bench.Subject {
		return bench.Subject{Name: name, Build: func(lock.Env) (lock.Lock, error) {
			if order += name; strings.Count(order, name) == fails {
				return nil, lock.ErrLost
			}
			return fake(func(context.Context) error { return nil }), nil
		}}
	}
	// A round builds two locks, of which one warms up. What fails later on keeps the rounds it has.
	rows, err := r.MeasureAll(t.Context(), []bench.Subject{named("a", 0), named("b", 6), named("c", 0), subject(t, "serial-limit")})
	require.NoError(t, err)
	assert.Equal(t, "aabbccaabbccaabbcc", order)
	assert.Equal(t, []int{3, 2, 3}, []int{len(rows[0].Rounds), len(rows[1].Rounds), len(rows[2].Rounds)})
	assert.Equal(t, 1000, rows[0].Rounds[0].Count("sections"), "one turn of a client alone says nothing")
	for i, limit := range rows[3].Rounds { // the rounds of a turn are compared with one limit
		assert.InEpsilon(t, *rows[0].Rounds[i].Number("acquisitions_per_second") / *limit.Number("acquisitions_per_second"), rows[0].Ratios()[i], 0.01)
	}
}

func TestRoundsThatAreCutOffAreLeftOut(t *testing.T) {
	locktest.Long(t, "it measures 2000 turns")
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
	assert.True(t, row.Finished(), "the one that was measured")
	assert.Contains(t, bench.Layout{}.Row(row), "1 of 3 rounds were measured")
}

func TestALoopThatIsInterruptedIsNotFinished(t *testing.T) {
	r := embedded(t, 3, 3)
	r.Loop = forever / 2
	ctx, cancel := context.WithCancel(t.Context())
	r.Think = func(context.Context) { cancel() }
	row, err := r.Measure(ctx, subject(t, "gold"))
	require.NoError(t, err)
	assert.False(t, row.Finished())
}

func TestEveryClientTakesSoManyTurnsAndTheProgressSaysHowMany(t *testing.T) {
	r := embedded(t, 3, 12)
	r.Ops = 4
	var seen []string
	r.Think = func(context.Context) {
		before, _, _ := strings.Cut(r.Progress(), ",")
		seen = append(seen, before)
	}
	row := measure(t, r, subject(t, "gold"))
	has(t, row, map[string]any{"sections": 12, "sold": 12, "jain": 1})
	assert.Equal(t, "1 of 1: gold: 0/12 turns", seen[0])
	assert.Equal(t, "1 of 1: gold: 11/12 turns", seen[11])
	assert.Empty(t, r.Progress())
}

func TestAHolderFinishesAndReleasesWhenTheRunIsCanceled(t *testing.T) {
	for _, subject := range bench.Rungs() {
		t.Run(subject.Name, func(t *testing.T) {
			redis, servers := connected(t, bench.Config{Clients: 5})
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

			n := row.Count("sections")
			assert.Positive(t, n)
			has(t, row, map[string]any{"sold": n, "left": 5 - n, "max_holders": 1, "first_failure": nil, "failures": 0})
			// Canceled between SETNX and PEXPIRE, silver leaves its lock.
			if subject.Name != "silver" {
				assert.False(t, redis.Exists(key), "the lock is released")
			}

			assert.NoError(t, servers.Close(ctx))
			assert.Empty(t, redis.Keys(), "nothing of the run is left")
		})
	}
}

func TestALockIsAskedForLessOftenByManyClients(t *testing.T) {
	s := bench.Settings{Clients: 1000, Poll: 5 * time.Millisecond}
	gold, redlock := subject(t, "gold"), subject(t, "redlock")
	own := bench.Subject{Poll: 20 * time.Millisecond}
	assert.Equal(t, 5*time.Millisecond, s.Pause(own, true), "as the user said")

	s.Poll = 0
	assert.Equal(t, 20*time.Millisecond, s.Pause(own, true))
	assert.Equal(t, time.Second, s.Pause(gold, true))
	assert.Equal(t, 5*time.Second, s.Pause(redlock, true))
	assert.Equal(t, lock.DefaultPoll, s.Pause(gold, false))
	assert.Equal(t, time.Second, s.Pause(redlock, false))
	s.Clients = 20
	assert.Equal(t, lock.DefaultPoll, s.Pause(redlock, true))
}

// counter is a stock in memory. Without compare it writes what it likes.
type counter struct {
	stock   atomic.Int64
	compare bool
	meet    func(context.Context)
	closed  atomic.Bool
}

func (c *counter) subject() bench.Subject {
	return bench.Subject{Name: "store", Kind: bench.Baseline,
		Open: func(_ context.Context, amount int) (bench.Stock, error) {
			c.stock.Store(int64(amount))
			left := func(context.Context) (int64, error) { return c.stock.Load(), nil }
			return bench.Stock{Take: c.take, Left: left, Close: func() { c.closed.Store(true) }}, nil
		}}
}

func (c *counter) take(ctx context.Context) (accepted, taken bool, err error) {
	seen := c.stock.Load()
	if seen == 0 {
		return true, false, nil
	}
	c.meet(ctx)
	if !c.compare {
		c.stock.Store(seen - 1)
		return true, true, nil
	}
	accepted = c.stock.CompareAndSwap(seen, seen-1)
	return accepted, accepted, nil
}

func TestAStockSellsWithoutALockAndCountsWhatItRefusesOrLoses(t *testing.T) {
	for compare, want := range map[bool]struct{ sold, left, retries, lost int }{
		true:  {1, 0, 1, 0}, // two read, and one was first
		false: {2, 0, 0, 1},
	} {
		store := &counter{compare: compare, meet: meeting(2)}
		row := measure(t, embedded(t, 2, 1), store.subject())
		has(t, row, map[string]any{"finished": true, "sections": 2, "sold": want.sold, "left": want.left,
			"retries": want.retries, "lost_updates": want.lost, "max_holders": nil}) // nobody is inside
		assert.True(t, store.closed.Load())
	}
}
