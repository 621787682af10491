package site

import (
	"fmt"
	"path"
	"strings"

	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// LevelDir is where the site has the levels' state graphs, below the module.
const LevelDir = "docs/levels"

// LevelFile is the file of a lock's graph, below the module.
func LevelFile(lock string) string { return path.Join(LevelDir, lock+".json") }

// Level asks the reader to break an invariant of a lock, or to claim that no schedule
// does.
type Level struct {
	Lock      string            `json:"lock"`
	Invariant explore.Invariant `json:"invariant"`
	Title     string            `json:"title"`
	Ask       string            `json:"ask"`
}

// Levels are in the order of the workshop: from bronze's orphan to fenced's proof.
var Levels = []Level{
	{"bronze", explore.Orphaned, "The holder crashes",
		"Can a client leave the key behind so that nobody ever gets the lock again?"},
	{"silver", explore.Orphaned, "Between two commands",
		"A second command gives the key a lease. Can the lock still be orphaned?"},
	{"silver", explore.TwoHolders, "Two inside",
		"Can both clients believe that they hold the lock?"},
	{"gold", explore.TwoHolders, "The lease ends first",
		"One command takes the lock and sets its lease. Can both believe that they" +
			" hold it?"},
	{"gold", explore.ForeignRelease, "Another client's key",
		"Can a client delete the other one's lock?"},
	{"gold", explore.LostUpdate, "What it costs",
		"Can one client's write to the storage disappear?"},
	{"platinum", explore.Orphaned, "A crash, again",
		"New here: the holder deletes the key only if its own token is in it. Can a" +
			" crash block the lock forever?"},
	{"platinum", explore.ForeignRelease, "First look, then delete",
		"The holder reads the token before it deletes the key. Can it delete the" +
			" other one's lock?"},
	{"diamond", explore.ForeignRelease, "One script",
		"One script compares the token and deletes the key. Can a client delete the" +
			" other one's lock?"},
	{"diamond", explore.LostUpdate, "The work outlives the lease",
		"Can one client's write to the storage disappear?"},
	{"diamond/watchdog", explore.TwoHolders, "The process stops",
		"A watchdog renews the lease and reports its loss. Can both believe that" +
			" they hold the lock?"},
	{"reentrant", explore.ForeignRelease, "Levels are counted",
		"The key is a hash with a count. Can a client free the other one's lock?"},
	{"reentrant", explore.StaleWrite, "A write that comes late",
		"Can a client write after the next holder has used the storage?"},
	{"reentrant/fenced", explore.TwoHolders, "A fence is not a lock",
		"Each grant has a number now. Can both believe that they hold the lock?"},
	{"reentrant/fenced", explore.StaleWrite, "The storage says no",
		"The storage refuses a number that is older than one it has seen. Can a" +
			" late write be accepted?"},
}

// String is the level as a list has it.
func (l Level) String() string {
	return fmt.Sprintf("%s: %s of %s", l.Title, l.Invariant, l.Lock)
}

// levelsOf are the levels of a reader's own graph: one for each invariant that was judged.
func levelsOf(g *recording.Graph) []Level {
	var all []Level
	for _, goal := range g.Goals {
		all = append(all, Level{Lock: g.Lock, Invariant: explore.Invariant(goal.Invariant),
			Title: strings.ToUpper(goal.Invariant[:1]) + goal.Invariant[1:],
			Ask:   "Does any schedule break this invariant?"})
	}
	return all
}
