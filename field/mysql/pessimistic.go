package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/lockladder/lockladder/lock"
)

// Pessimistic is the second lock of [survey]: SELECT … FOR UPDATE locks
// a row until the transaction ends. The owner is the connection, which this
// handle keeps while it holds the lock: one connection a holder, and one for
// each that waits. It has no lease: a holder whose connection stays open, and
// does nothing, keeps the lock until the server's wait_timeout.
type Pessimistic struct {
	db   *sql.DB
	name string
	held *sql.Conn
}

// NewPessimistic makes an owner of the lock of that name. It sends nothing.
func NewPessimistic(db *sql.DB, name string) (*Pessimistic, error) {
	if err := check(db, name, time.Second); err != nil {
		return nil, err
	}
	return &Pessimistic{db: db, name: name}, nil
}

// TryLock makes one attempt. (false, err) means not granted: a transaction that
// nobody answers for ends with its connection, which is closed.
func (l *Pessimistic) TryLock(ctx context.Context) (bool, error) {
	err := l.take(ctx, " NOWAIT")
	if numbered(err, lockWaitTimeout, lockNowait) {
		return false, nil
	}
	if err != nil {
		return false, failed(ctx, "acquire", l.name, err)
	}
	return true, nil
}

// Lock waits in the server's queue until the lock is granted, ctx ends, or the
// server's innodb_lock_wait_timeout is over: ErrLockWaitTimeout. A caller that
// then waits again is last in the queue again.
func (l *Pessimistic) Lock(ctx context.Context) error {
	if err := l.take(ctx, ""); err != nil {
		return failed(ctx, "acquire", l.name, err)
	}
	return nil
}

// take begins a transaction and locks the row in it. A row that isn't there
// would lock nobody out, so it is inserted first.
func (l *Pessimistic) take(ctx context.Context, how string) (err error) {
	if l.held != nil {
		return errors.New("this handle holds the lock, or has not seen that it" +
			" lost it: unlock it first")
	}
	c, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			drop(c)
		}
	}()
	var name string
	for _, insert := range []bool{true, false} {
		// Not BeginTx: its transaction would end with this context.
		if _, err = c.ExecContext(ctx, "START TRANSACTION"); err != nil {
			return err
		}
		err = c.QueryRowContext(ctx, "SELECT name FROM lockladder_row WHERE name = ?"+
			" FOR UPDATE"+how, l.name).Scan(&name)
		if !errors.Is(err, sql.ErrNoRows) || !insert {
			break
		}
		if _, err = c.ExecContext(ctx, "ROLLBACK"); err != nil {
			return err
		}
		if _, err = c.ExecContext(ctx, "INSERT IGNORE INTO lockladder_row (name)"+
			" VALUES (?)", l.name); err != nil {
			return err
		}
	}
	if err == nil {
		l.held = c
	}
	return err
}

// Unlock ends the transaction. It returns ErrNotHeld when none is open, or when
// its connection is lost: the server has freed the lock then. It does not end
// with ctx, because a client that can't commit must at least hang up.
func (l *Pessimistic) Unlock(ctx context.Context) error {
	if l.held == nil {
		return lock.Failed(ctx, "release", l.name, lock.ErrNotHeld)
	}
	c := l.held
	l.held = nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := c.ExecContext(ctx, "COMMIT")
	if err != nil {
		drop(c)
		return lock.Failed(ctx, "release", l.name, lock.ErrNotHeld)
	}
	return c.Close()
}

// drop closes a connection for good: the server then rolls back what is open.
func drop(c *sql.Conn) {
	c.Raw(func(any) error { return driver.ErrBadConn })
	c.Close()
}
