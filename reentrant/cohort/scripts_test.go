package cohort

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest/queuetest"
	"github.com/lockladder/lockladder/reentrant/internal/waiters"
)

var stock = (&Lock{key: "stock"}).keys()

// scripts are those of a process that gives up an old owner id, and reserves or
// gives back so many fencing tokens.
func scripts(old string, tokens int) queuetest.Scripts {
	return queuetest.Scripts{
		Acquire: func(ctx context.Context, rdb *redis.Client, id string, count int,
			wait bool, vacant string, behind ...any) (int64, error) {
			return acquire.Run(ctx, rdb, stock, append([]any{id, queuetest.Lease,
				count, wait, 200, "p", vacant, old, tokens}, behind...)...).Int64()
		},
		Release: func(ctx context.Context, rdb *redis.Client, id string, count int,
			neighbor string) (int64, error) {
			return release.Run(ctx, rdb, stock, id, queuetest.Lease, count, neighbor,
				tokens).Int64()
		},
	}
}

func TestScripts(t *testing.T) { queuetest.Run(t, scripts("", 0)) }

// Another cohort of the process has its turn, and asks.
func TestANeighborHasTheTurn(t *testing.T) {
	s := queuetest.Serve(t, scripts("", 0))
	s.Acquire("a", 1, true)
	s.Waits("b")
	assert.Equal(t, int64(2), s.Release("a", 0, "b"))
	assert.Equal(t, "b", s.Turn())
	assert.False(t, s.Mini.Exists("stock"))
}

// A process whose lease may not be passed on any more asks for a new one. When
// another process waits, that one comes first.
func TestAProcessGivesUpItsOldLeaseAndAsksForANewOne(t *testing.T) {
	s := queuetest.Serve(t, scripts("", 0))
	instead := func(old, id string) int64 {
		reply, err := scripts(old, 0).Acquire(t.Context(), s.Client, id, 1, true, "")
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
	assert.Equal(t, []string{"p: b p"}, s.Messages())
	s.Acquire("b", 1, true)
	assert.Equal(t, int64(-queuetest.Lease), instead("a2", "a3"))
	assert.True(t, s.Client.HExists(t.Context(), "stock", "b").Val(),
		"not a2's to give up")
}

// A grant reserves a fencing token for each owner that the lease may serve, and
// a release gives back those that were not used.
func TestTokensAreReservedAndGivenBack(t *testing.T) {
	s := queuetest.Serve(t, scripts("", 0))
	assert.Equal(t, int64(1), s.Acquire("a", 1, true))
	s.Release("a", 0, "")
	assert.False(t, s.Mini.Exists("{stock}:token"), "none is wanted")
	acquire := func(id string) int64 {
		reply, err := scripts("", 17).Acquire(t.Context(), s.Client, id, 1, true, "")
		assert.NoError(t, err)
		return reply
	}
	assert.Equal(t, int64(1), acquire("b"))
	_, err := scripts("", 14).Release(t.Context(), s.Client, "b", 0, "")
	assert.NoError(t, err, "3 were used")
	assert.Equal(t, int64(4), acquire("c"))
	s.Mini.CheckGet(t, "{stock}:token", "20")
}

// The owner before lost the lock, and its id is spent. Another cohort of the process
// asks before the new owner does.
func TestOthersAskForTheIdThatTheNextOwnerAsksWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never dialed
		other := waiters.Join(rdb, "stock", "other", time.Second)
		own := waiters.Join(rdb, "stock", "spent", time.Second)
		own.Ask("spent")
		own.Answered(nil, time.Minute, time.Millisecond)
		own.Asks()
		l := &Lock{cohort: &cohort{waiter: own, id: "new"}}
		assert.Same(t, own, l.waiter())
		behind, _, _ := other.Ask("other")
		assert.Equal(t, []any{"new"}, behind)
		other.Leave(true)
		own.Leave(true)
		assert.NoError(t, rdb.Close())
	})
}
