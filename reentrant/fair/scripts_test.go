package fair_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/reentrant/fair"
)

var stock = fair.Keys("stock")

var scripts = locktest.Scripts{
	Acquire: func(ctx context.Context, rdb *redis.Client, id string, count int,
		wait bool) (int64, error) {
		return fair.Acquire.Run(ctx, rdb, stock, id, locktest.Lease.Milliseconds(), count,
			wait, 200).Int64()
	},
	Release: func(ctx context.Context, rdb *redis.Client, id string,
		count int) (int64, error) {
		return fair.Release.Run(ctx, rdb, stock, id, locktest.Lease.Milliseconds(),
			count).Int64()
	},
}

func TestScripts(t *testing.T) { locktest.RunScripts(t, scripts) }

// None of them is given the turn of another one that leaves with it.
func TestThoseThatLeaveTogetherPassOneTurn(t *testing.T) {
	s := locktest.Serve(t, scripts)
	s.Acquire("a", 1, true)
	s.Waits("b", "c", "d", "e")
	s.Release("a", 0)
	assert.Zero(t, fair.Release.Run(t.Context(), s.Client, stock, "c",
		locktest.Lease.Milliseconds(), 0, "b", "c", "d").Val())
	assert.Equal(t, "e", s.Turn())
	assert.Empty(t, s.Queue())
}
