package inventory_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/inventory"
	"github.com/lockladder/lockladder/lock"
)

// counter is a stock in memory. Without compare it writes what it likes.
type counter struct {
	stock   atomic.Int64
	compare bool
	meet    func(context.Context)
	closed  atomic.Bool
}

func (c *counter) subject() bench.Subject {
	return bench.Subject{Name: "store", Kind: bench.Baseline,
		OwnServer: true,
		Open: func(_ context.Context, amount int) (bench.Stock, error) {
			c.stock.Store(int64(amount))
			return bench.Stock{Take: c.take, Left: c.left,
				Close: func() { c.closed.Store(true) }}, nil
		}}
}

func (c *counter) take(ctx context.Context) (accepted, taken bool, err error) {
	seen := c.stock.Load()
	if seen == 0 {
		return true, false, nil
	}
	c.meet(ctx)
	if !c.compare {
		c.stock.Store(seen - 1)
		return true, true, nil
	}
	accepted = c.stock.CompareAndSwap(seen, seen-1)
	return accepted, accepted, nil
}

func (c *counter) left(context.Context) (int64, error) {
	return c.stock.Load(), nil
}

func TestAStockSellsWithoutALockAndCountsRefusals(t *testing.T) {
	store := &counter{compare: true, meet: meeting(2)}
	row := measure(t, embedded(t, 2, 5), store.subject())

	assert.True(t, row.Finished)
	assert.EqualValues(t, 2, row.Sections)
	assert.EqualValues(t, 2, row.Sold)
	assert.Equal(t, new(int64(3)), row.Left)
	assert.Equal(t, new(int64(1)), row.Retries, "two read, and one was first")
	assert.Zero(t, row.LostUpdates)
	assert.Nil(t, row.MaxHolders, "nobody is inside of anything")
	assert.True(t, store.closed.Load())
}

func TestAnEmptyStockSellsNothing(t *testing.T) {
	store := &counter{compare: true, meet: func(context.Context) {}}
	row := measure(t, embedded(t, 4, 1), store.subject())
	assert.EqualValues(t, 4, row.Sections)
	assert.EqualValues(t, 1, row.Sold)
	assert.Equal(t, new(int64(0)), row.Left)
}

func TestWhatAStockHasSoldAndStillHasIsALostUpdate(t *testing.T) {
	store := &counter{meet: meeting(2)}
	row := measure(t, embedded(t, 2, 5), store.subject())
	assert.EqualValues(t, 2, row.Sold)
	assert.Equal(t, new(int64(4)), row.Left)
	assert.EqualValues(t, 1, row.LostUpdates)
	assert.Equal(t, new(int64(0)), row.Retries)
}

func TestTheRunsEndEndsTheStartOfARowsServer(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	ended := false
	_, err := embedded(t, 1, 1).Measure(ctx, bench.Subject{Name: "slow",
		OwnServer: true, Share: func(ctx context.Context) (lock.Build, func(),
			error) {
			interrupt()
			select {
			case <-ctx.Done():
				ended = true
				return nil, nil, ctx.Err()
			case <-time.After(10 * time.Second):
				return nil, nil, errors.New("nobody ended it")
			}
		}})
	assert.ErrorIs(t, err, context.Canceled)
	assert.True(t, ended)
}

func TestARowsOwnPauseHoldsWhereNoneIsAskedFor(t *testing.T) {
	s := inventory.Settings{Clients: 1000}
	subject := bench.Subject{Poll: 20 * time.Millisecond}
	assert.Equal(t, 20*time.Millisecond, s.Pause(subject, true))
	s.Poll = time.Second
	assert.Equal(t, time.Second, s.Pause(subject, true))
}
