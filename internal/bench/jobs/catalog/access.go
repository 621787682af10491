package catalog

import (
	"context"
	"errors"

	"github.com/lockladder/lockladder/lock"
)

// access is how one client comes to the list.
type access struct {
	read   func(ctx context.Context, list List) (half bool, err error)
	change func(ctx context.Context, list List) error
}

// free is the access without a lock.
func free() access {
	return access{
		read: func(ctx context.Context, list List) (bool, error) {
			_, half, err := list.Read(ctx)
			return half, err
		},
		change: func(ctx context.Context, list List) error {
			return list.Change(ctx)
		},
	}
}

// scripted is the access in one step.
func scripted() access {
	return access{
		read: func(ctx context.Context, list List) (bool, error) {
			_, half, err := list.ReadAtOnce(ctx)
			return half, err
		},
		change: func(ctx context.Context, list List) error {
			return list.ChangeAtOnce(ctx)
		},
	}
}

// behind is the access behind a lock. Readers share it where the lock lets them.
func behind(l lock.Lock) access {
	acquire, release := l.Lock, l.Unlock
	if rw, ok := l.(lock.ReadWrite); ok {
		acquire, release = rw.RLock, rw.RUnlock
	}
	return access{
		read: func(ctx context.Context, list List) (half bool, err error) {
			if err := acquire(ctx); err != nil {
				return false, err
			}
			_, half, err = list.Read(ctx)
			return half, errors.Join(err, release(ctx))
		},
		change: func(ctx context.Context, list List) error {
			if err := l.Lock(ctx); err != nil {
				return err
			}
			return errors.Join(list.Change(ctx), l.Unlock(ctx))
		},
	}
}
