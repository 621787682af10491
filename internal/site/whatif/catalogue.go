package whatif

import (
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/scenarios"
)

// Catalogue is what can be asked for.
type Catalogue struct {
	Rungs     []Rung     `json:"rungs"`
	Scenarios []Scenario `json:"scenarios"`
	Exercises []Exercise `json:"exercises"`
}

// Rung is one of the ladder.
type Rung struct {
	Name   string   `json:"name"`
	Arc    string   `json:"arc"`
	Idea   string   `json:"idea"`
	Breaks []string `json:"breaks"` // scenarios
}

// Scenario is one of the catalogue of package scenarios.
type Scenario struct {
	Name       string   `json:"name"`
	Family     string   `json:"family"`
	Short      string   `json:"short"`
	Summary    string   `json:"summary"`
	Invariants []string `json:"invariants"`
}

// Exercise is one whose solution changes nothing but scripts: its Go code is that of
// its rung.
type Exercise struct {
	Name      string   `json:"name"`
	Rung      string   `json:"rung"`
	Task      string   `json:"task"`
	Scenarios []string `json:"scenarios"`
}

func catalogue() *Catalogue {
	c := &Catalogue{}
	for _, rung := range ladder.Rungs {
		r := Rung{Name: rung.Name, Arc: string(rung.Arc), Idea: rung.Idea}
		for _, f := range rung.Flaws {
			if !slices.Contains(r.Breaks, f.Scenario) {
				r.Breaks = append(r.Breaks, f.Scenario)
			}
		}
		c.Rungs = append(c.Rungs, r)
	}
	for _, s := range scenarios.Catalogue {
		c.Scenarios = append(c.Scenarios, Scenario{s.Name, s.Family, scenarios.InShort(s.Name),
			strings.Join(strings.Fields(s.Summary), " "), s.Invariants})
	}
	for _, e := range exercise.All {
		if e.OnlyScripts() {
			c.Exercises = append(c.Exercises, Exercise{e.Name(), e.Rung, e.Task, e.Scenarios})
		}
	}
	return c
}
