package lock

import (
	"context"
	"time"
)

// Poll asks try until it grants, fails, or ctx ends. A loop is used where
// [wukong] recurses (docs/sources.md), so that waiting costs no stack.
func Poll(ctx context.Context, key string, o *Options,
	try func(context.Context) (bool, error)) error {
	for {
		granted, err := try(ctx)
		if granted || err != nil {
			return err
		}
		if err := Sleep(ctx, o.pause()); err != nil {
			return Failed(ctx, "wait for", key, err)
		}
	}
}

// Sleep waits for d or until ctx ends, then with the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
