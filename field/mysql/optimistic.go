package mysql

import (
	"context"
	"database/sql"
	"fmt"
)

// Optimistic takes from a stock without any lock: it reads the row, decides, and
// updates it only if it is still what it has read ([survey]). If another client was
// faster, the caller begins anew.
type Optimistic struct {
	db   *sql.DB
	name string
	by   Column

	// Between is called between reading and writing; for tests and exhibits.
	Between func()
}

// Column is what tells an update that the row has changed.
type Column string

// The columns: a number that each update raises, or the time of the newest one.
// A time has a resolution, and of two updates within it the second does not see
// the first.
const (
	ByVersion   Column = "version"
	ByTimestamp Column = "updated_at"
)

// NewOptimistic takes from the stock of that name. It sends nothing.
func NewOptimistic(db *sql.DB, name string, by Column) *Optimistic {
	return &Optimistic{db: db, name: name, by: by}
}

// Fill sets the stock to an amount.
func (o *Optimistic) Fill(ctx context.Context, amount int) error {
	_, err := o.db.ExecContext(ctx, "REPLACE INTO lockladder_stock"+
		" (name, amount, version, updated_at) VALUES (?, ?, 0, NOW())",
		o.name, amount)
	if err != nil {
		return failed(ctx, "fill", o.name, err)
	}
	return nil
}

// Left is what is left of the stock.
func (o *Optimistic) Left(ctx context.Context) (left int, err error) {
	err = o.db.QueryRowContext(ctx, "SELECT amount FROM lockladder_stock"+
		" WHERE name = ?", o.name).Scan(&left)
	if err != nil {
		return 0, failed(ctx, "read", o.name, err)
	}
	return left, nil
}

// Attempt tries to take one from the stock; a caller may wait before the next attempt. It
// is accepted when the row was still what it had read, and has then taken one, or
// found the stock empty. After an error one may be taken, or not.
func (o *Optimistic) Attempt(ctx context.Context) (accepted, taken bool, err error) {
	var amount int
	var seen string
	err = o.db.QueryRowContext(ctx, fmt.Sprintf("SELECT amount, %s"+
		" FROM lockladder_stock WHERE name = ?", o.by),
		o.name).Scan(&amount, &seen)
	if err != nil {
		return false, false, failed(ctx, "take from", o.name, err)
	}
	if amount == 0 {
		return true, false, nil
	}
	if o.Between != nil {
		o.Between()
	}
	done, err := o.db.ExecContext(ctx, fmt.Sprintf("UPDATE lockladder_stock"+
		" SET amount = ?, version = version + 1, updated_at = NOW()"+
		" WHERE name = ? AND %s = ?", o.by), amount-1, o.name, seen)
	if err != nil {
		return false, false, failed(ctx, "take from", o.name, err)
	}
	rows, err := done.RowsAffected()
	if err != nil {
		return false, false, failed(ctx, "take from", o.name, err)
	}
	return rows > 0, rows > 0, nil
}
