// Package exercise holds the workshop's exercises together: which scenarios each
// of them is about, and what its start breaks.
package exercise

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Exercise is one step of the ladder, climbed by the learner.
type Exercise struct {
	Rung string // solves it
	Flaw string // the name of what is wrong with the start
	Task string // one line

	// Files are those of the start that the solution has in another way, or
	// not at all.
	Files []string

	// Adds are files that the solution has besides.
	Adds []string

	// Scenarios are those that the solution must hold.
	Scenarios []string

	// Check asks for more than the scenarios can: nil when there is no more. It
	// gets the scenarios' report. Asks says in one line what it asks for.
	Asks  string
	Check func(t *testing.T, build lock.Build, report scenarios.Report) error

	// Start is what the lock to begin with breaks of the scenarios.
	Start []lock.Flaw

	// Previous is what the rung before it in its arc breaks of them, and the parent of the
	// solution's rung, where the ladder doesn't say it: there is no rung before the
	// first, and on several nodes a rung breaks other things. Both may also fail at
	// Check.
	Previous []lock.Flaw
}

// Name is the exercise's, and its directory's below docs/exercises.
func (e Exercise) Name() string { return path.Base(e.Rung) }

// Walk is how the explorer goes through the exercise's lock.
func (e Exercise) Walk() Walk { return walks[e.Name()] }

// All are the exercises, in the order of the ladder. Each rung has one, but for the one
// that puts two others together.
var All = []Exercise{
	{
		Rung:      "bronze",
		Flaw:      "the last writer wins",
		Task:      "let one client in, and only one",
		Files:     []string{"lock.go"},
		Scenarios: []string{"mutual_exclusion"},
		Start:     lock.Flaws("mutual_exclusion: two holders, foreign release"),
		Previous:  lock.Flaws("mutual_exclusion: two holders"),
	},
	{
		Rung:      "silver",
		Flaw:      "the lease lives in the client",
		Task:      "let the lock end when its holder has crashed",
		Files:     []string{"lock.go"},
		Scenarios: []string{"mutual_exclusion", "crash_holding"},
		Start:     lock.Flaws("crash_holding: orphaned"),
	},
	{
		Rung:  "gold",
		Flaw:  "every attempt extends the lease",
		Task:  "take the lock and its lease in one command, by the server's clock",
		Files: []string{"lock.go"},
		Scenarios: []string{"mutual_exclusion", "crash_holding",
			"crash_after_first_command", "client_clock_skew"},
		Asks:  "an attempt sends one command",
		Check: inOneCommand,
		Start: lock.Flaws("mutual_exclusion: foreign renewal",
			"crash_holding: orphaned, foreign renewal",
			"crash_after_first_command: orphaned, foreign release, foreign renewal",
			"client_clock_skew: foreign renewal"),
	},
	{
		Rung:  "platinum",
		Flaw:  "it checks that there is a lock, not whose it is",
		Task:  "never delete a lock that is not your own",
		Files: []string{"lock.go"},
		Scenarios: []string{"mutual_exclusion", "overrun_release", "slow_release",
			"unlock_not_held"},
		Start: lock.Flaws("overrun_release: foreign release, two holders",
			"slow_release: foreign release",
			"unlock_not_held: foreign release, false success"),
	},
	{
		Rung:  "diamond",
		Flaw:  "the script only compares",
		Task:  "leave no time between the comparison and the deletion",
		Files: []string{"lock.go", "mine.lua"},
		Scenarios: []string{"mutual_exclusion", "overrun_release", "slow_get",
			"slow_release", "compare_twice"},
		Start: lock.Flaws("slow_get: foreign release",
			"compare_twice: foreign release"),
	},
	{
		Rung: "diamond/watchdog",
		Flaw: "the watchdog renews once, and keeps quiet",
		Task: "write the watchdog: keep the lease while the holder works, and report" +
			" its loss",
		Files: []string{"watch.go"},
		Scenarios: []string{"mutual_exclusion", "overrun_overlap",
			"lost_lease_told", "renewal_after_unlock", "renewal_reacquires",
			"lease_length", "partitioned_holder"},
		Start: lock.Flaws("overrun_overlap: two holders",
			"lost_lease_told: not told",
			"renewal_after_unlock: renewal after unlock",
			"partitioned_holder: not told"),
	},
	{
		Rung:      "diamond/fenced",
		Flaw:      "the counter ends with the lease",
		Task:      "number the acquisitions so that a late write can be refused",
		Files:     []string{"acquire.lua"},
		Scenarios: []string{"mutual_exclusion", "crash_holding", "paused_holder"},
		Asks:      "the token has risen when the lock is taken again after an hour",
		Check:     risesForever,
		Start:     lock.Flaws("paused_holder: stale write"),
	},
	{
		Rung:  "redlock",
		Flaw:  "it ignores the clock",
		Task:  "hold the lock on a majority of nodes, for as long as it is valid",
		Files: []string{"lock.go"},
		Scenarios: []string{"mutual_exclusion", "late_grant",
			"nodes_down"},
		Start: lock.Flaws("late_grant: two holders"),
		Previous: lock.Flaws("mutual_exclusion: false success",
			"late_grant: false success", "nodes_down: unavailable, hangs, false success"),
	},
	{
		Rung:      "reentrant/notify",
		Flaw:      "it relies on the message",
		Task:      "let waiters sleep, and let none oversleep",
		Files:     []string{"lock.go", "release.lua"},
		Scenarios: []string{"mutual_exclusion", "lost_wakeup"},
		Asks:      "B sends at most 12 commands while it waits",
		Check:     quietWaiters,
		Start:     lock.Flaws("lost_wakeup: orphaned"),
	},
	{
		Rung:      "reentrant/fair",
		Flaw:      "the queue waits for the dead",
		Task:      "serve waiters in the order of arrival, and skip the dead ones",
		Files:     []string{"acquire.lua", "lock.go", "release.lua"},
		Scenarios: []string{"mutual_exclusion", "crash_holding", "dead_waiter"},
		Asks: "twelve waiters of two processes are served in the order in which they" +
			" came, and each dead one before a waiter costs it a twentieth of the lease",
		Check: inOrder,
		Start: lock.Flaws("dead_waiter: orphaned"),
	},
	{
		Rung: "reentrant/cohort",
		Flaw: "the lock never leaves the process",
		Task: "hand the lock over inside a process, and let the others have" +
			" their turn",
		Files:     []string{"lock.go", "release.lua"},
		Scenarios: []string{"mutual_exclusion"},
		Asks: "the owners of a process don't all ask the server, and another process" +
			" gets its turn",
		Check: handedOver,
	},
	{
		Rung:  "reentrant",
		Flaw:  "only the handle knows the owner",
		Task:  "let the owner in again, even after a lost reply",
		Files: []string{"lock.go", "release.lua", "renew.lua"},
		Adds:  []string{"acquire.lua"},
		Scenarios: []string{"mutual_exclusion", "crash_holding", "nested", "lost_reply",
			"late_own_release"},
		Asks: "after a lost reply, the next attempt finds its own lock, at once, even" +
			" if no command got through meanwhile",
		Check: findsItsGrant,
		Start: lock.Flaws("lost_reply: self-deadlock"),
	},
	{
		Rung:  "reentrant/readwrite",
		Flaw:  "one lease for all readers",
		Task:  "give each reader a lease of its own, by the server's clock",
		Files: []string{"acquire.lua", "read.lua", "release.lua", "renew.lua"},
		Scenarios: []string{"mutual_exclusion", "crash_holding", "readers_together",
			"writer_excludes", "reader_crash", "reader_renewal_isolated",
			"downgrade"},
		Asks: "the lock has RLock, TryRLock and RUnlock, and a reader's lease is exact," +
			" also after a renewal",
		Check: eachReader,
		Start: lock.Flaws("reader_renewal_isolated: orphaned"),
	},
	{
		Rung:  "silver/timestamp",
		Flaw:  "everybody takes over",
		Task:  "write lock and lease in one SETNX, and let one waiter take over",
		Files: []string{"lock.go"},
		Scenarios: []string{"mutual_exclusion", "crash_holding",
			"crash_after_first_command", "simultaneous_takeover"},
		Start: lock.Flaws("simultaneous_takeover: two holders"),
	},
	{
		Rung:  "gold/script",
		Flaw:  "the script returns nothing",
		Task:  "take the lock and its lease in one step on a server whose SET has no options",
		Files: []string{"acquire.lua", "lock.go"},
		Scenarios: []string{"mutual_exclusion", "crash_holding",
			"crash_after_first_command"},
		Asks:  "an attempt sends one command, on a server whose SET has no options",
		Check: onAnOldServer,
	},
}

// OnlyScripts says whether the solution changes nothing but Lua scripts.
func (e Exercise) OnlyScripts() bool {
	return !slices.ContainsFunc(e.Files, func(file string) bool {
		return path.Ext(file) != ".lua"
	})
}

// Find returns the exercise of that name. Its error lists the names.
func Find(name string) (Exercise, error) {
	var names []string
	for _, e := range All {
		if e.Name() == name {
			return e, nil
		}
		names = append(names, e.Name())
	}
	return Exercise{}, fmt.Errorf("there is no exercise %q, there are %s",
		name, strings.Join(names, ", "))
}

// Run runs the scenarios of an exercise, and then its check and the explorer,
// each as a subtest. It lets every failed assertion through.
func Run(t *testing.T, name string, build lock.Build) {
	e, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	if RunChecked(t, e, build); t.Failed() {
		return
	}
	t.Run("explorer", func(t *testing.T) {
		if testing.Short() {
			t.Skip("the explorer takes seconds: run it without -short")
		}
		if e.Walk().Stays {
			t.Skip("the explorer can't run a lock that stays in its process from" +
				" one run to the next")
		}
		if does, err := e.transacts(t, build); err != nil {
			t.Fatal(err)
		} else if does {
			t.Skip("the explorer can't follow WATCH and MULTI, whose effect depends on" +
				" what happened before on the same connection: the scenarios and the" +
				" checks have passed, and the exercise " + name + " is solved")
		}
		explored(t, name, build)
	})
}

// RunChecked runs the scenarios of an exercise, then again with another name and lease,
// and then its check.
func RunChecked(t *testing.T, e Exercise, build lock.Build) {
	t.Helper()
	var report scenarios.Report
	check := func(t *testing.T) {
		if err := e.Check(t, build, report); err != nil {
			t.Error(err)
		}
	}
	checkFirst := e.Name() == "script" // its scenarios need a lock that says yes
	if checkFirst && !t.Run("check", check) {
		return
	}
	if report = RunScenarios(t, e, build, scenarios.Red(true)); t.Failed() {
		return
	}
	t.Run("another name and lease", func(t *testing.T) {
		if err := e.Anywhere(t, build); err != nil {
			t.Fatal(err)
		}
		RunScenarios(t, e, build, append(Another, scenarios.Red(true))...)
	})
	if e.Check != nil && !checkFirst && !t.Failed() {
		t.Run("check", check)
	}
}

// Another is a name and a lease that the scenarios don't have.
var Another = []scenarios.Option{scenarios.Key("another stock"), scenarios.Lease(leases[1])}

// RunScenarios runs the scenarios of an exercise with further options.
func RunScenarios(t *testing.T, e Exercise, build lock.Build,
	options ...scenarios.Option) scenarios.Report {
	t.Helper()
	rung := locktest.Find(t, e.Rung)
	rung.Flaws = nil // the exercise's lock has its own, or none
	options = append(options, scenarios.Only(e.Scenarios...))
	return scenarios.Run(t, build, append(options,
		locktest.Options(rung)...)...)
}

// On is lock.On, so that an exercise needs this package only.
func On[L lock.Lock](construct func(redis.UniversalClient, string,
	time.Duration, ...lock.Option) (L, error)) lock.Build {
	return lock.On(construct)
}
