package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockladder/lockladder/lock"
)

// Record is the record lock of [survey]: inserting a row takes the
// lock, deleting it frees it. The unique index sees to it that one insert
// succeeds. There is no expiry and no owner: the row of a client that died stays
// forever, and any Unlock deletes it.
type Record struct {
	db     *sql.DB
	name   string
	pauses *lock.Options
}

// NewRecord makes an owner of the lock of that name. It sends nothing. Lock asks
// again after every.
func NewRecord(db *sql.DB, name string, every time.Duration) (*Record, error) {
	if err := check(db, name, every); err != nil {
		return nil, err
	}
	return &Record{db, name, pauses(every)}, nil
}

// TryLock makes one attempt. (false, err) means unknown: the row may be there.
func (l *Record) TryLock(ctx context.Context) (bool, error) {
	_, err := exec(ctx, l.db,
		"INSERT INTO lockladder_record (name, taken_at) VALUES (?, NOW(6))", l.name)
	if numbered(err, duplicateKey) {
		return false, nil
	}
	if err != nil {
		return false, failed(ctx, "acquire", l.name, err)
	}
	return true, nil
}

// Lock asks again and again until the lock is granted or ctx ends.
func (l *Record) Lock(ctx context.Context) error {
	return lock.Poll(ctx, l.name, l.pauses, l.TryLock)
}

// Unlock deletes the row, whoever has inserted it. It returns ErrNotHeld when
// there was none.
func (l *Record) Unlock(ctx context.Context) error {
	return remove(ctx, l.db, l.name, "DELETE FROM lockladder_record WHERE name = ?", l.name)
}
