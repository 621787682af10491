package fair_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/reentrant/fair"
)

var stock = fair.Keys("stock")

var scripts = locktest.Scripts{
	Acquire: func(ctx context.Context, rdb *redis.Client, id string, count int,
		wait bool, vacant string, behind ...any) (int64, error) {
		return fair.Acquire.Run(ctx, rdb, stock, append([]any{id, locktest.Lease.Milliseconds(),
			count, wait, 200, "p", vacant}, behind...)...).Int64()
	},
	Release: func(ctx context.Context, rdb *redis.Client, id string, count int,
		neighbor string) (int64, error) {
		return fair.Release.Run(ctx, rdb, stock, id, locktest.Lease.Milliseconds(), count, neighbor,
			3000).Int64()
	},
}

func TestScripts(t *testing.T) { locktest.RunScripts(t, scripts) }

// Nobody has a turn then, and the neighbor has a lease of its own length.
func TestAReleaseHandsTheLockOverToANeighbor(t *testing.T) {
	s := locktest.Serve(t, scripts)
	s.Acquire("a", 1, true)
	s.Waits("b", "c")
	assert.Equal(t, int64(2), s.Release("a", 0, "b"))
	assert.Empty(t, s.Turn())
	assert.Equal(t, []string{"c"}, s.Queue())
	assert.Equal(t, []string{"c"}, s.Client.HKeys(t.Context(), stock[3]).Val())
	assert.Equal(t, map[string]string{"b": "1"},
		s.Client.HGetAll(t.Context(), "stock").Val())
	assert.Equal(t, 3*time.Second, s.Mini.TTL("stock"))
	assert.Equal(t, int64(1), s.Acquire("b", 2, false), "it is inside")
}

// The process that has sent the release is alive, and the neighbor with it, however
// long ago it has asked. In another process it would count as dead.
func TestANeighborIsHandedTheLockHoweverLongAgoItHasAsked(t *testing.T) {
	for neighbor, handed := range map[string]bool{"b": true, "": false} {
		s := locktest.Serve(t, scripts)
		s.Acquire("a", 1, true)
		s.Waits("b")
		s.Pass(5 * time.Second)
		s.Waits("c") // later, so that it is alive
		s.Mini.SetTTL("stock", time.Minute)
		s.Pass(15 * time.Second)
		s.Release("a", 0, neighbor)
		assert.Equal(t, handed, s.Mini.Exists("stock"))
		assert.Equal(t, handed, s.Turn() != "c")
	}
}
