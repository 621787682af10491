package main

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/fenced"
)

// Reprice sets prices under a lock. After lock.ErrLost another client may have got the
// lock, and some of the prices are set.
func Reprice(ctx context.Context, rdb redis.UniversalClient, db database,
	prices map[string]int) (err error) {
	l, err := fenced.New(rdb, "prices", 10*time.Second)
	if err != nil {
		return err
	}
	if err := l.Lock(ctx); err != nil { // waits until ctx ends: give it a deadline
		return err
	}
	defer func() { err = cmp.Or(err, l.Unlock(ctx)) }()
	for item, price := range prices { // may outlast the lease, which is renewed
		if lock.IsLost(l) {
			return lock.ErrLost
		}
		done, err := db.ExecContext(ctx, `UPDATE item SET price = $1, fence = $2
			WHERE name = $3 AND fence <= $2`, price, l.Token(), item)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); n == 0 {
			return cmp.Or(err, lock.ErrLost) // a later holder has been here, or there is no such item
		}
	}
	return nil
}

// database is a *sql.DB, or a *sql.Tx.
type database interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// table executes the UPDATE of Reprice.
type table struct {
	prices map[string]int
	fence  uint64 // the same in all rows
}

func (t *table) ExecContext(_ context.Context, _ string, args ...any) (sql.Result, error) {
	price, fence, item := args[0].(int), args[1].(uint64), args[2].(string)
	if t.fence > fence {
		return driver.RowsAffected(0), nil
	}
	t.prices[item], t.fence = price, fence
	return driver.RowsAffected(1), nil
}

func TestTheRecipeWritesWithItsTokenAndReleases(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	db := &table{prices: map[string]int{}}
	for price := range 2 {
		require.NoError(t, Reprice(t.Context(), rdb, db, map[string]int{"tea": price}))
	}
	assert.Equal(t, &table{map[string]int{"tea": 1}, 2}, db)
	assert.False(t, server.Exists("prices"))

	db.fence = 34 // of a holder that got the lock while this one was paused
	assert.ErrorIs(t, Reprice(t.Context(), rdb, db, map[string]int{"tea": 5}), lock.ErrLost)
	assert.Equal(t, 1, db.prices["tea"])
	assert.False(t, server.Exists("prices"))
}
