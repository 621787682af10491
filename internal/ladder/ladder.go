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
	"github.com/lockladder/lockladder/diamond/fenced"
	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/gold"
	"github.com/lockladder/lockladder/gold/script"
	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/platinum"
	"github.com/lockladder/lockladder/redlock"
	"github.com/lockladder/lockladder/reentrant"
	"github.com/lockladder/lockladder/reentrant/cohort"
	"github.com/lockladder/lockladder/reentrant/fair"
	reentrantfenced "github.com/lockladder/lockladder/reentrant/fenced"
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

// Arcs are in the order in which they are climbed.
var Arcs = []Arc{Safety, Waiting, Shapes, History}

// Asks is the question that the arc's rungs answer, one after the other.
func (a Arc) Asks() string {
	return map[Arc]string{
		Safety:  "what if the holder crashes, is slow or comes late?",
		Waiting: "who gets the lock next, and how does it learn of that?",
		Shapes:  "what if an owner asks twice, or wants only to read?",
		History: "how did people do it before?",
	}[a]
}

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

	// Flaws are its exhibits, from package flaws: the tests fail when one stops
	// breaking.
	Flaws []lock.Flaw
}

// Rungs are all rungs, arc by arc, in the order in which each is climbed.
var Rungs = complete([]Rung{
	{
		Name:  "bronze",
		Arc:   Safety,
		Idea:  "SET NX takes the lock, DEL frees it",
		Build: lock.On(bronze.New),
	},
	{
		Name:    "silver",
		Arc:     Safety,
		Parent:  "bronze",
		Idea:    "PEXPIRE after SET NX: the lock has a lease",
		Build:   lock.On(silver.New),
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
		Name:    "platinum",
		Arc:     Safety,
		Parent:  "gold",
		Idea:    "each acquisition has its own token: GET, compare, DEL",
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
		Name:   "diamond/fenced",
		Parent: "diamond/watchdog",
		Arc:    Safety,
		Idea:   "every acquisition has a fencing token, higher than the last",
		Build:  lock.On(fenced.New),
		Renews: true,
		Changes: []string{"acquireSource", "acquire", "Lock", "_", "Lock.TryLock",
			"Lock.watch", "Lock.Token"},
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
		Name:   "reentrant",
		Arc:    Shapes,
		Parent: "diamond/watchdog",
		Idea:   "the server knows the owner, which may lock again",
		Build:  lock.On(reentrant.New),
		Renews: true,
		Changes: []string{"acquireSource", "acquire", "Lock", "Lock.TryLock",
			"Lock.tryLock", "Lock.reenter", "Lock.Lock", "Lock.Unlock",
			"Lock.release", "Lock.watch"},
	},
	{
		Name:   "reentrant/readwrite",
		Arc:    Shapes,
		Parent: "reentrant/notify",
		Idea:   "many readers, or one writer with a fencing token",
		Build:  lock.On(readwrite.New),
		Renews: true,
		Changes: []string{"Lock", "Lock.TryLock", "Lock.tryLock", "Lock.reenter",
			"Lock.Lock", "Lock.Unlock", "Lock.release", "Lock.watch"},
	},
	{
		Name:    "reentrant/fenced",
		Arc:     Shapes,
		Parent:  "reentrant",
		Idea:    "re-entry and fencing tokens in one lock, to import",
		Build:   lock.On(reentrantfenced.New),
		Renews:  true,
		Changes: []string{"Lock", "_", "Lock.tryLock", "Lock.Token"},
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
		Name:    "gold/script",
		Arc:     History,
		Parent:  "gold",
		Idea:    "the same atomic step as a Lua script",
		Build:   lock.On(script.New),
		Changes: []string{"acquireSource", "acquire", "Lock.TryLock"},
	},
})

// complete gives each rung its step and its flaws.
func complete(rungs []Rung) []Rung {
	steps := 0
	for i := range rungs {
		rung := &rungs[i]
		rung.Nodes = max(rung.Nodes, 1)
		rung.Flaws = flaws.Of(rung.Name)
		if rung.Arc == Safety {
			steps++
			rung.Step = steps
		}
	}
	return rungs
}

// Rungs are those of the arc.
func (a Arc) Rungs() []Rung {
	return slices.DeleteFunc(slices.Clone(Rungs), func(r Rung) bool { return r.Arc != a })
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

// Find returns the rung of that name. Its error says which names are near, or lists all.
func Find(name string) (Rung, error) {
	var names []string
	for _, rung := range Rungs {
		if rung.Name == name {
			return rung, nil
		}
		names = append(names, rung.Name)
	}
	return Rung{}, terminal.Unknown("rung", name, names)
}
