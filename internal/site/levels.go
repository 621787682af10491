package site

import (
	_ "embed"
	"encoding/json"
	"path"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
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
	Hint      string            `json:"hint,omitempty"` // what to think of
	Story     string            `json:"story,omitempty"`
	Idea      string            `json:"idea,omitempty"` // of the rung
	Adds      string            `json:"adds,omitempty"` // the rung's new line, in its first level
	// Lines are offered as the reason why no schedule breaks it. The first is, and Why says how.
	Lines []string `json:"lines,omitempty"`
	Why   string   `json:"why,omitempty"`
}

//go:embed levels.json
var levelsText []byte

// Levels are in the order of the workshop: from bronze's orphan to fenced's proof, and one on re-entry.
var Levels = func() (all []Level) {
	if err := json.Unmarshal(levelsText, &all); err != nil {
		panic("levels.json: " + err.Error())
	}
	for i, l := range all {
		rung, err := ladder.Find(l.Lock)
		if err != nil {
			panic("levels.json: " + err.Error())
		}
		all[i].Idea = rung.Idea
	}
	return all
}()

// levelsOf are the levels of a reader's own graph: one for each invariant that was judged.
func levelsOf(g *recording.Graph) (all []Level) {
	for _, goal := range g.Goals {
		all = append(all, Level{Lock: g.Lock, Invariant: explore.Invariant(goal.Invariant),
			Title: strings.ToUpper(goal.Invariant[:1]) + goal.Invariant[1:],
			Ask:   "Does any schedule break this invariant?"})
	}
	return all
}
