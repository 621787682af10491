package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotHeld says that the lock is not this owner's: it was never granted,
	// it was released before, or its lease has ended.
	ErrNotHeld = errors.New("the lock is not held by this owner")

	// ErrLost says that a handle which held the lock asked for it once more
	// and found that its lease is gone.
	ErrLost = errors.New("the lease was lost while the lock was held")

	// ErrBusy says that another goroutine is inside a call on the same handle.
	ErrBusy = errors.New("another goroutine is using this handle")

	// ErrUpgrade says that an owner which reads asked for the write lock. It
	// would wait for itself, and two such owners for each other: read unlock
	// first, lock, and look again at what was read.
	ErrUpgrade = errors.New("a reader can't become the writer: call RUnlock first")

	// ErrInvalid is wrapped by every error about an argument of a constructor.
	ErrInvalid = errors.New("invalid argument")
)

// Failed wraps err with what was being done to which key. Drivers report an
// ended context in ways of their own, so the context's own error is added:
// errors.Is then finds context.DeadlineExceeded or context.Canceled.
func Failed(ctx context.Context, doing, key string, err error) error {
	cause := ContextErr(ctx)
	said := errors.Is(err, ErrNotHeld) || errors.Is(err, ErrLost) ||
		errors.Is(err, ErrBusy) || errors.Is(err, ErrUpgrade) ||
		errors.Is(err, cause)
	if cause != nil && !said {
		return fmt.Errorf("%s %q: %w (%w)", doing, key, cause, err)
	}
	return fmt.Errorf("%s %q: %w", doing, key, err)
}

// IgnoreNotHeld is err, or nil if that is ErrNotHeld: a grant that is given back may
// be gone already.
func IgnoreNotHeld(err error) error {
	if errors.Is(err, ErrNotHeld) {
		return nil
	}
	return err
}

// ContextErr is the context's error, or nil while it has not ended. It looks at the
// clock as well: a connection's deadline may fire just before the context's own
// timer.
func ContextErr(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		return cmp.Or(ctx.Err(), context.DeadlineExceeded)
	}
	return ctx.Err()
}
