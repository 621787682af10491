package scenarios_test

// How to run the scenarios against a lock of your own, in a copy of this file whose package
// has the name of those beside it:
//
//  1. Your lock needs the three methods of scenarios.Lock: TryLock, Lock and Unlock. For a
//     library's there are the adapters scenarios.Handle, Held and Using.
//  2. Write a function that builds one owner of the lock from a scenarios.Env, which has
//     a client for each Redis node, the name of the lock and its lease. Send all commands
//     with these clients, because they lead to the simulated servers. Use package time
//     as you always do: the scenarios run in virtual time, and ten seconds cost nothing.
//  3. Declare with scenarios.WithoutFeatures what your lock doesn't offer. The scenarios
//     that need it are then left out.
//  4. Run the test. It fails for each scenario that breaks your lock, and prints who did
//     what and when, up to the command that broke it.
//  5. To see such a run step by step beside your code, add the option
//     scenarios.Record("runs"), and play one of the files in a checkout of this module:
//     go run ./docs -open FILE.
//  6. Fix what you can, and declare the rest with scenarios.Known: the failed run prints
//     the lines to add. From then on the test passes, until a declared flaw no longer
//     breaks or a new one appears.
//
// The lock below is the one that most articles end with: SET NX PX with a random
// value, and a script that compares before it deletes.

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/scenarios"
)

// myLock is the lock to test. It knows nothing of the scenarios.
type myLock struct {
	rdb   redis.UniversalClient
	name  string
	lease time.Duration
	value string
}

func (l *myLock) TryLock(ctx context.Context) (bool, error) {
	value := rand.Text()
	granted, err := l.rdb.SetNX(ctx, l.name, value, l.lease).Result()
	if granted {
		l.value = value
	}
	return granted, err
}

func (l *myLock) Lock(ctx context.Context) error {
	again := time.NewTicker(30 * time.Millisecond)
	defer again.Stop()
	for {
		if granted, err := l.TryLock(ctx); granted || err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var compareAndDelete = redis.NewScript(`
	if redis.call('GET', KEYS[1]) == ARGV[1] then
		return redis.call('DEL', KEYS[1])
	end
	return 0`)

func (l *myLock) Unlock(ctx context.Context) error {
	deleted, err := compareAndDelete.Run(ctx, l.rdb, []string{l.name},
		l.value).Int()
	if err == nil && deleted == 0 {
		return scenarios.ErrNotHeld // the error that the scenarios look for
	}
	return err
}

func buildMyLock(env scenarios.Env) (scenarios.Lock, error) {
	return &myLock{rdb: env.Nodes[0], name: env.Key, lease: env.TTL}, nil
}

func TestMyOwnLock(t *testing.T) {
	scenarios.Run(t, buildMyLock,
		scenarios.WithoutFeatures(
			scenarios.Reentry, scenarios.Renewal, scenarios.LossNotices),
		scenarios.Known(
			// The lease ends while the holder works, and the holder isn't told.
			"overrun_overlap: two holders",
			"paused_holder: stale write",
			"oversell: lost update",
			// A grant whose reply comes after the lease is believed, and one whose
			// reply is lost keeps even its owner out.
			"late_grant: two holders",
			"lost_reply: self-deadlock",
			// An Unlock with a canceled context sends nothing.
			"cancelled_context: orphaned",
			// The only server loses its data.
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
		))
}
