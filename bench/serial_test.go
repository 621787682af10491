package main

import (
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/servers"
)

// turns is how many turns are compared at a time.
const turns = 200

// BenchmarkSerialLimit compares the serial limit as the suite measures it with
// the same loop written with nothing but go-redis, in turn, best on one CPU. The
// ratio is the median; its part above 1 is the suite's own cost.
//
//	taskset -c 0 go test ./bench -run '^$' -bench SerialLimit -benchtime 200x
func BenchmarkSerialLimit(b *testing.B) {
	server, err := servers.StartRedis(b.Context())
	if errors.Is(err, servers.ErrMissing) {
		b.Skip(err)
	}
	require.NoError(b, err)
	defer server.Stop()
	_, password := server.Auth()
	ours, err := bench.Connect(b.Context(), []string{server.Addr()},
		bench.Config{Clients: 1, Password: password})
	require.NoError(b, err)
	defer ours.Close(b.Context())
	runner := &bench.Runner{Servers: ours, Settings: bench.Settings{
		Clients: turns,
		Stock:   turns,
		TTL:     bench.DefaultTTL,
		Timeout: bench.DefaultTimeout,
		Grace:   bench.DefaultGrace,
	}}
	serial, err := bench.Select(bench.Around(), "serial-limit")
	require.NoError(b, err)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(),
		Password: password})
	defer rdb.Close()
	var suite, bare, ratios []float64
	for b.Loop() {
		row, err := runner.Measure(b.Context(), serial[0])
		require.NoError(b, err)
		require.EqualValues(b, turns, row.Count("sold"))
		took := bareLoop(b, rdb)
		suite = append(suite, *row.Number("seconds")*1e9/turns)
		bare = append(bare, float64(took.Nanoseconds())/turns)
		ratios = append(ratios, *row.Number("seconds")/took.Seconds())
	}
	b.ReportMetric(0, "ns/op") // of both together, and so of nothing
	b.ReportMetric(middle(suite), "suite-ns/turn")
	b.ReportMetric(middle(bare), "bare-ns/turn")
	b.ReportMetric(middle(ratios), "suite/bare")
}

func middle(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// bareLoop is one client's turns, as one would write them without a lock.
func bareLoop(b *testing.B, rdb *redis.Client) time.Duration {
	release := redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`)
	ctx := b.Context()
	require.NoError(b, release.Load(ctx, rdb).Err())
	require.NoError(b, rdb.Set(ctx, "bare:stock", turns, 0).Err())
	runtime.GC() // and not in the loop: as in a round of the suite
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	start := time.Now()
	for range turns {
		granted, err := rdb.SetNX(ctx, "bare:lock", "alone", bench.DefaultTTL).Result()
		left, read := rdb.Get(ctx, "bare:stock").Int()
		var took error
		if left > 0 {
			took = rdb.Decr(ctx, "bare:stock").Err()
		}
		deleted, released := release.Run(ctx, rdb, []string{"bare:lock"}, "alone").Int()
		if err := errors.Join(err, read, took, released); err != nil || !granted || deleted != 1 {
			b.Fatal(granted, deleted, err)
		}
	}
	return time.Since(start)
}
