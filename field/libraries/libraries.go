// Package libraries makes the locks of popular Go libraries look like a rung of
// the ladder, so that they run through the same scenarios and the same
// benchmark. The libraries are used as their documentation says and are not
// changed; an adapter only translates calls and errors.
//
// docs/libraries.md has what they hold and what they break.
package libraries

import (
	"fmt"

	"github.com/redis/rueidis/rueidislock"

	"github.com/lockladder/lockladder/lock"
)

// Library is a library's lock in one configuration.
type Library struct {
	Name  string // as the tables name it
	Path  string // the package that users import
	Idea  string // one line: what it does
	Nodes int    // how many independent servers it is shown with

	// Build makes one owner of the lock, with all that a process has of the
	// library. Share makes a process: its owners have that in common, as the
	// library's documentation wants it, until end; nil where it costs nothing.
	Build lock.Build
	Share func() (build lock.Build, end func())

	Renews bool // the lease is renewed while the lock is held
	Tells  bool // the holder is told when the lease is gone

	// Keys are the Redis keys that stand for the lock; nil: the key itself.
	Keys func(key string) []string

	// OnlyReal says why it can't run on the lab's servers; "" when it can.
	OnlyReal string

	// Flaws are what it is known to break: the tests fail when one stops
	// breaking, as for a rung. With OnlyReal they are what is expected.
	Flaws []lock.Flaw
	// Sometimes is what it breaks in random worlds only; its page explains that.
	Sometimes []lock.Flaw
}

// rueidislockFlaws are the same for every majority: all keys are on one node.
var rueidislockFlaws = lock.Flaws(
	"paused_holder: stale write",
	"lost_reply: self-deadlock, false success",
	"lost_wakeup: orphaned",
	"hung_worker: orphaned",
	"partitioned_holder: not told",
	"prompt_answers: hangs",
	"renewal_hangs: two holders",
	"prompt_wake: late wake-up, thundering herd",
	"far_process: starvation",
	"error_replies: false success, false loss",
)

// singleLeaseFlaws are those of all libraries that neither renew a lease nor number it.
var singleLeaseFlaws = lock.Flaws(
	"overrun_overlap: two holders",
	"paused_holder: stale write",
	"node_restart: two holders",
	"clock_jump: two holders",
	"cancelled_context: orphaned",
	"oversell: lost update",
)

// Libraries are all libraries in the order in which they are shown.
var Libraries = []Library{
	{
		Name:  "redsync",
		Path:  "github.com/go-redsync/redsync/v4",
		Idea:  "Redlock's way on one node",
		Nodes: 1,
		Build: newRedsync,
		Flaws: append(lock.Flaws(
			"failover: two holders",
			"late_grant: orphaned",
			"far_process: starvation",
		), singleLeaseFlaws...),
		// A try's late release removes what a later try of the call got.
		Sometimes: lock.Flaws("late_own_release: foreign release"),
	},
	{
		Name:      "redsync-5",
		Path:      "github.com/go-redsync/redsync/v4",
		Idea:      "Redlock on five nodes, asked at once",
		Nodes:     5,
		Build:     newRedsync,
		Flaws:     append(lock.Flaws("nodes_down: hangs"), singleLeaseFlaws...),
		Sometimes: lock.Flaws("late_own_release: foreign release"),
	},
	{
		Name:  "redislock",
		Path:  "github.com/bsm/redislock",
		Idea:  "a token, and scripts that compare it",
		Nodes: 1,
		Build: newRedislock,
		Flaws: append(lock.Flaws(
			"failover: two holders",
			"lost_reply: self-deadlock",
			"late_grant: orphaned",
		), singleLeaseFlaws...),
		// Callers have deadlines beyond the lease there, and then it believes a late grant.
		Sometimes: lock.Flaws("late_grant: two holders"),
	},
	rueidislockOf(Library{
		Name:  "rueidislock",
		Idea:  "a majority of three keys, renewed; Redis tells of changes",
		Flaws: rueidislockFlaws,
		OnlyReal: "it feeds on its own notifications: after its first renewal" +
			" it renews again at every notification of its own renewal, and in" +
			" a time in which commands take none that moment never ends",
	}, rueidislock.LockerOption{}),
	rueidislockOf(Library{
		Name:  "rueidislock-3",
		Idea:  "the same with NoLoopTracking",
		Flaws: rueidislockFlaws,
	}, rueidislock.LockerOption{NoLoopTracking: true}),
	rueidislockOf(Library{
		Name:      "rueidislock-1",
		Idea:      "the README's example: one key, with NoLoopTracking",
		Flaws:     append(lock.Flaws("renewal_hangs: false success"), rueidislockFlaws...),
		Sometimes: lock.Flaws("late_grant: orphaned", "lease_length: wrong lease", "nodes_down: two holders"),
	}, rueidislock.LockerOption{KeyMajority: 1, NoLoopTracking: true}),
}

// rueidislockOf fills in what all configurations of rueidislock have in common.
func rueidislockOf(l Library, option rueidislock.LockerOption) Library {
	l.Path = "github.com/redis/rueidis/rueidislock"
	l.Nodes = 1
	l.Renews, l.Tells = true, true
	l.Build = func(env lock.Env) (lock.Lock, error) {
		return (&process{option: option}).build(env)
	}
	l.Share = func() (lock.Build, func()) {
		p := &process{option: option}
		return p.build, p.end
	}
	keys := 2*max(option.KeyMajority, 1) - 1
	if option.KeyMajority == 0 {
		keys = 3 // the default majority is two
	}
	l.Keys = func(key string) []string {
		var names []string
		for i := range keys {
			names = append(names, fmt.Sprintf("rueidislock:%d:%s", i, key))
		}
		return names
	}
	return l
}
