package scenarios

import (
	"slices"

	"github.com/lockladder/lockladder/internal/flaws"
)

// Challenge is a step of the arc of safety as a task, see docs/challenges.md: write a lock
// that holds what the rung holds.
type Challenge struct {
	Rung      string
	Scenarios []string // to run, in the order of the catalogue
	New       []string // those of them that the step below doesn't have

	step int
}

// Challenges are the tasks in their order.
func Challenges() (all []Challenge) {
	for step, s := range flaws.Safety {
		c := Challenge{Rung: s.Rung, step: step}
		var below []string
		if s.Above >= 0 {
			below = all[s.Above].Scenarios
		}
		for _, one := range Catalogue {
			if slices.Contains(below, one.Name) || one.begins() == step || one.asked(step) {
				c.Scenarios = append(c.Scenarios, one.Name)
			}
		}
		c.New = slices.DeleteFunc(slices.Clone(c.Scenarios), func(name string) bool {
			return slices.Contains(below, name)
		})
		all = append(all, c)
	}
	return all
}

// begins is the step from which on a scenario is run for its family's sake, or -1.
func (s Scenario) begins() int {
	switch s.Family {
	case Exclusion:
		return 0
	case Loss:
		return stepOf(renews)
	case Fencing:
		return stepOf(hasTokens)
	}
	return -1
}

// asked says whether a step has fixed something in a scenario, or shows it there.
func (s Scenario) asked(step int) bool {
	return slices.ContainsFunc(s.Invariants, func(invariant string) bool {
		return slices.Contains(needed(step, nil), s.Name+": "+invariant)
	})
}

// Open is the number, from 1, of the first challenge on the way to c, c included, that a
// lock doesn't pass by a report on c's scenarios. It is 0 if the lock passes c.
func (c Challenge) Open(r Report) (number int) {
	missing := missingOf(r.verdicts())
	for step := c.step; step >= 0; step = flaws.Safety[step].Above {
		if len(missing[step]) > 0 {
			number = step + 1
		}
	}
	return number
}

// Missing is what a lock must hold yet, "scenario: invariant", by a report on the
// challenge's scenarios: nothing if it passes.
func (c Challenge) Missing(r Report) []string { return missingOf(r.verdicts())[c.step] }
