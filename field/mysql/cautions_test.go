package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/mysql"
	"github.com/lockladder/lockladder/field/proxy"
	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/lock"
)

// What no scenario shows of the locks, and the cautions of [survey] among it.
func TestCautions(t *testing.T) {
	server := start(t)
	db := open(t, server)
	ctx := t.Context()
	lease := func(t *testing.T, db *sql.DB, name string, ttl time.Duration) *mysql.Lease {
		l, err := mysql.NewLease(db, name, ttl, every)
		require.NoError(t, err)
		return l
	}
	t.Run("a waiter is told when it has waited too long", func(t *testing.T) {
		_, err := db.Exec("SET GLOBAL innodb_lock_wait_timeout = 1")
		require.NoError(t, err)
		fresh := open(t, server) // the setting is for new connections
		a, err := mysql.NewPessimistic(fresh, "wait")
		require.NoError(t, err)
		b, err := mysql.NewPessimistic(fresh, "wait")
		require.NoError(t, err)
		require.NoError(t, a.Lock(ctx))
		assert.ErrorIs(t, b.Lock(ctx), mysql.ErrLockWaitTimeout)
		require.NoError(t, a.Unlock(ctx))
		require.NoError(t, b.Lock(ctx), "it may ask again")
		require.NoError(t, b.Unlock(ctx))
	})
	t.Run("a sweeper removes what nobody asks for", func(t *testing.T) {
		a := lease(t, db, "swept", 200*time.Millisecond)
		for granted := false; !granted; { // the lease may end on the way
			var err error
			granted, err = a.TryLock(ctx)
			require.NoError(t, err)
		}
		b := lease(t, db, "kept", time.Hour)
		require.NoError(t, b.Lock(ctx))
		assert.Eventually(t, func() bool {
			swept, err := mysql.Sweep(ctx, db)
			return assert.NoError(t, err) && swept == 1
		}, 10*time.Second, time.Millisecond)
		assert.NoError(t, b.Unlock(ctx))
	})
	// Each session of the driver may have a time zone of its own, by its DSN.
	t.Run("a lease is the same in every time zone", func(t *testing.T) {
		in := func(zone string) *mysql.Lease {
			dsn := stores.DSN(server) + "?time_zone=%27" + zone + "%27"
			return lease(t, connect(t, dsn), "zones", time.Minute)
		}
		west, east := in("-05:00"), in("%2B05:00")
		for _, one := range [][2]*mysql.Lease{{west, east}, {east, west}} {
			require.NoError(t, one[0].Lock(ctx))
			granted, err := one[1].TryLock(ctx)
			require.NoError(t, err)
			assert.False(t, granted)
			require.NoError(t, one[0].Unlock(ctx))
		}
	})
	// A holder that enters again must not believe in a lease that was over before the
	// answer came: of its two statements each is answered after most of a lease.
	t.Run("a late re-entry is a loss", func(t *testing.T) {
		network, err := proxy.Listen(server.Addr())
		require.NoError(t, err)
		defer network.Close()
		const ttl = 2 * time.Second
		dsn := strings.Replace(stores.DSN(server), server.Addr(), network.Addr(), 1)
		l := lease(t, connect(t, dsn), "late", ttl)
		require.NoError(t, l.Lock(ctx))
		network.Set(proxy.Weather{Delay: ttl * 7 / 10, Slow: proxy.Replies})
		granted, err := l.TryLock(ctx)
		assert.ErrorIs(t, err, lock.ErrLost)
		assert.False(t, granted)
	})
	t.Run("bad input is refused", func(t *testing.T) {
		_, err := mysql.NewRecord(nil, "x", every)
		assert.ErrorIs(t, err, lock.ErrInvalid)
		_, err = mysql.NewRecord(db, "", every)
		assert.ErrorIs(t, err, lock.ErrInvalid)
		_, err = mysql.NewLease(db, "x", 0, every)
		assert.ErrorIs(t, err, lock.ErrInvalid)
	})
	for _, by := range []mysql.Column{mysql.ByVersion, mysql.ByTimestamp} {
		t.Run("optimistic by "+string(by), func(t *testing.T) { misses(t, open(t, server), by) })
	}
}

// misses has two clients read, and the second write between. The first must see that. A
// version always tells it; a time only when the clock has moved on: of two updates within
// one second, one is lost.
func misses(t *testing.T, db *sql.DB, by mysql.Column) {
	ctx := t.Context()
	// All in one second of the server's clock.
	db.SetMaxOpenConns(1)
	_, err := db.Exec("SET timestamp = 1700000000")
	require.NoError(t, err)
	name := string(by)
	first, other := mysql.NewOptimistic(db, name, by), mysql.NewOptimistic(db, name, by)
	require.NoError(t, first.Fill(ctx, 10))
	first.Between = func() {
		accepted, taken, err := other.Attempt(ctx)
		assert.NoError(t, err)
		assert.True(t, accepted && taken)
	}
	accepted, taken, err := first.Attempt(ctx)
	require.NoError(t, err)
	assert.Equal(t, by == mysql.ByTimestamp, accepted)
	assert.Equal(t, accepted, taken)
	left, err := other.Left(ctx)
	require.NoError(t, err)
	assert.Equal(t, 9, left, "by timestamp two are sold, and one is gone")

	require.NoError(t, other.Fill(ctx, 0))
	_, taken, err = other.Attempt(ctx)
	require.NoError(t, err)
	assert.False(t, taken, "nothing is left")
}

// A replica that lags does not know the lock, and grants it again when it is
// promoted: as with Redis. It knows what had reached it before.
func TestAReplicaMayNotKnowTheLock(t *testing.T) {
	ctx := context.Background()
	master := start(t, "--server-id=1", "--log-bin")
	replica := start(t, "--server-id=2")
	admin, err := sql.Open("mysql", stores.DSN(replica))
	require.NoError(t, err)
	defer admin.Close()
	order := func(statement string) {
		t.Helper()
		_, err := admin.Exec(statement)
		require.NoError(t, err)
	}
	try := func(db *sql.DB, name string) bool {
		t.Helper()
		l, err := mysql.NewLease(db, name, time.Hour, every)
		require.NoError(t, err)
		granted, err := l.TryLock(ctx)
		require.NoError(t, err)
		return granted
	}
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	db := open(t, master) // makes the tables
	require.True(t, try(db, "early"))

	user, password := master.Auth()
	order(fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s,"+
		" MASTER_USER='%s', MASTER_PASSWORD='%s'", host, port, user, password))
	order("START SLAVE")
	require.Eventually(t, func() bool {
		var rows int
		err := admin.QueryRow("SELECT COUNT(*) FROM" +
			" lockladder_lease WHERE name = 'early'").Scan(&rows)
		return err == nil && rows == 1
	}, 30*time.Second, time.Millisecond, "the early lock is replicated")

	order("STOP SLAVE") // it falls behind
	require.True(t, try(db, "late"))
	master.Kill()
	order("RESET SLAVE ALL") // and is a master now
	other := open(t, replica)
	assert.False(t, try(other, "early"), "it knows this one")
	assert.True(t, try(other, "late"), "two hold it now")
}
