package cache_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/benchmark/nodes"
	"github.com/lockladder/lockladder/internal/jobs/cache"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/lock"
)

func TestMain(m *testing.M) {
	laddertest.CollectLess()
	laddertest.OneProcessor()
	os.Exit(m.Run())
}

func subjects() []benchmark.Subject {
	return cache.Around(benchmark.Rungs()...)
}

func embedded(t *testing.T, requests int) *cache.Runner {
	servers := nodes.Embed(5, nodes.Config{Clients: 1})
	t.Cleanup(func() { assert.NoError(t, servers.Close(context.Background())) })
	return &cache.Runner{Requests: requests, Services: 4, Load: 50 * ms,
		Poll: 20 * ms, Basic: benchmark.Basic{Servers: servers,
			TTL: time.Minute, Timeout: time.Minute}}
}

func TestARowCountsLoadsAndAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("its services answer in real time")
	}
	const n = 200
	r := embedded(t, n)
	for _, subject := range subjects() {
		t.Run(subject.Name, func(t *testing.T) {
			row, err := r.Measure(t.Context(), subject)
			require.NoError(t, err)
			assert.True(t, row.Finished)
			assert.Zero(t, row.Failures)
			answers := 0
			for _, n := range row.Values {
				answers += n
			}
			assert.Equal(t, n, answers)
			switch subject.Name {
			case "no-lock":
				assert.Equal(t, n, row.Loads)
			case "mutex-per-service":
				assert.LessOrEqual(t, row.Loads, 4)
			default:
				assert.Equal(t, 1, row.Loads)
				assert.Equal(t, map[string]int{"100": n}, row.Values)
			}
		})
	}
}

func TestALockThatFailsFailsItsRequests(t *testing.T) {
	r := embedded(t, 8)
	broken := errors.New("broken")
	row, err := r.Measure(t.Context(), benchmark.Subject{Name: "theirs",
		Build: func(lock.Env) (lock.Lock, error) { return failing{broken}, nil }})
	require.NoError(t, err)
	assert.Equal(t, 8, row.Failures)
	assert.Contains(t, *row.FirstFailure, "broken")
}

type failing struct{ err error }

func (f failing) TryLock(context.Context) (bool, error) { return false, f.err }
func (f failing) Lock(context.Context) error            { return f.err }
func (f failing) Unlock(context.Context) error          { return f.err }

func TestARowThatTakesTooLongIsReported(t *testing.T) {
	r := embedded(t, 8)
	r.Timeout, r.Load = 20*ms, time.Hour
	row, err := r.Measure(t.Context(), subjects()[2])
	require.NoError(t, err)
	assert.False(t, row.Finished)
	assert.False(t, row.Interrupted)
	assert.Zero(t, row.Failures)
	assert.Contains(t, row.Text(), "0 of 8 requests were answered")
}
