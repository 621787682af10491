package benchmark_test

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/benchmark"
)

// own is the lock to measure: SET NX PX, DEL, and a short pause.
type own struct {
	rdb  redis.UniversalClient
	name string
	ttl  time.Duration
}

func (l *own) TryLock(ctx context.Context) (bool, error) {
	return l.rdb.SetNX(ctx, l.name, rand.Text(), l.ttl).Result()
}

func (l *own) Lock(ctx context.Context) error {
	for {
		if granted, err := l.TryLock(ctx); granted || err != nil {
			return err
		}
		if err := lock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

func (l *own) Unlock(ctx context.Context) error { return l.rdb.Del(ctx, l.name).Err() }

func build(env lock.Env) (lock.Lock, error) {
	return &own{env.Nodes[0], env.Key, env.TTL}, nil
}

// This is all that a test file needs. Run it with:
//
//	go test ./scenarios/benchmark -run '^$' -bench Own
func BenchmarkOwn(b *testing.B) {
	benchmark.Run(b, build, benchmark.Beside("diamond"), benchmark.Clients(20))
}

// benchstat reads lines of go test -bench; this is what it is given.
func TestABenchmarkHasALineForTheLockAndForEachRungBesideIt(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), self, "-test.run=^$", "-test.bench=Own",
		"-test.benchtime=2x").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range []string{"own", "diamond"} {
		assert.Regexp(t, `(?m)^BenchmarkOwn/lock=`+name+`/clients=20(-\d+)?\s+2\s+[1-9]\d* ns/op`+
			`\s+[1-9][\d.]* acquisitions/s\s.*\b0 lost-updates\s.*\b0\.\d+ times-serial\s`,
			string(out))
	}
}
