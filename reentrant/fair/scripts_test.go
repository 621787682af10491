package fair

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/queuetest"
)

func TestScripts(t *testing.T) {
	keys := (&Lock{key: "stock"}).keys()
	queuetest.Run(t, queuetest.Scripts{
		Acquire: func(ctx context.Context, rdb *redis.Client, id string, count int,
			wait bool, behind ...any) (int64, error) {
			return acquire.Run(ctx, rdb, keys, append([]any{id, queuetest.Lease,
				count, wait, 200}, behind...)...).Int64()
		},
		Release: func(ctx context.Context, rdb *redis.Client, id string, count int,
			neighbor string) (int64, error) {
			return release.Run(ctx, rdb, keys, id, queuetest.Lease, count,
				neighbor).Int64()
		},
	})
}
