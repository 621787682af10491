package cohort_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

var stock = cohort.Keys("stock")

// scripts are those of a process that gives up an old owner id, and reserves or
// gives back so many fencing tokens.
func scripts(old string, tokens int) locktest.Scripts {
	return locktest.Scripts{
		Acquire: func(ctx context.Context, rdb *redis.Client, id string, count int,
			wait bool) (int64, error) {
			return cohort.Acquire.Run(ctx, rdb, stock, id, locktest.Lease.Milliseconds(),
				count, wait, 200, old, tokens).Int64()
		},
		Release: func(ctx context.Context, rdb *redis.Client, id string,
			count int) (int64, error) {
			return cohort.Release.Run(ctx, rdb, stock, id, locktest.Lease.Milliseconds(),
				count, tokens).Int64()
		},
	}
}

func TestScripts(t *testing.T) { locktest.RunScripts(t, scripts("", 0)) }

// A process whose lease may not be passed on any more asks for a new one. When
// another process waits, that one comes first.
func TestAProcessGivesUpItsOldLeaseAndAsksForANewOne(t *testing.T) {
	s := locktest.Serve(t, scripts("", 0))
	instead := func(old, id string) int64 {
		reply, err := scripts(old, 0).Acquire(t.Context(), s.Client, id, 1, true)
		assert.NoError(t, err)
		return reply
	}
	s.Acquire("a", 1, true)
	assert.Equal(t, int64(1), instead("a", "a2"))
	assert.False(t, s.Client.HExists(t.Context(), "stock", "a").Val())
	s.Waits("b")
	assert.Equal(t, int64(-200), instead("a2", "a3"))
	assert.Equal(t, "b", s.Turn())
	assert.Equal(t, []string{"a3"}, s.Queue())
	assert.Equal(t, []string{"b 200"}, s.Messages())
	s.Acquire("b", 1, true)
	assert.Equal(t, -locktest.Lease.Milliseconds(), instead("a2", "a3"))
	assert.True(t, s.Client.HExists(t.Context(), "stock", "b").Val(),
		"not a2's to give up")
}

// A grant reserves a fencing token for each owner that the lease may serve, and
// a release gives back those that were not used.
func TestTokensAreReservedAndGivenBack(t *testing.T) {
	s := locktest.Serve(t, scripts("", 0))
	assert.Equal(t, int64(1), s.Acquire("a", 1, true))
	s.Release("a", 0)
	assert.False(t, s.Mini.Exists("{stock}:token"), "none is wanted")
	acquire := func(id string) int64 {
		reply, err := scripts("", 17).Acquire(t.Context(), s.Client, id, 1, true)
		assert.NoError(t, err)
		return reply
	}
	assert.Equal(t, int64(1), acquire("b"))
	_, err := scripts("", 14).Release(t.Context(), s.Client, "b", 0)
	assert.NoError(t, err, "3 were used")
	assert.Equal(t, int64(4), acquire("c"))
	s.Mini.CheckGet(t, "{stock}:token", "20")
}
