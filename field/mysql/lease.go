package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lockladder/lockladder/lock"
)

// Lease is the record lock with what the cautions in [survey] ask for:
// the row names its owner and how often that is inside, and when it expires. All
// times are the server's, in UTC: a session may have a time zone of its own. An
// expired row is nobody's: the next who asks for the lock removes it, and Sweep,
// which a timed job calls now and then, those that nobody asks for.
type Lease struct {
	db     *sql.DB
	name   string
	ttl    time.Duration
	pauses *lock.Options

	owner string // of the newest outermost acquisition
	held  int    // how often this owner is inside
	spent bool   // owner was sent with an outermost release
}

// NewLease makes an owner of the lock of that name. It sends nothing. Lock asks
// again after every.
func NewLease(db *sql.DB, name string, ttl, every time.Duration) (*Lease, error) {
	if err := check(db, name, every); err != nil {
		return nil, err
	}
	if ttl < time.Millisecond {
		return nil, fmt.Errorf("%w: the ttl is %v, it must be at least 1ms",
			lock.ErrInvalid, ttl)
	}
	return &Lease{db: db, name: name, ttl: ttl, pauses: pauses(every)}, nil
}

// TryLock makes one attempt; an owner that is inside enters once more, and one
// whose reply was lost finds itself. (false, err) means unknown: the row may be
// there, and asking again finds that out. It returns ErrLost when the owner was
// inside and its lease is gone, or over before the answer has come.
func (l *Lease) TryLock(ctx context.Context) (bool, error) {
	if l.owner == "" || l.spent {
		l.owner, l.spent = uuid.NewString(), false
	}
	sent := time.Now()
	granted, err := l.take(ctx)
	if err != nil {
		return false, failed(ctx, "acquire", l.name, err)
	}
	late := time.Since(sent) >= l.ttl // it is over before it has arrived
	switch {
	case l.held > 0 && (!granted || late):
		return false, fmt.Errorf("enter %q again: %w", l.name, lock.ErrLost)
	case granted && late:
		l.spent = true
		if err := l.leave(ctx, 0); !errors.Is(err, lock.ErrNotHeld) {
			return false, err
		}
		return false, nil
	case granted:
		l.held++
	}
	return granted, nil
}

// take removes the row when it has expired, enters once more when it is one's
// own, and else tries to insert it.
func (l *Lease) take(ctx context.Context) (bool, error) {
	if _, err := exec(ctx, l.db, "DELETE FROM lockladder_lease"+
		" WHERE name = ? AND expires_at <= UTC_TIMESTAMP(6)", l.name); err != nil {
		return false, err
	}
	if l.held > 0 {
		return l.set(ctx, l.held+1)
	}
	_, err := exec(ctx, l.db, "INSERT INTO lockladder_lease"+
		" (name, owner, held, expires_at)"+
		" VALUES (?, ?, 1, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)",
		l.name, l.owner, l.ttl.Microseconds())
	if numbered(err, duplicateKey) {
		return l.set(ctx, 1) // it is one's own when a reply was lost
	}
	return err == nil, err
}

// set writes the count, and starts the lease anew, where the row is one's own.
func (l *Lease) set(ctx context.Context, held int) (bool, error) {
	done, err := exec(ctx, l.db, "UPDATE lockladder_lease SET held = ?,"+
		" expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND"+
		" WHERE name = ? AND owner = ? AND expires_at > UTC_TIMESTAMP(6)",
		held, l.ttl.Microseconds(), l.name, l.owner)
	if err != nil {
		return false, err
	}
	rows, err := done.RowsAffected()
	return rows > 0, err
}

// Lock asks again and again until the lock is granted or ctx ends.
func (l *Lease) Lock(ctx context.Context) error {
	return lock.Poll(ctx, l.name, l.pauses, l.TryLock)
}

// Unlock leaves one level, and the outermost one frees the lock. It returns
// ErrNotHeld when the row is no longer this owner's. It runs for at most one
// lease on a context of its own.
func (l *Lease) Unlock(ctx context.Context) error {
	// The handle's own count decides, whatever becomes of the statement: were a
	// level kept after an error, the outermost Unlock would free nothing.
	left := max(l.held-1, 0)
	l.held = left
	if left == 0 {
		l.spent = true
	}
	return l.leave(ctx, left)
}

func (l *Lease) leave(ctx context.Context, left int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	if left > 0 {
		kept, err := l.set(ctx, left)
		if err != nil {
			return failed(ctx, "release", l.name, err)
		}
		if !kept {
			return lock.Failed(ctx, "release", l.name, lock.ErrNotHeld)
		}
		return nil
	}
	return remove(ctx, l.db, l.name, "DELETE FROM lockladder_lease"+
		" WHERE name = ? AND owner = ? AND expires_at > UTC_TIMESTAMP(6)",
		l.name, l.owner)
}

// Sweep removes expired rows, by the server's clock, and returns their number.
func Sweep(ctx context.Context, db *sql.DB) (int64, error) {
	done, err := exec(ctx, db,
		"DELETE FROM lockladder_lease WHERE expires_at <= UTC_TIMESTAMP(6)")
	if err != nil {
		return 0, fmt.Errorf("remove expired locks: %w", err)
	}
	return done.RowsAffected()
}
