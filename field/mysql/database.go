package mysql

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockladder/lockladder/lock"
)

//go:embed schema.sql
var schema string

// ErrLockWaitTimeout says that a lock was not had within the server's
// innodb_lock_wait_timeout: error 1205. The lock may be asked for again.
var ErrLockWaitTimeout = errors.New("lock wait timeout")

// The numbers of the server's errors that the locks tell apart.
const (
	duplicateKey    = 1062
	lockWaitTimeout = 1205 // MariaDB says so of NOWAIT, too
	deadlock        = 1213 // the statement was undone, for others to go on
	lockNowait      = 3572 // what MySQL says of NOWAIT
)

// Open connects to a database and makes the tables where they are not there;
// their names begin with lockladder_. The DSN is the driver's:
// "user:password@tcp(host:3306)/database". No error says the password.
func Open(ctx context.Context, dsn string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil { // which may say a part of the password
		return nil, errors.New("the DSN is not understood, it should be" +
			" like user:password@tcp(host:3306)/database")
	}
	db, err := OpenBy(config, nil)
	if err != nil {
		return nil, err
	}
	for _, statement := range strings.Split(schema, ";") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.ExecContext(ctx, statement); err != nil {
			db.Close()
			return nil, fmt.Errorf("make the locks' tables at %s: %w", config.Addr, err)
		}
	}
	return db, nil
}

// OpenBy is Open without the tables, with a dialer of the caller's, or nil. It sends
// nothing.
func OpenBy(config *mysql.Config, dial func(ctx context.Context, network,
	addr string) (net.Conn, error)) (*sql.DB, error) {
	c := config.Clone()
	c.InterpolateParams = true    // one request a statement
	c.Logger = &mysql.NopLogger{} // errors are returned, and not printed besides
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if dial != nil {
		c.DialFunc = dial
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.Addr, err)
	}
	return sql.OpenDB(connector), nil
}

// failed wraps an error with what was being done to which lock.
func failed(ctx context.Context, doing, name string, err error) error {
	if numbered(err, lockWaitTimeout) {
		err = fmt.Errorf("%w: %w", ErrLockWaitTimeout, err)
	}
	return lock.Failed(ctx, doing, name, err)
}

// numbered says whether an error is the server's of one of these numbers.
func numbered(err error, numbers ...uint16) bool {
	said, is := errors.AsType[*mysql.MySQLError](err)
	return is && slices.Contains(numbers, said.Number)
}

// exec sends a statement, and again when the server has undone it to end a
// deadlock: a refused INSERT locks the row that it has met, and two of these and
// a DELETE can wait for each other.
func exec(ctx context.Context, db *sql.DB, query string, args ...any) (sql.Result, error) {
	for {
		done, err := db.ExecContext(ctx, query, args...)
		if !numbered(err, deadlock) || ctx.Err() != nil {
			return done, err
		}
	}
}

// remove deletes the row of a lock. It returns ErrNotHeld when there was none.
func remove(ctx context.Context, db *sql.DB, name, query string, args ...any) error {
	done, err := exec(ctx, db, query, args...)
	if err != nil {
		return failed(ctx, "release", name, err)
	}
	if rows, err := done.RowsAffected(); err == nil && rows == 0 {
		return lock.Failed(ctx, "release", name, lock.ErrNotHeld)
	}
	return nil
}

// check refuses what no lock can be made of.
func check(db *sql.DB, name string, every time.Duration) error {
	switch {
	case db == nil:
		return fmt.Errorf("%w: there is no database", lock.ErrInvalid)
	case name == "" || len(name) > 191:
		return fmt.Errorf("%w: a lock's name has 1 to 191 bytes, and not %d",
			lock.ErrInvalid, len(name))
	case every <= 0:
		return fmt.Errorf("%w: the poll interval is %v, it must be positive",
			lock.ErrInvalid, every)
	}
	return nil
}

// pauses has a waiter ask again after that time.
func pauses(every time.Duration) *lock.Options {
	o := &lock.Options{}
	lock.PollEvery(every)(o)
	lock.FixedPoll()(o)
	return o
}
