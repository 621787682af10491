// Package ladder is the syllabus: the rungs in the order in which they are
// taught, what each changes, and which scenarios are known to break it.
package ladder

import (
	"fmt"
	"path"
	"slices"
	"strings"

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

// Arc is a part of the ladder whose rungs answer one question.
type Arc string

// The arcs. History has the rungs that nobody builds on anymore.
const (
	Safety  Arc = "Safety"
	Waiting Arc = "Waiting"
	Shapes  Arc = "Shapes"
	History Arc = "History"
)

// Rung is one stage of the ladder.
type Rung struct {
	Name   string // also its directory
	Parent string // the rung that its code is read beside; "" for the first
	Arc    Arc
	Step   int    // in the arc of safety, from 1; 0 in the others
	Idea   string // one line: what it does

	// Nodes is how many independent servers it is shown with; the list leaves one out.
	Nodes int

	// Build makes one owner.
	Build lock.Build

	// Renews says that the lease is renewed while the lock is held.
	Renews bool

	// Changes are the declarations of lock.go that differ from the parent's.
	Changes []string

	// Flaws are its exhibits, from the table below: the tests fail when one stops
	// breaking.
	Flaws []lock.Flaw
}

// Rungs are all rungs in the order of the syllabus.
var Rungs = complete([]Rung{
	{
		Name:  "bronze",
		Arc:   Safety,
		Idea:  "SETNX takes the lock, DEL frees it",
		Build: lock.On(bronze.New),
	},
	{
		Name:    "silver",
		Arc:     Safety,
		Parent:  "bronze",
		Idea:    "PEXPIRE after SETNX: a lease, one command too late",
		Build:   lock.On(silver.New),
		Changes: []string{"Lock.TryLock"},
	},
	{
		Name:    "silver/timestamp",
		Arc:     History,
		Parent:  "silver",
		Idea:    "the deadline is the value, GETSET takes over",
		Build:   lock.On(timestamp.New),
		Changes: []string{"Lock.TryLock"},
	},
	{
		Name:    "gold",
		Arc:     Safety,
		Parent:  "silver",
		Idea:    "SET NX PX: the lock and its lease in one command",
		Build:   lock.On(gold.New),
		Changes: []string{"Lock.TryLock"},
	},
	{
		Name:    "gold/script",
		Arc:     History,
		Parent:  "gold",
		Idea:    "the same atomic step as a Lua script",
		Build:   lock.On(script.New),
		Changes: []string{"acquireSource", "acquire", "Lock.TryLock"},
	},
	{
		Name:    "platinum",
		Arc:     Safety,
		Parent:  "gold",
		Idea:    "each grant has its own token: GET, compare, DEL",
		Build:   lock.On(platinum.New),
		Changes: []string{"Lock", "Lock.TryLock", "Lock.Unlock"},
	},
	{
		Name:    "diamond",
		Arc:     Safety,
		Parent:  "platinum",
		Idea:    "compare and delete in one Lua script",
		Build:   lock.On(diamond.New),
		Changes: []string{"releaseSource", "release", "Lock.Unlock"},
	},
	{
		Name:   "diamond/watchdog",
		Arc:    Safety,
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
		Arc:    Shapes,
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
		Arc:    Waiting,
		Parent: "reentrant",
		Idea:   "a release publishes a message that wakes a waiter",
		Build:  lock.On(notify.New),
		Renews: true,
		Changes: []string{"Lock", "New", "Lock.tryLock", "Lock.Lock",
			"Lock.release"},
	},
	{
		Name:    "reentrant/fenced",
		Arc:     Safety,
		Parent:  "reentrant",
		Idea:    "every grant has a fencing token, higher than the last",
		Build:   lock.On(fenced.New),
		Renews:  true,
		Changes: []string{"Lock", "_", "Lock.tryLock", "Lock.Token"},
	},
	{
		Name:   "reentrant/fair",
		Arc:    Waiting,
		Parent: "reentrant/notify",
		Idea:   "waiters are served in the order of their arrival",
		Build:  lock.On(fair.New),
		Renews: true,
		Changes: []string{"Lock", "Lock.TryLock", "Lock.tryLock", "Lock.Lock",
			"Lock.release", "Lock.giveUp", "Lock.keys"},
	},
	{
		Name:   "reentrant/cohort",
		Arc:    Waiting,
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
		Arc:    Safety,
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
		Arc:    Shapes,
		Parent: "reentrant/notify",
		Idea:   "many readers, each with a lease of its own, or one writer",
		Build:  lock.On(readwrite.New),
		Renews: true,
		Changes: []string{"Lock", "Lock.TryLock", "Lock.tryLock", "Lock.reenter",
			"Lock.Lock", "Lock.Unlock", "Lock.release", "Lock.watch"},
	},
})

// flaws are what is broken, in the order of the scenarios' catalogue, and by which
// rungs, in that of the syllabus.
var flaws = []struct{ flaw, rungs string }{
	{"crash_holding: orphaned", "bronze"},
	{"crash_after_first_command: orphaned", "bronze silver"},
	{"overrun_release: foreign release, two holders",
		"silver silver/timestamp gold gold/script"},
	{"slow_get: foreign release", "platinum"},
	{"slow_release: foreign release", "silver silver/timestamp gold gold/script"},
	{"overrun_overlap: two holders",
		"silver silver/timestamp gold gold/script platinum diamond redlock"},
	{"nested: self-deadlock",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog redlock"},
	{"paused_holder: stale write",
		"silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog reentrant reentrant/notify reentrant/fair " +
			"reentrant/cohort redlock"},
	{"failover: two holders",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog reentrant reentrant/notify reentrant/fenced " +
			"reentrant/fair reentrant/cohort reentrant/readwrite"},
	{"failover: stale write", "reentrant/fenced reentrant/readwrite"},
	{"node_restart: two holders",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog reentrant reentrant/notify reentrant/fenced " +
			"reentrant/fair reentrant/cohort redlock reentrant/readwrite"},
	{"clock_jump: two holders",
		"silver gold gold/script platinum diamond diamond/watchdog reentrant " +
			"reentrant/notify reentrant/fenced reentrant/fair reentrant/cohort " +
			"redlock reentrant/readwrite"},
	{"client_clock_skew: two holders, foreign release", "silver/timestamp"},
	{"lost_reply: self-deadlock",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"diamond/watchdog"},
	{"lost_release_reply: foreign release",
		"bronze silver silver/timestamp gold gold/script"},
	{"unlock_not_held: foreign release, false success",
		"bronze silver silver/timestamp gold gold/script"},
	{"late_grant: two holders",
		"silver silver/timestamp gold gold/script platinum diamond"},
	{"cancelled_context: orphaned",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"redlock"},
	{"hung_worker: orphaned",
		"bronze diamond/watchdog reentrant reentrant/notify reentrant/fenced " +
			"reentrant/fair reentrant/cohort reentrant/readwrite"},
	{"lost_lease_told: not told",
		"bronze silver silver/timestamp gold gold/script platinum diamond " +
			"redlock"},
	{"oversell: lost update",
		"silver silver/timestamp gold gold/script platinum diamond redlock"},
	{"abandoned_acquire: orphaned", "bronze silver"},
	{"partitioned_holder: not told",
		"silver silver/timestamp gold gold/script platinum diamond redlock"},
	{"unlock_expired: false success", "silver/timestamp"},
	{"late_own_release: foreign release",
		"silver silver/timestamp gold gold/script platinum"},
	{"nothing_left: left behind", "bronze silver silver/timestamp"},
	{"failed_unlock: orphaned", "bronze"},
	{"compare_twice: foreign release",
		"silver silver/timestamp gold gold/script platinum"},
	{"tokens_rise: unavailable", "reentrant/fenced reentrant/readwrite"},
	{"two_owners_one_process: two holders, foreign release",
		"bronze silver silver/timestamp gold gold/script"},
	{"refused_by_itself: self-deadlock", "bronze silver"},
	{"reader_failover: two holders", "reentrant/readwrite"},
}

// complete gives each rung its step and its flaws.
func complete(rungs []Rung) []Rung {
	steps := 0
	for i := range rungs {
		rung := &rungs[i]
		rung.Nodes = max(rung.Nodes, 1)
		if rung.Arc == Safety {
			steps++
			rung.Step = steps
		}
		for _, f := range flaws {
			if slices.Contains(strings.Fields(f.rungs), rung.Name) {
				rung.Flaws = append(rung.Flaws, lock.Flaws(f.flaw)...)
			}
		}
	}
	return rungs
}

// Short is the rung's name where directories are left out, such as watchdog. Of two rungs
// with the same, only the first has it.
func (r Rung) Short() string {
	short := path.Base(r.Name)
	first := slices.IndexFunc(Rungs, func(other Rung) bool {
		return path.Base(other.Name) == short
	})
	if Rungs[first].Name != r.Name {
		return strings.ReplaceAll(r.Name, "/", "-")
	}
	return short
}

// Page is the rung's page.
func (r Rung) Page() string {
	if r.Step > 0 {
		return fmt.Sprintf("docs/%d-%s.md", r.Step, r.Short())
	}
	return "docs/" + r.Short() + ".md"
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
