package scenarios_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

var errTaken = errors.New("somebody else has the lock")

// while runs inside while it has watchdog's lock, as a library does that takes a callback.
func while(ctx context.Context, env scenarios.Env, wait bool, inside func(context.Context)) error {
	l, err := watchdog.New(env.Nodes[0], env.Key, env.TTL)
	if err != nil {
		return err
	}
	granted := wait
	if wait {
		err = l.Lock(ctx)
	} else {
		granted, err = l.TryLock(ctx)
	}
	if err != nil {
		return err
	}
	if !granted {
		return errTaken
	}
	held, end := context.WithCancel(ctx)
	defer end()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with the callback
		select {
		case <-l.Lost():
			end()
		case <-stop:
		}
	}()
	inside(held)
	return l.Unlock(context.WithoutCancel(ctx))
}

// The random worlds are left out: a call that gives up is released later, in the background.
func TestALockBehindACallbackBreaksWhatTheLockBreaks(t *testing.T) {
	build := func(env scenarios.Env) (scenarios.Lock, error) {
		return scenarios.Using(env, func(ctx context.Context, wait bool, inside func(context.Context)) error {
			return while(ctx, env, wait, inside)
		}, errTaken), nil
	}
	known := slices.DeleteFunc(flaws.Of("diamond/watchdog"), func(f lock.Flaw) bool {
		return f.Scenario == "nested" // such a library offers no re-entry
	})
	scenarios.Run(t, build, scenarios.Flaws(known...), scenarios.Worlds(0, 1),
		scenarios.WithoutFeatures(scenarios.Reentry, scenarios.FixedLeases))
}
