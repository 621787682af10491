package catalog_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/benchmark/nodes"
	"github.com/lockladder/lockladder/internal/jobs/catalog"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/lock"
)

func TestMain(m *testing.M) {
	laddertest.CollectLess()
	laddertest.OneProcessor()
	os.Exit(m.Run())
}

// between is a list whose client does something once, after it has read a page.
func between(t *testing.T, do func(list catalog.List)) catalog.List {
	server := miniredis.RunT(t)
	client := func() *redis.Client {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { rdb.Close() })
		return rdb
	}
	list := catalog.List{RDB: client(), Key: "{prices}"}
	require.NoError(t, list.Begin(t.Context()))
	other := list
	once := sync.OnceFunc(func() { do(other) })
	list.RDB = client()
	list.RDB.AddHook(after{func(cmd redis.Cmder) {
		if cmd.Name() == "hvals" {
			once()
		}
	}})
	return list
}

// after calls a function after each command.
type after struct{ call func(redis.Cmder) }

func (a after) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a after) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		a.call(cmd)
		return err
	}
}

func (a after) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestAReaderSeesHalfOfAChangeThatComesBetweenTwoPages(t *testing.T) {
	list := between(t, func(other catalog.List) {
		assert.NoError(t, other.Change(t.Context()))
	})
	_, half, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.True(t, half)
	price, half, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.False(t, half, "the change is over")
	assert.Equal(t, 1, price)
}

func TestAScriptLeavesNothingBetweenTwoPages(t *testing.T) {
	list := between(t, func(catalog.List) { t.Error("there is no HVALS") })
	require.NoError(t, list.ChangeAtOnce(t.Context()))
	price, half, err := list.ReadAtOnce(t.Context())
	require.NoError(t, err)
	assert.False(t, half)
	assert.Equal(t, 1, price)
}

func TestAChangeThatDoesNotKnowOfAnotherLosesIt(t *testing.T) {
	list := between(t, func(catalog.List) {})
	require.NoError(t, list.Change(t.Context()))
	require.NoError(t, list.Change(t.Context()))
	price, _, err := list.Read(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, price, "one after the other")
}

func subjects() []benchmark.Subject {
	return catalog.Around(benchmark.Rungs()...)
}

func embedded(t *testing.T, clients int) *catalog.Runner {
	servers := nodes.Embed(5, nodes.Config{Clients: clients})
	t.Cleanup(func() { assert.NoError(t, servers.Close(context.Background())) })
	return &catalog.Runner{Clients: clients, Writes: 20, Ops: 2, Rounds: 2,
		Poll: 5 * time.Millisecond, Basic: benchmark.Basic{Servers: servers,
			TTL: time.Minute, Timeout: time.Minute}}
}

func TestNoReaderBehindALockSeesHalfAChange(t *testing.T) {
	r := embedded(t, 20)
	for _, subject := range subjects() {
		t.Run(subject.Name, func(t *testing.T) {
			row, err := r.Measure(t.Context(), subject)
			require.NoError(t, err)
			assert.True(t, row.Finished)
			assert.Zero(t, row.Failures)
			assert.Equal(t, 64, row.Reads, "16 of 20 clients, twice, in two rounds")
			assert.Equal(t, 16, row.Changes)
			assert.Equal(t, subject.Name == "reentrant/readwrite", row.Shared)
			if subject.Name != "no-lock" {
				assert.Zero(t, row.Halves)
				assert.Zero(t, row.Lost)
			}
		})
	}
}

// Two clients that change the list at one instant without a lock read the same
// price in most rounds.
func TestWithoutALockChangesAreLost(t *testing.T) {
	r := embedded(t, 20)
	r.Writes, r.Rounds = 100, 5
	row, err := r.Measure(t.Context(), subjects()[0])
	require.NoError(t, err)
	assert.Equal(t, 200, row.Changes)
	assert.Positive(t, row.Lost)
}

func TestARowIsComparedWithAnother(t *testing.T) {
	r := embedded(t, 5)
	all := subjects()
	r.Against = &all[0]
	row, err := r.Measure(t.Context(), all[1])
	require.NoError(t, err)
	require.NotNil(t, row.Times)
	assert.Positive(t, *row.Times)
	assert.Equal(t, "no-lock", *row.Against)
	row, err = r.Measure(t.Context(), all[0])
	require.NoError(t, err)
	assert.Nil(t, row.Times, "it is not compared with itself")
}

func TestALockThatFailsFailsItsClients(t *testing.T) {
	r := embedded(t, 5)
	row, err := r.Measure(t.Context(), benchmark.Subject{Name: "theirs",
		Build: func(lock.Env) (lock.Lock, error) {
			return failing{errors.New("broken")}, nil
		}})
	require.NoError(t, err)
	assert.Equal(t, 20, row.Failures)
	assert.Contains(t, *row.FirstFailure, "broken")
	assert.Contains(t, row.Text(), "accesses that failed: 20")
}

type failing struct{ err error }

func (f failing) TryLock(context.Context) (bool, error) { return false, f.err }
func (f failing) Lock(context.Context) error            { return f.err }
func (f failing) Unlock(context.Context) error          { return f.err }

func TestARoundThatTakesTooLongIsReported(t *testing.T) {
	r := embedded(t, 5)
	r.Timeout = 20 * time.Millisecond
	row, err := r.Measure(t.Context(), benchmark.Subject{Name: "theirs",
		Build: func(lock.Env) (lock.Lock, error) { return endless{}, nil }})
	require.NoError(t, err)
	assert.False(t, row.Finished)
	assert.False(t, row.Interrupted)
	assert.Zero(t, row.Failures)
	assert.Contains(t, row.Text(), "0 of 10 were through")
}

// endless never grants.
type endless struct{ failing }

func (endless) Lock(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*catalog.Runner){
		"0 clients":            func(r *catalog.Runner) { r.Clients = 0 },
		"10001 clients":        func(r *catalog.Runner) { r.Clients = 10_001 },
		"101 of a hundred":     func(r *catalog.Runner) { r.Writes = 101 },
		"-1 of a hundred":      func(r *catalog.Runner) { r.Writes = -1 },
		"comes 0 times":        func(r *catalog.Runner) { r.Ops = 0 },
		"0 rounds":             func(r *catalog.Runner) { r.Rounds = 0 },
		"the ttl is 0s":        func(r *catalog.Runner) { r.TTL = 0 },
		"poll interval is -1s": func(r *catalog.Runner) { r.Poll = -time.Second },
		"the timeout is 0s":    func(r *catalog.Runner) { r.Timeout = 0 },
	} {
		r := &catalog.Runner{Clients: 1, Ops: 1, Rounds: 1, Basic: benchmark.Basic{
			TTL: time.Second, Timeout: time.Second}}
		require.NoError(t, r.Check())
		spoil(r)
		assert.ErrorContains(t, r.Check(), want)
	}
}
