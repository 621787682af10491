package inventory_test

import (
	"context"
	"math"
	"net"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/lock"
)

func TestLeasesEndOnEmbeddedServers(t *testing.T) {
	r := embedded(t, 2, 2)
	r.TTL, r.Timeout = 5*time.Millisecond, 5*time.Second
	gold := subject(t, "gold")
	forgetful := gold
	forgetful.Build = func(env lock.Env) (lock.Lock, error) {
		l, err := gold.Build(env)
		return fake{acquire: l.Lock}, err
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
			_, servers := connected(t, nodes.Config{Clients: 1})
			before := collectorAt()
			var during []uint64
			row := measure(t, runner(servers, 1, 1), theirs(fake{
				acquire: func(context.Context) error {
					during = collectorAt()
					return nil
				}}))
			assert.True(t, row.Finished())
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

func TestASlowerNetworkIsWaitedFor(t *testing.T) {
	servers := nodes.Embed(1, nodes.Config{Clients: 1,
		RTT: 4 * time.Millisecond})
	defer servers.Close(t.Context())
	row := measure(t, runner(servers, 1, 1), subject(t, "gold"))
	assert.GreaterOrEqual(t, *row.Number("seconds"), 0.016, "four round trips")
}

func TestClientsCanShareFewerConnections(t *testing.T) {
	redis, servers := connected(t, nodes.Config{Clients: 20, Pool: 3})
	row := measure(t, runner(servers, 20, 20), subject(t, "gold"))
	assert.EqualValues(t, 20, row.Value("sold"))
	assert.Equal(t, 3, redis.TotalConnectionCount())
}

func TestOnlyTheKeysOfTheRunAreRemoved(t *testing.T) {
	redis, servers := connected(t, nodes.Config{Clients: 1})
	require.NoError(t, redis.Set("lockladder:bench:theirs", "x"))
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
	redis, servers := connected(t, nodes.Config{Clients: 1})
	redis.SetError("READONLY no")
	err := servers.Close(t.Context())
	assert.ErrorContains(t, err, "remove the keys *lockladder:bench:")
	assert.ErrorContains(t, err, "READONLY no")
}

func TestALockForFiveNodesIsMeasuredOnThoseThatThereAre(t *testing.T) {
	_, servers := connected(t, nodes.Config{Clients: 3})
	row := measure(t, runner(servers, 3, 2), subject(t, "redlock"))

	assert.EqualValues(t, 1, row.Value("nodes"))
	assert.True(t, row.Finished())
	assert.EqualValues(t, 2, row.Value("sold"))
	assert.Contains(t, bench.Layout{}.Row(row), "redlock (1 node)")
}

func TestAnUnreachableServerIsNamedWithTheCause(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	require.NoError(t, closed.Close())
	there := miniredis.RunT(t)

	_, err = nodes.Connect(t.Context(), []string{there.Addr(), address}, nodes.Config{Clients: 1})
	assert.ErrorContains(t, err, `reach the server at "`+address)
	assert.ErrorAs(t, err, new(*net.OpError))
}

func TestASilentServerIsNotWaitedForLongerThanTheContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()

	_, err = nodes.Connect(ctx, []string{silent.Addr().String()}, nodes.Config{Clients: 1})
	assert.ErrorContains(t, err, silent.Addr().String())
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTooFewConnectionsAreToldBeforeTheRow(t *testing.T) {
	redis, servers := connected(t, nodes.Config{Clients: 4})
	redis.SetError("ERR max number of clients reached")
	defer redis.SetError("")

	_, err := runner(servers, 4, 1).Measure(t.Context(), subject(t, "gold"))
	assert.ErrorContains(t, err, `open 12 connections to "`+redis.Addr())
	assert.ErrorContains(t, err, "max number of clients reached")
}
