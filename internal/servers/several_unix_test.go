//go:build unix

package servers_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
)

func TestAReplicaHasWhatWasWrittenBeforeReplicationWasHeldBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := startRedis(t)
	before := r.Client()
	defer before.Close()
	require.NoError(t, before.Set(ctx, "early", "v", 0).Err())
	require.NoError(t, r.Replicate(ctx))
	require.NoError(t, before.Set(ctx, "late", "v", 0).Err())

	require.NoError(t, r.Promote(ctx))
	after := r.Client()
	defer after.Close()
	assert.NoError(t, after.Get(ctx, "early").Err())
	assert.ErrorIs(t, after.Get(ctx, "late").Err(), redis.Nil)
	assert.NoError(t, after.Set(ctx, "late", "v", 0).Err(), "it is a master")
}

// One slot lies at one master, and another one says so.
func TestAClusterServesEverySlotAndMovesThem(t *testing.T) {
	serverstest.Need(t)
	t.Parallel()
	ctx := context.Background()
	c, err := servers.StartCluster(ctx, 3)
	require.NoError(t, err)
	defer c.Stop()
	require.Len(t, c.Masters(), 3)
	_, password := c.Auth()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Masters(),
		Password: password})
	defer rdb.Close()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		require.NoError(t, rdb.Set(ctx, key, "v", 0).Err())
	}
	answers := func(key string) map[string]int {
		says := map[string]int{}
		for _, addr := range c.Masters() {
			master := redis.NewClient(&redis.Options{Addr: addr,
				Password: password})
			defer master.Close()
			err := master.Get(ctx, key).Err()
			if err == nil {
				says["value"]++
			} else {
				word, _, _ := strings.Cut(err.Error(), " ")
				says[word]++
			}
		}
		return says
	}
	assert.Equal(t, map[string]int{"value": 1, "MOVED": 2}, answers("a"))

	move, err := c.Move(ctx, "a")
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"value": 1, "MOVED": 2}, answers("a"))
	require.NoError(t, move.Take(ctx))
	assert.Equal(t, map[string]int{"ASK": 1, "MOVED": 2}, answers("a"))
	require.NoError(t, move.Finish(ctx))
	assert.Equal(t, map[string]int{"value": 1, "MOVED": 2}, answers("a"))
	assert.Equal(t, "v", rdb.Get(ctx, "a").Val())
}

func TestASentinelPromotesTheReplicaOfADeadMaster(t *testing.T) {
	serverstest.Need(t)
	t.Parallel()
	ctx := context.Background()
	s, err := servers.StartSentinel(ctx)
	require.NoError(t, err)
	defer s.Stop()
	_, password := s.Auth()
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		Password: password, SentinelPassword: password,
		MasterName: s.MasterName(), SentinelAddrs: s.Sentinels(),
		MaxRetries: 10,
	})
	defer rdb.Close()
	require.NoError(t, rdb.Set(ctx, "early", "v", 0).Err())
	require.NoError(t, s.HoldReplication(ctx))
	require.NoError(t, rdb.Set(ctx, "late", "v", 0).Err())
	master := s.Addr()

	require.NoError(t, s.Failover(ctx))
	assert.NotEqual(t, master, s.Addr())
	assert.NoError(t, rdb.Get(ctx, "early").Err())
	assert.ErrorIs(t, rdb.Get(ctx, "late").Err(), redis.Nil)
	assert.NoError(t, rdb.Set(ctx, "late", "v", 0).Err(), "it is a master")
}
