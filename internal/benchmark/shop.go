package benchmark

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Shop is a stock in another store than Redis that is sold without a lock: who
// takes says what it has read, and is refused when that is no longer so.
type Shop struct {
	// Take makes one attempt. It is accepted when the stock had not changed
	// since it was read, and has taken one if there was any. After an error one
	// may be taken, or not. Many clients call it at once.
	Take func(ctx context.Context) (accepted, taken bool, err error)

	// Left is what is left of the stock.
	Left func(ctx context.Context) (int64, error)

	// Close ends what was made for the shop.
	Close func()
}

// visit is a client's turn in a shop. Refused clients wait as long as those of
// a lock do.
func (shop Shop) visit(c *client) (turn, error) {
	opts, err := lock.Configure([]redis.UniversalClient{c.rdb}, c.env.Key,
		c.env.TTL, c.options())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, c *client) error {
		return c.optimistic(ctx, opts, func(ctx context.Context) (bool, error) {
			ctx, cancel := detached(ctx)
			defer cancel()
			accepted, taken, err := shop.Take(ctx)
			if err != nil {
				return false, fmt.Errorf("take from the stock: %w",
					told(ctx, err))
			}
			if taken {
				c.result.Sold++
			}
			return accepted, nil
		})
	}, nil
}
