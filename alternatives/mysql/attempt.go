package mysql

import (
	"context"
	"fmt"
)

// Attempt is one attempt of Take, for callers that wait between two. It is
// accepted when the row was still what it had read, and has then taken one, or
// found the stock empty. After an error one may be taken, or not.
func (o *Optimistic) Attempt(ctx context.Context) (accepted, taken bool,
	err error) {
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
