package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/inventory"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/lock"
)

// forever is longer than any test: a wait that only it bounds is not bounded.
const forever = time.Hour

// embedded makes a runner for a few clients on five embedded servers.
func embedded(t *testing.T, clients, stock int) *inventory.Runner {
	servers := nodes.Embed(5, nodes.Config{Clients: clients})
	t.Cleanup(func() { assert.NoError(t, servers.Close(t.Context())) })
	return runner(servers, clients, stock)
}

func runner(servers *nodes.Servers, clients, stock int) *inventory.Runner {
	return &inventory.Runner{Servers: servers, Settings: inventory.Settings{
		Clients: clients,
		Stock:   stock,
		TTL:     time.Minute,
		Poll:    5 * time.Millisecond,
		Timeout: forever,
		Grace:   forever,
	}}
}

// connected is a server, and the servers of a run that has no other. They are closed
// with the test.
func connected(t *testing.T, config nodes.Config) (*miniredis.Miniredis,
	*nodes.Servers) {
	t.Helper()
	redis := miniredis.RunT(t)
	servers, err := nodes.Connect(t.Context(), []string{redis.Addr()}, config)
	require.NoError(t, err)
	t.Cleanup(func() { servers.Close(context.WithoutCancel(t.Context())) })
	return redis, servers
}

func measure(t *testing.T, r *inventory.Runner,
	subject bench.Subject) bench.Row {
	t.Helper()
	row, err := r.Measure(t.Context(), subject)
	require.NoError(t, err)
	return row
}

// subject finds a rung or a baseline.
func subject(t *testing.T, name string) bench.Subject {
	t.Helper()
	found, err := bench.Select(inventory.Around(bench.Rungs()...), name)
	require.NoError(t, err)
	return found[0]
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
func theirs(f fake) bench.Subject {
	return bench.Subject{Name: "theirs", Kind: bench.Alternative,
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

func TestWithoutALockEverybodyWhoReadTheSameStockSells(t *testing.T) {
	r := embedded(t, 10, 3)
	r.Think = meeting(10)
	row := measure(t, r, subject(t, "no-lock"))

	assert.EqualValues(t, 10, row.Value("sold"))
	assert.EqualValues(t, -7, row.Value("left"))
	assert.EqualValues(t, 7, row.Value("oversold"))
	assert.EqualValues(t, 10, row.Value("max_holders"))
	assert.Nil(t, row.Value("wait_ms.p50"), "nobody waited")
	assert.Nil(t, row.Value("retries"), "nobody asked")
}

func TestAMutexInEachOfFourServicesLetsFourIn(t *testing.T) {
	r := embedded(t, 8, 1)
	r.Think = meeting(4)
	row := measure(t, r, subject(t, "mutex-per-service"))

	assert.EqualValues(t, 4, row.Value("max_holders"))
	assert.EqualValues(t, 4, row.Value("sold"))
	assert.EqualValues(t, 3, row.Value("oversold"))
	assert.True(t, row.Finished())
}

func TestTheSerialLimitIsOneClientWithEverybodysTurns(t *testing.T) {
	row := measure(t, embedded(t, 10, 4), subject(t, "serial-limit"))

	assert.EqualValues(t, 1, row.Value("clients"))
	assert.EqualValues(t, 10, row.Value("turns"))
	assert.EqualValues(t, 10, row.Value("sections"))
	assert.EqualValues(t, 4, row.Value("sold"))
	assert.EqualValues(t, 3.4, row.Value("commands_per_section"), "four of ten took one")
	assert.EqualValues(t, 0, row.Value("retries"))
	assert.EqualValues(t, 1.0, row.Value("ratio_to_serial"))
	assert.Nil(t, row.Value("jain"), "one client shares with nobody")
}

func TestRowsAreComparedWithTheSerialLimitOfTheirRun(t *testing.T) {
	r := embedded(t, 5, 4)
	assert.Nil(t, measure(t, r, subject(t, "gold")).Value("ratio_to_serial"))

	serial := measure(t, r, subject(t, "serial-limit"))
	gold := measure(t, r, subject(t, "gold"))
	require.NotNil(t, gold.Value("ratio_to_serial"))
	assert.InDelta(t, *gold.Number("acquisitions_per_second") / *serial.Number("acquisitions_per_second"),
		*gold.Ratio(), 0.0001)
}

func TestEveryAttemptAfterTheFirstIsARetry(t *testing.T) {
	r := embedded(t, 4, 4)
	asking := bench.Subject{Name: "asking", Nodes: 1,
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
	assert.EqualValues(t, 8, measure(t, r, asking).Value("retries"))
}

func TestARefusedTransactionIsARetry(t *testing.T) {
	redis, servers := connected(t, nodes.Config{Clients: 1})
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

	assert.EqualValues(t, 1, row.Value("retries"))
	assert.EqualValues(t, 1, row.Value("sold"))
	assert.EqualValues(t, 8, row.Value("left"))
	assert.EqualValues(t, 10.0, row.Value("commands_per_section"))
	assert.EqualValues(t, 6.0, row.Value("round_trips_per_section"))
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
	assert.EqualValues(t, 1, row.Value("sold"))
	assert.Nil(t, row.Value("commands_per_section"))
	assert.Nil(t, row.Value("round_trips_per_section"))
	assert.Nil(t, row.Value("retries"))
}

func TestARowThatIsNeverGrantedIsCutOffAndReported(t *testing.T) {
	r := embedded(t, 5, 3)
	r.Timeout = 20 * time.Millisecond
	row := measure(t, r, theirs(fake{acquire: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}))

	assert.False(t, row.Finished())
	assert.Zero(t, row.Value("sections"))
	assert.Zero(t, row.Value("failures"), "a client that was cut off has not failed")
	assert.Zero(t, row.Value("absent"))
	assert.Zero(t, row.Value("sold"))
	assert.EqualValues(t, 3, row.Value("left"))
	assert.EqualValues(t, 0, row.Value("max_holders"))
	assert.EqualValues(t, 0.0, row.Value("acquisitions_per_second"))
	assert.Nil(t, row.Value("wait_ms.p50"))
	assert.Nil(t, row.Value("commands_per_section"))
	assert.Nil(t, row.Value("jain"))
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

	assert.False(t, row.Finished())
	assert.EqualValues(t, 3, row.Value("absent"))
	assert.EqualValues(t, 1, row.Value("sections"))
	assert.Nil(t, row.Value("jain"))
}

func TestFailuresAreCountedAndTheFirstIsTold(t *testing.T) {
	r := embedded(t, 6, 3)
	broken := errors.New("broken")

	row := measure(t, r, theirs(fake{release: func(context.Context) error {
		return fmt.Errorf("release: %w", broken)
	}}))
	assert.True(t, row.Finished())
	assert.EqualValues(t, 6, row.Value("failures"))
	assert.EqualValues(t, 6, row.Value("sections"), "the sections were completed")
	assert.Equal(t, "release: broken", row.Value("first_failure"))

	row = measure(t, r, theirs(fake{acquire: func(context.Context) error {
		return fmt.Errorf("acquire: %w", broken)
	}}))
	assert.EqualValues(t, 6, row.Value("failures"))
	assert.Zero(t, row.Value("sections"))
	assert.Equal(t, "acquire: broken", row.Value("first_failure"))
}

func TestALockThatCannotBeBuiltIsAnError(t *testing.T) {
	r := embedded(t, 1, 1)
	_, err := r.Measure(t.Context(), bench.Subject{Name: "mine", Nodes: 1,
		Build: func(lock.Env) (lock.Lock, error) {
			return nil, lock.ErrInvalid
		}})
	assert.ErrorIs(t, err, lock.ErrInvalid)
	assert.ErrorContains(t, err, `measure "mine": build the lock`)

	_, err = r.Measure(t.Context(), bench.Subject{Name: "mine", Nodes: 1})
	assert.ErrorIs(t, err, lock.ErrInvalid)
}

func TestAnEndedContextBeginsNoRow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := embedded(t, 1, 1).Measure(ctx, subject(t, "gold"))
	assert.ErrorIs(t, err, context.Canceled)
}
