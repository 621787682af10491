// Package ladder is the syllabus: the rungs in the order in which they are
// taught, what each changes, and which scenarios are known to break it.
package ladder

import (
	"fmt"
	"strings"

	"github.com/lockladder/lockladder/bronze"
	"github.com/lockladder/lockladder/diamond"
	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/gold"
	"github.com/lockladder/lockladder/gold/script"
	"github.com/lockladder/lockladder/internal/flaws"
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

	// Nodes is how many independent servers it is shown with; the list leaves one out.
	Nodes int

	// Build makes one owner.
	Build lock.Build

	// Renews says that the lease is renewed while the lock is held.
	Renews bool

	// Changes are the declarations of lock.go that differ from the parent's.
	Changes []string

	// Flaws are its exhibits, from package flaws: the tests fail when one stops
	// breaking.
	Flaws []lock.Flaw
}

// Rungs are all rungs in the order of the syllabus.
var Rungs = complete([]Rung{
	{
		Name:  "bronze",
		Idea:  "SETNX takes the lock, DEL frees it",
		Build: lock.On(bronze.New),
	},
	{
		Name:    "silver",
		Parent:  "bronze",
		Idea:    "PEXPIRE after SETNX: a lease, one command too late",
		Build:   lock.On(silver.New),
		Changes: []string{"Lock.TryLock"},
	},
	{
		Name:    "silver/timestamp",
		Parent:  "silver",
		Idea:    "the deadline is the value, GETSET takes over",
		Build:   lock.On(timestamp.New),
		Changes: []string{"Lock.TryLock"},
	},
	{
		Name:    "gold",
		Parent:  "silver",
		Idea:    "SET NX PX: the lock and its lease in one command",
		Build:   lock.On(gold.New),
		Changes: []string{"Lock.TryLock"},
	},
	{
		Name:    "gold/script",
		Parent:  "gold",
		Idea:    "the same atomic step as a Lua script",
		Build:   lock.On(script.New),
		Changes: []string{"acquireSource", "acquire", "Lock.TryLock"},
	},
	{
		Name:    "platinum",
		Parent:  "gold",
		Idea:    "each grant has its own token: GET, compare, DEL",
		Build:   lock.On(platinum.New),
		Changes: []string{"Lock", "Lock.TryLock", "Lock.Unlock"},
	},
	{
		Name:    "diamond",
		Parent:  "platinum",
		Idea:    "compare and delete in one Lua script",
		Build:   lock.On(diamond.New),
		Changes: []string{"releaseSource", "release", "Lock.Unlock"},
	},
	{
		Name:   "diamond/watchdog",
		Parent: "diamond",
		Idea:   "a goroutine renews the lease and reports its loss",
		Build:  lock.On(watchdog.New),
		Renews: true,
		Changes: []string{"renewSource", "renew", "Lock", "_",
			"Lock.TryLock", "Lock.Unlock", "Lock.Lost", "Lock.release",
			"Lock.watch"},
	},
	{
		Name:   "reentrant",
		Parent: "diamond/watchdog",
		Idea:   "the server knows the owner, so asking again changes nothing",
		Build:  lock.On(reentrant.New),
		Renews: true,
		Changes: []string{"acquireSource", "acquire", "Lock", "Lock.TryLock",
			"Lock.tryLock", "Lock.reenter", "Lock.Lock", "Lock.Unlock",
			"Lock.release", "Lock.watch"},
	},
	{
		Name:   "reentrant/notify",
		Parent: "reentrant",
		Idea:   "a release publishes a message that wakes a waiter",
		Build:  lock.On(notify.New),
		Renews: true,
		Changes: []string{"Lock", "New", "Lock.tryLock", "Lock.Lock",
			"Lock.release"},
	},
	{
		Name:    "reentrant/fenced",
		Parent:  "reentrant",
		Idea:    "every grant has a fencing token, higher than the last",
		Build:   lock.On(fenced.New),
		Renews:  true,
		Changes: []string{"Lock", "_", "Lock.tryLock", "Lock.Token"},
	},
	{
		Name:   "reentrant/fair",
		Parent: "reentrant/notify",
		Idea:   "waiters are served in the order of their arrival",
		Build:  lock.On(fair.New),
		Renews: true,
		Changes: []string{"Lock", "Lock.TryLock", "Lock.tryLock", "Lock.Lock",
			"Lock.release", "Lock.giveUp", "Lock.keys"},
	},
	{
		Name:   "reentrant/cohort",
		Parent: "reentrant/fair",
		Idea:   "a lock passed on inside a process, without the server",
		Build:  lock.On(cohort.New),
		Renews: true,
		Changes: []string{"Lock", "Lock.TryLock", "Lock.tryLock",
			"Lock.Lock", "Lock.Unlock", "Lock.Lost",
			"Lock.release", "Lock.watch", "Lock.giveUp", "Lock.keys"},
	},
	{
		Name:   "redlock",
		Parent: "diamond",
		Idea:   "a majority of independent nodes",
		Nodes:  5,
		Build:  lock.OnAll(redlock.New),
		Changes: []string{"Lock", "node", "New", "Lock.TryLock", "Lock.Lock",
			"Lock.Unlock", "Lock.release", "Lock.quorum", "Lock.drift",
			"Lock.ask", "answer", "Lock.askNode"},
	},
	{
		Name:   "reentrant/readwrite",
		Parent: "reentrant/notify",
		Idea:   "many readers, each with a lease of its own, or one writer",
		Build:  lock.On(readwrite.New),
		Renews: true,
		Changes: []string{"Lock", "Lock.TryLock", "Lock.tryLock", "Lock.reenter",
			"Lock.Lock", "Lock.Unlock", "Lock.release", "Lock.watch"},
	},
})

// complete gives each rung its flaws.
func complete(rungs []Rung) []Rung {
	for i := range rungs {
		rungs[i].Nodes = max(rungs[i].Nodes, 1)
		rungs[i].Flaws = flaws.Of(rungs[i].Name)
	}
	return rungs
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
