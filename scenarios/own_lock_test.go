package scenarios_test

// How to run the scenarios against a lock of your own.
//
//  1. Your lock needs three methods: TryLock, Lock and Unlock, as scenarios.Lock
//     describes them. A small adapter will do when yours are named differently.
//  2. Write a function that builds one owner of the lock from a scenarios.Env. It
//     gets one client for each Redis node, the lock's name and the lease. Use
//     these clients: they are connected to the laboratory. Use package time as
//     you always do: its clock is virtual here, and ten seconds cost nothing.
//  3. Say what your lock does not claim to do, with scenarios.WithoutFeatures.
//     Such scenarios are not held against it.
//  4. Run the test. Every scenario that breaks your lock fails, and prints who did
//     what and when, up to the line where it went wrong.
//  5. To see such a run step by step, beside your code, add the option
//     scenarios.Record("runs"). Then go run ./docs -open FILE, in a checkout of this
//     module, plays one of the files.
//  6. Fix what you can. Declare what you have to live with, with
//     scenarios.Flaws: the test passes again, and it fails when a declared
//     flaw no longer breaks, or a new one appears.
//
// The lock below is the one that most articles end with: SET NX PX with a random
// value, and a script that compares before it deletes.

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// myLock is somebody's own lock. It knows nothing of the scenarios.
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
		return lock.ErrNotHeld // the one error that the scenarios must know
	}
	return err
}

func buildMyLock(env scenarios.Env) (scenarios.Lock, error) {
	return &myLock{rdb: env.Nodes[0], name: env.Key, lease: env.TTL}, nil
}

func TestMyOwnLock(t *testing.T) {
	flaw := func(scenario, invariant string) scenarios.Flaw {
		return scenarios.Flaw{Scenario: scenario, Invariant: invariant}
	}
	scenarios.Run(t, buildMyLock,
		scenarios.WithoutFeatures(
			scenarios.Reentry, scenarios.Renewal, scenarios.LossNotices),
		scenarios.Flaws(
			// Work that outlives the lease: nobody tells the holder.
			flaw("overrun_overlap", scenarios.TwoHolders),
			flaw("paused_holder", scenarios.StaleWrite),
			flaw("oversell", scenarios.LostUpdate),
			// A grant whose reply comes too late is believed, and one whose
			// reply is lost is found by nobody.
			flaw("late_grant", scenarios.TwoHolders),
			flaw("lost_reply", scenarios.SelfDeadlock),
			// An Unlock with a canceled context sends nothing.
			flaw("cancelled_context", scenarios.Orphaned),
			// A single server that forgets.
			flaw("failover", scenarios.TwoHolders),
			flaw("node_restart", scenarios.TwoHolders),
			flaw("clock_jump", scenarios.TwoHolders),
		))
}
