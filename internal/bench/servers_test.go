package bench_test

import (
	"context"
	"math"
	"net"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

func TestLeasesEndOnEmbeddedServers(t *testing.T) {
	r := embedded(t, 2, 2)
	r.TTL, r.Timeout = 5*time.Millisecond, 5*time.Second
	gold := subject(t, "gold")
	forgetful := gold
	forgetful.Build = func(env lock.Env) (lock.Lock, error) {
		l, err := gold.Build(env)
		return fake(l.Lock), err
	}
	assert.True(t, measure(t, r, forgetful).Finished())
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
	for _, gogc := range []string{"", "50"} {
		t.Setenv("GOGC", gogc)
		t.Setenv("GOMEMLIMIT", "")
		_, servers := connected(t, bench.Config{Clients: 1})
		before := collectorAt()
		var during []uint64
		measure(t, runner(servers, 1, 1), theirs(func(context.Context) error {
			during = collectorAt()
			return nil
		}))
		require.NotNil(t, during)
		away := gogc == ""
		assert.Equal(t, away, during[0] == math.MaxUint64, "GOGC %d", during[0])
		assert.Equal(t, away, during[1] != before[1], "never more than so much: %d", during[1])
		assert.Equal(t, before, collectorAt(), "as before")
	}
}

// collectorAt is the collector's GOGC, the largest number when it is off, and its limit.
func collectorAt() []uint64 {
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(samples)
	return []uint64{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

func TestClientsCanShareFewerConnections(t *testing.T) {
	redis, servers := connected(t, bench.Config{Clients: 20, Pool: 3})
	row := measure(t, runner(servers, 20, 20), subject(t, "gold"))
	assert.EqualValues(t, 20, row.Value("sold"))
	assert.Equal(t, 3, redis.TotalConnectionCount())
}

func TestOnlyTheKeysOfTheRunAreRemoved(t *testing.T) {
	redis, servers := connected(t, bench.Config{Clients: 1})
	require.NoError(t, redis.Set("lockladder:bench:theirs", "x"))
	// A lock may put its own word in front of the key that it is given.
	dirty := subject(t, "gold")
	build := dirty.Build
	dirty.Build = func(env lock.Env) (lock.Lock, error) {
		require.NoError(t, redis.Set("word:"+env.Key+":more", "x"))
		return build(env)
	}
	measure(t, runner(servers, 1, 1), dirty)
	assert.Greater(t, len(redis.Keys()), 2)

	require.NoError(t, servers.Close(t.Context()))
	assert.Equal(t, []string{"lockladder:bench:theirs"}, redis.Keys())
}

func TestASilentServerIsNotWaitedForLongerThanTheContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = bench.Connect(ctx, []string{silent.Addr().String()}, bench.Config{Clients: 1})
	assert.ErrorContains(t, err, silent.Addr().String())
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestRefusedConnectionsAreToldBeforeTheRow(t *testing.T) {
	redis, servers := connected(t, bench.Config{Clients: 4})
	redis.SetError("ERR max number of clients reached")
	defer redis.SetError("")

	_, err := runner(servers, 4, 1).Measure(t.Context(), subject(t, "gold"))
	assert.ErrorContains(t, err, `open 12 connections to "`+redis.Addr())
	assert.ErrorContains(t, err, "max number of clients reached")
}

// The redis_version of Valkey is that of a Redis which it is compatible with.
func TestValkeyIsNamedWithItsOwnVersion(t *testing.T) {
	valkey := miniredis.RunT(t)
	valkey.Server().SetPreHook(func(from *server.Peer, command string, _ ...string) bool {
		if command == "INFO" {
			from.WriteBulk("# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n")
		}
		return command == "INFO"
	})
	s, err := bench.Connect(t.Context(), []string{valkey.Addr()}, bench.Config{Clients: 1})
	require.NoError(t, err)
	defer s.Close(t.Context())
	env := bench.Env{Server: s.Product, ServerVersion: &s.Version}
	assert.Equal(t, "Valkey 9.1.2", env.Named())
}

// A lock may bring a driver of its own, which knows of no password.
func TestEveryConnectionShowsThePassword(t *testing.T) {
	redis := miniredis.RunT(t)
	redis.RequireAuth("s3cret")
	servers, err := bench.Connect(t.Context(), []string{redis.Addr()},
		bench.Config{Clients: 1, Password: "s3cret", RTT: time.Millisecond})
	require.NoError(t, err)
	defer servers.Close(t.Context())
	conn, err := servers.Dial(t.Context(), 0)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	require.NoError(t, err)
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	require.NoError(t, err)
	assert.Equal(t, "+PONG\r\n", string(answer[:n]))
	row := measure(t, runner(servers, 1, 1), subject(t, "reentrant/notify"))
	assert.Zero(t, row.Value("failures"), row.Value("first_failure"))
}

func TestAWrongPasswordIsSaidWithoutIt(t *testing.T) {
	redis := miniredis.RunT(t)
	redis.RequireAuth("right")
	for password, want := range map[string]string{
		"": "NOAUTH", "s3cret": "WRONGPASS"} {
		_, err := bench.Connect(t.Context(), []string{redis.Addr()}, bench.Config{Clients: 1, Password: password})
		require.ErrorContains(t, err, `reach the server at "`+redis.Addr())
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "s3cret")
		assert.NotContains(t, err.Error(), "\n")
	}
}
