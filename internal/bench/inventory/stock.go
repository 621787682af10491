package inventory

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

// withoutRedis is a client's turn at a stock in another store. Refused clients wait as long as those of
// a lock do.
func withoutRedis(stock bench.Stock) turnOf {
	return func(c *client) (turn, error) {
		opts, err := lock.Configure([]redis.UniversalClient{c.rdb}, c.env.Key,
			c.env.TTL, c.options())
		if err != nil {
			return nil, err
		}
		return c.optimistic(opts, func(ctx context.Context) (bool, error) {
			accepted, taken, err := stock.Take(ctx)
			if taken && err == nil {
				c.result.Sold++
			}
			return accepted, err
		}), nil
	}
}
