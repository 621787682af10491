package imports_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench/jobs/imports"
	"github.com/lockladder/lockladder/lock"
)

// brief is a lock whose lease ends before it is released.
type brief struct{}

func (brief) Lock(context.Context) error            { return nil }
func (brief) TryLock(context.Context) (bool, error) { return true, nil }
func (brief) Unlock(context.Context) error {
	return fmt.Errorf("release the queue lock: %w", lock.ErrNotHeld)
}

// A producer goes on: all its tasks are in the queue.
func TestAQueueLockWhoseLeaseHasEndedCostsAProducerNothing(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	p := imports.Producer{Queue: imports.Queue{RDB: rdb, Prefix: "{import}:"},
		Lock: brief{}}
	require.NoError(t, p.Push(t.Context(), tasks(10, 2)...))
	pushed, err := rdb.LLen(t.Context(), "{import}:queue").Result()
	require.NoError(t, err)
	assert.Equal(t, int64(10), pushed)
}
