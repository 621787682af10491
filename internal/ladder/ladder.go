// Package ladder is the syllabus: the rungs in the order in which they are
// taught, what each changes, and which scenarios are known to break it.
package ladder

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/bronze"
	"github.com/lockladder/lockladder/diamond"
	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/gold"
	"github.com/lockladder/lockladder/gold/script"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/platinum"
	"github.com/lockladder/lockladder/redlock"
	"github.com/lockladder/lockladder/reentrant"
	"github.com/lockladder/lockladder/reentrant/cohort"
	"github.com/lockladder/lockladder/reentrant/fair"
	"github.com/lockladder/lockladder/reentrant/fenced"
	"github.com/lockladder/lockladder/reentrant/notify"
	"github.com/lockladder/lockladder/reentrant/readwrite"
	"github.com/lockladder/lockladder/silver"
	"github.com/lockladder/lockladder/silver/timestamp"
)

// Rung is one stage of the ladder.
type Rung struct {
	Name   string // also its directory
	Parent string // the rung that its code is read beside; "" for the first
	Idea   string // one line: what it does

	// Nodes is how many independent servers it is shown with.
	Nodes int

	// Build makes one owner.
	Build lock.Build

	// Renews says that the lease is renewed while the lock is held.
	Renews bool

	// Changes are the declarations of lock.go that differ from the parent's.
	Changes []string

	// Flaws are its exhibits: the tests fail when one stops breaking.
	Flaws []lock.Flaw
}

// Rungs are all rungs in the order of the syllabus.
var Rungs = []Rung{
	{
		Name:  "bronze",
		Idea:  "SETNX takes the lock, DEL frees it",
		Nodes: 1,
		Build: one(bronze.New),
		Flaws: lock.Flaws(
			"crash_holding: orphaned",
			"crash_after_first_command: orphaned",
			"nested: self-deadlock",
			"failover: two holders",
			"node_restart: two holders",
			"lost_reply: self-deadlock",
			"lost_release_reply: foreign release",
			"unlock_not_held: foreign release, false success",
			"cancelled_context: orphaned",
			"hung_worker: orphaned",
			"lost_lease_told: not told",
			"abandoned_acquire: orphaned",
			"nothing_left: left behind",
			"failed_unlock: orphaned",
			"two_owners_one_process: two holders, foreign release",
			"refused_by_itself: self-deadlock",
		),
	},
	{
		Name:    "silver",
		Parent:  "bronze",
		Idea:    "PEXPIRE after SETNX: a lease, one command too late",
		Nodes:   1,
		Build:   one(silver.New),
		Changes: []string{"Lock.TryLock"},
		Flaws: lock.Flaws(
			"crash_after_first_command: orphaned",
			"overrun_release: foreign release, two holders",
			"slow_release: foreign release",
			"overrun_overlap: two holders",
			"nested: self-deadlock",
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"lost_reply: self-deadlock",
			"lost_release_reply: foreign release",
			"unlock_not_held: foreign release, false success",
			"late_grant: two holders",
			"cancelled_context: orphaned",
			"lost_lease_told: not told",
			"oversell: lost update",
			"abandoned_acquire: orphaned",
			"partitioned_holder: not told",
			"late_own_release: foreign release",
			"nothing_left: left behind",
			"compare_twice: foreign release",
			"two_owners_one_process: two holders, foreign release",
			"refused_by_itself: self-deadlock",
		),
	},
	{
		Name:    "silver/timestamp",
		Parent:  "silver",
		Idea:    "the deadline is the value, GETSET takes over",
		Nodes:   1,
		Build:   one(timestamp.New),
		Changes: []string{"Lock.TryLock"},
		Flaws: lock.Flaws(
			"overrun_release: foreign release, two holders",
			"slow_release: foreign release",
			"overrun_overlap: two holders",
			"nested: self-deadlock",
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"client_clock_skew: two holders",
			"lost_reply: self-deadlock",
			"lost_release_reply: foreign release",
			"unlock_not_held: foreign release, false success",
			"late_grant: two holders",
			"cancelled_context: orphaned",
			"lost_lease_told: not told",
			"oversell: lost update",
			"partitioned_holder: not told",
			"unlock_expired: false success",
			"late_own_release: foreign release",
			"nothing_left: left behind",
			"compare_twice: foreign release",
			"two_owners_one_process: two holders, foreign release",
		),
	},
	{
		Name:    "gold",
		Parent:  "silver",
		Idea:    "SET NX PX: the lock and its lease in one command",
		Nodes:   1,
		Build:   one(gold.New),
		Changes: []string{"Lock.TryLock"},
		Flaws: lock.Flaws(
			"overrun_release: foreign release, two holders",
			"slow_release: foreign release",
			"overrun_overlap: two holders",
			"nested: self-deadlock",
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"lost_reply: self-deadlock",
			"lost_release_reply: foreign release",
			"unlock_not_held: foreign release, false success",
			"late_grant: two holders",
			"cancelled_context: orphaned",
			"lost_lease_told: not told",
			"oversell: lost update",
			"partitioned_holder: not told",
			"late_own_release: foreign release",
			"compare_twice: foreign release",
			"two_owners_one_process: two holders, foreign release",
		),
	},
	{
		Name:    "gold/script",
		Parent:  "gold",
		Idea:    "the same atomic step as a Lua script",
		Nodes:   1,
		Build:   one(script.New),
		Changes: []string{"acquireSource", "acquire", "Lock.TryLock"},
		Flaws: lock.Flaws(
			"overrun_release: foreign release, two holders",
			"slow_release: foreign release",
			"overrun_overlap: two holders",
			"nested: self-deadlock",
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"lost_reply: self-deadlock",
			"lost_release_reply: foreign release",
			"unlock_not_held: foreign release, false success",
			"late_grant: two holders",
			"cancelled_context: orphaned",
			"lost_lease_told: not told",
			"oversell: lost update",
			"partitioned_holder: not told",
			"late_own_release: foreign release",
			"compare_twice: foreign release",
			"two_owners_one_process: two holders, foreign release",
		),
	},
	{
		Name:    "platinum",
		Parent:  "gold",
		Idea:    "each grant has its own token: GET, compare, DEL",
		Nodes:   1,
		Build:   one(platinum.New),
		Changes: []string{"Lock", "Lock.TryLock", "Lock.Unlock"},
		Flaws: lock.Flaws(
			"slow_get: foreign release",
			"overrun_overlap: two holders",
			"nested: self-deadlock",
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"lost_reply: self-deadlock",
			"late_grant: two holders",
			"cancelled_context: orphaned",
			"lost_lease_told: not told",
			"oversell: lost update",
			"partitioned_holder: not told",
			"late_own_release: foreign release",
			"compare_twice: foreign release",
		),
	},
	{
		Name:    "diamond",
		Parent:  "platinum",
		Idea:    "compare and delete in one Lua script",
		Nodes:   1,
		Build:   one(diamond.New),
		Changes: []string{"releaseSource", "release", "Lock.Unlock"},
		Flaws: lock.Flaws(
			"overrun_overlap: two holders",
			"nested: self-deadlock",
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"lost_reply: self-deadlock",
			"late_grant: two holders",
			"cancelled_context: orphaned",
			"lost_lease_told: not told",
			"oversell: lost update",
			"partitioned_holder: not told",
		),
	},
	{
		Name:   "diamond/watchdog",
		Parent: "diamond",
		Idea:   "a goroutine renews the lease and reports its loss",
		Nodes:  1,
		Build:  one(watchdog.New),
		Renews: true,
		Changes: []string{"renewSource", "renew", "Lock", "_", "New",
			"Lock.TryLock", "Lock.Unlock", "Lock.Lost", "Lock.release",
			"Lock.watch"},
		Flaws: lock.Flaws(
			"nested: self-deadlock",
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"lost_reply: self-deadlock",
			"hung_worker: orphaned",
		),
	},
	{
		Name:   "reentrant",
		Parent: "diamond/watchdog",
		Idea:   "the server knows the owner, so asking again changes nothing",
		Nodes:  1,
		Build:  one(reentrant.New),
		Renews: true,
		Changes: []string{"acquireSource", "acquire", "Lock", "Lock.TryLock",
			"Lock.tryLock", "Lock.enter", "Lock.Lock", "Lock.Unlock",
			"Lock.release"},
		Flaws: lock.Flaws(
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"hung_worker: orphaned",
		),
	},
	{
		Name:   "reentrant/notify",
		Parent: "reentrant",
		Idea:   "a release publishes a message that wakes a waiter",
		Nodes:  1,
		Build:  one(notify.New),
		Renews: true,
		Changes: []string{"Lock", "New", "Lock.tryLock", "Lock.Lock",
			"Lock.release"},
		Flaws: lock.Flaws(
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"hung_worker: orphaned",
		),
	},
	{
		Name:    "reentrant/fenced",
		Parent:  "reentrant",
		Idea:    "every grant has a fencing token, higher than the last",
		Nodes:   1,
		Build:   one(fenced.New),
		Renews:  true,
		Changes: []string{"Lock", "_", "Lock.tryLock", "Lock.Token"},
		Flaws: lock.Flaws(
			"failover: two holders, stale write",
			"node_restart: two holders",
			"clock_jump: two holders",
			"hung_worker: orphaned",
			"tokens_rise: unavailable",
		),
	},
	{
		Name:   "reentrant/fair",
		Parent: "reentrant/notify",
		Idea:   "waiters are served in the order of their arrival",
		Nodes:  1,
		Build:  one(fair.New),
		Renews: true,
		Changes: []string{"Lock", "Lock.TryLock", "Lock.tryLock", "Lock.Lock",
			"Lock.Unlock", "Lock.release"},
		Flaws: lock.Flaws(
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"hung_worker: orphaned",
		),
	},
	{
		Name:   "reentrant/cohort",
		Parent: "reentrant/fair",
		Idea:   "a lock passed on inside a process, without the server",
		Nodes:  1,
		Build:  one(cohort.New),
		Renews: true,
		Changes: []string{"Lock", "New", "Lock.TryLock", "Lock.tryLock",
			"Lock.Lock", "Lock.Unlock", "Lock.Lost",
			"Lock.release", "Lock.watch"},
		Flaws: lock.Flaws(
			"paused_holder: stale write",
			"failover: two holders",
			"node_restart: two holders",
			"clock_jump: two holders",
			"hung_worker: orphaned",
		),
	},
	{
		Name:   "redlock",
		Parent: "diamond",
		Idea:   "a majority of independent nodes",
		Nodes:  5,
		Build:  redlockBuild,
		Changes: []string{"Lock", "node", "New", "Lock.TryLock", "Lock.Lock",
			"Lock.Unlock", "Lock.release", "Lock.quorum", "Lock.drift",
			"Lock.ask", "answer", "Lock.askNode"},
		Flaws: lock.Flaws(
			"overrun_overlap: two holders",
			"nested: self-deadlock",
			"paused_holder: stale write",
			"node_restart: two holders",
			"clock_jump: two holders",
			"cancelled_context: orphaned",
			"lost_lease_told: not told",
			"oversell: lost update",
			"partitioned_holder: not told",
		),
	},
	{
		Name:   "reentrant/readwrite",
		Parent: "reentrant/notify",
		Idea:   "many readers, each with a lease of its own, or one writer",
		Nodes:  1,
		Build:  one(readwrite.New),
		Renews: true,
		Changes: []string{"Lock", "Lock.TryLock", "Lock.tryLock", "Lock.enter",
			"Lock.Lock", "Lock.Unlock", "Lock.release", "Lock.watch"},
		Flaws: lock.Flaws(
			"failover: two holders, stale write",
			"node_restart: two holders",
			"clock_jump: two holders",
			"hung_worker: orphaned",
			"tokens_rise: unavailable",
			"reader_failover: two holders",
		),
	},
}

// Find returns the rung of that name. Its error lists the valid names.
func Find(name string) (Rung, error) {
	var names []string
	for _, rung := range Rungs {
		if rung.Name == name {
			return rung, nil
		}
		names = append(names, rung.Name)
	}
	return Rung{}, fmt.Errorf("there is no rung %q, the rungs are %s",
		name, strings.Join(names, ", "))
}

// one builds a rung that locks on a single node.
func one[L lock.Lock](construct func(redis.UniversalClient, string,
	time.Duration, ...lock.Option) (L, error)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		if len(env.Nodes) == 0 {
			return nil, fmt.Errorf("%w: there are no nodes", lock.ErrInvalid)
		}
		l, err := construct(env.Nodes[0], env.Key, env.TTL, options(env)...)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// redlockBuild builds the rung that locks on all nodes.
func redlockBuild(env lock.Env) (lock.Lock, error) {
	l, err := redlock.New(env.Nodes, env.Key, env.TTL, options(env)...)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func options(env lock.Env) []lock.Option {
	if env.Now == nil {
		return env.Options
	}
	return append([]lock.Option{lock.Clock(env.Now)}, env.Options...)
}
