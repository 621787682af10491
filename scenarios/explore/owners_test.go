package explore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
)

// locking is a lock with a Lock of its own.
type locking struct {
	plainly
	lock func(ctx context.Context) error
}

func (l locking) Lock(ctx context.Context) error { return l.lock(ctx) }

// leaseless sets a key without a lease. Refused is what Lock does when the key is there.
func leaseless(refused func(ctx context.Context) error,
	release func(env lock.Env) func(ctx context.Context) error) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		name := token(env) // the owners' commands must not look alike
		try := func(ctx context.Context) (bool, error) {
			return env.Nodes[0].SetNX(ctx, env.Key, name, 0).Result()
		}
		return locking{plainly{try, release(env)}, func(ctx context.Context) error {
			if granted, err := try(ctx); granted || err != nil {
				return err
			}
			return refused(ctx)
		}}, nil
	}
}

// An owner that is done has left nothing behind while another owner of its process holds
// the lock. It has when the other one only waits, and when that is done as well.
func TestAGrantIsOrphanedWhenNoOwnerOfTheProcessWillFreeIt(t *testing.T) {
	goesAway := func(context.Context) error { return lock.ErrLost }
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	forgets := func(lock.Env) func(context.Context) error {
		return func(context.Context) error { return nil }
	}
	for what, test := range map[string]struct {
		refused  func(ctx context.Context) error
		release  func(env lock.Env) func(ctx context.Context) error
		orphaned bool
	}{
		"a refused owner goes away":                         {goesAway, deleting, false},
		"a refused owner waits":                             {waits, deleting, false},
		"a refused owner goes away, and the holder forgets": {goesAway, forgets, true},
		"a refused owner waits, and the holder forgets":     {waits, forgets, true},
	} {
		t.Run(what, func(t *testing.T) {
			report, err := explore(t, leaseless(test.refused, test.release), Bounds{
				Clients: 1, Owners: 2, Programs: []Program{Wait}}, true, search)
			require.NoError(t, err)
			_, orphaned := report.Failure(Orphaned)
			assert.Equal(t, test.orphaned, orphaned, report)
		})
	}
}
