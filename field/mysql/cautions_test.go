package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/mysql"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// The cautions of [survey], each as a test.

// begin is a transaction on a connection of its own.
func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.Begin()
	require.NoError(t, err)
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

// refused says whether a row is locked by somebody else.
func refused(t *testing.T, db *sql.DB, query string, args ...any) bool {
	t.Helper()
	var name string
	err := begin(t, db).QueryRow(query+" FOR UPDATE NOWAIT", args...).Scan(&name)
	if err != nil && err != sql.ErrNoRows {
		require.ErrorContains(t, err, "1205")
		return true
	}
	return false
}

func TestCautions(t *testing.T) {
	server := start(t)
	db := open(t, server)
	for _, name := range []string{"one", "two"} {
		_, err := db.Exec("INSERT INTO lockladder_row (name) VALUES (?)", name)
		require.NoError(t, err)
	}
	_, err := db.Exec("CREATE TABLE no_index (name VARCHAR(20), about" +
		" VARCHAR(20)) ENGINE=InnoDB")
	require.NoError(t, err)
	_, err = db.Exec("INSERT INTO no_index VALUES ('one', 'a'), ('two', 'b')")
	require.NoError(t, err)

	t.Run("a row that is there is locked, and no other", func(t *testing.T) {
		var name string
		require.NoError(t, begin(t, db).QueryRow("SELECT name FROM lockladder_row"+
			" WHERE name = 'one' FOR UPDATE").Scan(&name))
		assert.True(t, refused(t, db,
			"SELECT name FROM lockladder_row WHERE name = ?", "one"))
		assert.False(t, refused(t, db,
			"SELECT name FROM lockladder_row WHERE name = ?", "two"))
	})
	t.Run("a row that is not there locks nobody out", func(t *testing.T) {
		var name string
		for range 2 {
			assert.ErrorIs(t, begin(t, db).QueryRow("SELECT name FROM lockladder_row"+
				" WHERE name = 'nothing' FOR UPDATE NOWAIT").Scan(&name),
				sql.ErrNoRows, "both go on")
		}
	})
	t.Run("a search without an index locks every row", func(t *testing.T) {
		var name string
		require.NoError(t, begin(t, db).QueryRow("SELECT name FROM no_index"+
			" WHERE about = 'a' FOR UPDATE").Scan(&name))
		assert.True(t, refused(t, db,
			"SELECT name FROM no_index WHERE about = ?", "b"))
	})
	t.Run("a search by a range locks what it finds", func(t *testing.T) {
		rows, err := begin(t, db).Query("SELECT name FROM lockladder_row" +
			" WHERE name > '' FOR UPDATE")
		require.NoError(t, err)
		for rows.Next() {
		}
		require.NoError(t, rows.Close())
		assert.True(t, refused(t, db,
			"SELECT name FROM lockladder_row WHERE name = ?", "two"))
	})
	t.Run("a record has no expiry and no owner", func(t *testing.T) {
		ctx := context.Background()
		a, err := mysql.NewRecord(db, "record", every)
		require.NoError(t, err)
		b, err := mysql.NewRecord(db, "record", every)
		require.NoError(t, err)
		granted, err := a.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, granted)
		again, err := a.TryLock(ctx)
		require.NoError(t, err)
		assert.False(t, again, "nor does it know its own owner")
		assert.NoError(t, b.Unlock(ctx), "anybody may delete it")
		assert.ErrorIs(t, a.Unlock(ctx), lock.ErrNotHeld)
	})
	t.Run("a waiter is told when it has waited too long", func(t *testing.T) {
		ctx := context.Background()
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
		ctx := context.Background()
		a, err := mysql.NewLease(db, "swept", 200*time.Millisecond, every)
		require.NoError(t, err)
		for granted := false; !granted; { // the lease may end on the way
			granted, err = a.TryLock(ctx)
			require.NoError(t, err)
		}
		b, err := mysql.NewLease(db, "kept", time.Hour, every)
		require.NoError(t, err)
		require.NoError(t, b.Lock(ctx))
		assert.Eventually(t, func() bool {
			swept, err := mysql.Sweep(ctx, db)
			return assert.NoError(t, err) && swept == 1
		}, 10*time.Second, time.Millisecond)
		assert.NoError(t, b.Unlock(ctx))
	})
}

// Two clients read; the one that writes last must see that the other has
// written. A version always tells it. A time tells it only when the clock has
// moved on in between: of two updates within one second, one is lost.
func TestATimestampMissesWhatHappensWithinIt(t *testing.T) {
	db := open(t, start(t))
	ctx := context.Background()
	for _, c := range []struct {
		name    string
		take    *mysql.Optimistic
		left    int
		retries int // of the client that has read before the other wrote
	}{
		{"by version", mysql.NewOptimistic(db, "v", mysql.ByVersion), 8, 1},
		{"by timestamp", mysql.NewOptimistic(db, "t", mysql.ByTimestamp), 9, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			// All in one second of the server's clock.
			db.SetMaxOpenConns(1)
			defer db.SetMaxOpenConns(0)
			_, err := db.Exec("SET timestamp = 1700000000")
			require.NoError(t, err)
			defer db.Exec("SET timestamp = DEFAULT")
			require.NoError(t, c.take.Fill(ctx, 10))
			first := true
			c.take.Between = func() {
				if first {
					first = false
					taken, _, err := c.take.Take(ctx)
					assert.NoError(t, err)
					assert.True(t, taken)
				}
			}
			taken, retries, err := c.take.Take(ctx)
			require.NoError(t, err)
			assert.True(t, taken)
			left, err := c.take.Left(ctx)
			require.NoError(t, err)
			assert.Equal(t, c.left, left, "two were sold of 10")
			assert.Equal(t, c.retries, retries)

			require.NoError(t, c.take.Fill(ctx, 0))
			taken, _, err = c.take.Take(ctx)
			require.NoError(t, err)
			assert.False(t, taken, "nothing is left")
		})
	}
}

// A replica that lags does not know the lock, and grants it again when it is
// promoted: as with Redis. It knows what had reached it before.
func TestAReplicaMayNotKnowTheLock(t *testing.T) {
	ctx := context.Background()
	master := start(t, "--server-id=1", "--log-bin")
	replica := start(t, "--server-id=2")
	admin, err := sql.Open("mysql", rootOf(replica, ""))
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

	order("DROP DATABASE " + database) // the master's log makes it
	user, password := master.Auth()
	order(fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s,"+
		" MASTER_USER='%s', MASTER_PASSWORD='%s'", host, port, user, password))
	order("START SLAVE")
	require.Eventually(t, func() bool {
		var rows int
		err := admin.QueryRow("SELECT COUNT(*) FROM " + database +
			".lockladder_lease WHERE name = 'early'").Scan(&rows)
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

// slow is a connection whose answer to one statement takes longer than a lease.
type slow struct {
	net.Conn
	to    string
	lease time.Duration
	late  bool
}

func (c *slow) Write(b []byte) (int, error) {
	c.late = strings.Contains(string(b), c.to)
	return c.Conn.Write(b)
}

func (c *slow) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.late {
		c.late = false
		time.Sleep(c.lease)
	}
	return n, err
}

// openBy connects with parameters of the driver's, and by a dialer.
func openBy(t *testing.T, server *servers.Server, params map[string]string,
	dial func(ctx context.Context, network, addr string) (net.Conn, error)) *sql.DB {
	t.Helper()
	config, err := driver.ParseDSN(rootOf(server, database))
	require.NoError(t, err)
	config.Params = params
	db, err := mysql.OpenBy(config, dial)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// A holder that enters again must not believe in a lease that was over before the
// answer came.
func TestALateReentryIsALoss(t *testing.T) {
	t.Parallel()
	server := start(t)
	open(t, server)
	const ttl = 2 * time.Second
	db := openBy(t, server, nil, func(ctx context.Context, network,
		addr string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, addr)
		return &slow{Conn: c, lease: ttl,
			to: "UPDATE lockladder_lease SET held = 2"}, err
	})
	ctx := t.Context()
	l, err := mysql.NewLease(db, "stock", ttl, every)
	require.NoError(t, err)
	granted, err := l.TryLock(ctx)
	require.NoError(t, err)
	require.True(t, granted)
	granted, err = l.TryLock(ctx)
	assert.ErrorIs(t, err, lock.ErrLost)
	assert.False(t, granted)
	assert.ErrorIs(t, l.Unlock(ctx), lock.ErrNotHeld)
}

// Each session of the driver may have a time zone of its own, by its DSN.
func TestALeaseIsTheSameInEveryTimeZone(t *testing.T) {
	t.Parallel()
	server := start(t)
	open(t, server)
	lease := func(zone string) *mysql.Lease {
		db := openBy(t, server, map[string]string{"time_zone": "'" + zone + "'"}, nil)
		l, err := mysql.NewLease(db, "stock", time.Minute, every)
		require.NoError(t, err)
		return l
	}
	west, east := lease("-05:00"), lease("+05:00")
	for _, one := range [][2]*mysql.Lease{{west, east}, {east, west}} {
		granted, err := one[0].TryLock(t.Context())
		require.NoError(t, err)
		require.True(t, granted)
		granted, err = one[1].TryLock(t.Context())
		require.NoError(t, err)
		assert.False(t, granted)
		require.NoError(t, one[0].Unlock(t.Context()))
	}
}

func TestBadInputIsRefused(t *testing.T) {
	db := open(t, start(t))
	_, err := mysql.NewRecord(nil, "x", every)
	assert.ErrorIs(t, err, lock.ErrInvalid)
	_, err = mysql.NewRecord(db, "", every)
	assert.ErrorIs(t, err, lock.ErrInvalid)
	_, err = mysql.NewLease(db, "x", 0, every)
	assert.ErrorIs(t, err, lock.ErrInvalid)
	_, err = mysql.NewPessimistic(db, "")
	assert.ErrorIs(t, err, lock.ErrInvalid)
}
