package parts

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/play"
	"github.com/lockladder/lockladder/internal/site/results"
	"github.com/lockladder/lockladder/scenarios"
)

// folded is the matrix with a column for each failure family: in how many of its
// scenarios a rung breaks.
func (g *Generator) folded() string {
	all := []string{"*scenarios*"}
	for _, family := range scenarios.Families {
		all = append(all, fmt.Sprintf("*%d*", count(family,
			func(scenarios.Scenario) bool { return true })))
	}
	rows := [][]string{all}
	for i, rung := range ladder.Rungs {
		row := []string{rung.Name}
		for _, family := range scenarios.Families {
			cell := "–"
			if broken := count(family, func(s scenarios.Scenario) bool {
				return slices.ContainsFunc(s.Judged(), func(invariant string) bool {
					return g.reports[i].Verdict(s.Name, invariant) == scenarios.Breaks
				})
			}); broken > 0 {
				cell = fmt.Sprint(broken)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return generated.Table(1, append([]string{"rung"}, scenarios.Families...), rows)
}

func count(family string, counts func(scenarios.Scenario) bool) int {
	n := 0
	for _, s := range scenarios.Catalogue {
		if s.Family == family && counts(s) {
			n++
		}
	}
	return n
}

// matrix has a line for each invariant, and a column for each rung.
func (g *Generator) matrix() string {
	return results.Table(2, g.columns(all))
}

// workshop is the matrix of the workshop's 90 minutes: its scenarios, in its order, and
// its rungs.
func (g *Generator) workshop() string {
	var shown []scenarios.Scenario
	for _, name := range []string{"mutual_exclusion", "oversell", "crash_holding",
		"crash_after_first_command", "overrun_release", "unlock_not_held", "slow_get",
		"overrun_overlap", "lost_lease_told", "hung_worker", "paused_holder", "failover"} {
		shown = append(shown, scenarios.Catalogue[slices.IndexFunc(scenarios.Catalogue,
			func(s scenarios.Scenario) bool { return s.Name == name })])
	}
	rungs := []string{"bronze", "silver", "gold", "platinum", "diamond",
		"diamond/watchdog", "reentrant", "reentrant/fenced"}
	return results.Worst(shown, g.columns(func(rung string) bool {
		return slices.Contains(rungs, rung)
	}))
}

// libraries shows Go's libraries beside these rungs.
func (g *Generator) libraries(string) (string, error) {
	return g.beside("libraries", all, "diamond/watchdog", "reentrant", "reentrant/fenced")
}

// programs shows the locks of other languages beside the rungs that they are like.
func (g *Generator) programs(string) (string, error) {
	return g.beside("programs", all, "diamond", "diamond/watchdog", "redlock")
}

// redisson shows Redisson's locks beside the rungs whose ideas are Redisson's as well.
func (g *Generator) redisson(string) (string, error) {
	return g.beside("programs", func(lock string) bool {
		return strings.HasPrefix(lock, "redisson")
	}, "reentrant", "reentrant/notify", "reentrant/fair", "reentrant/readwrite", "redlock")
}

func all(string) bool { return true }

// beside is a matrix of the given rungs, followed by those locks in a file of results
// that shown accepts.
func (g *Generator) beside(name string, shown func(lock string) bool, rungs ...string) (
	string, error) {
	locks, err := results.Read(g.root, name)
	locks = slices.DeleteFunc(locks, func(lock results.Lock) bool {
		return !shown(lock.Name)
	})
	return results.Table(2, append(g.columns(func(rung string) bool {
		return slices.Contains(rungs, rung)
	}), locks...)), err
}

// columns are the shown rungs, with names that fit above a column.
func (g *Generator) columns(shown func(rung string) bool) []results.Lock {
	var all []results.Lock
	for _, lock := range g.Rungs {
		if shown(lock.Name) {
			rung := lock.Name
			lock.Run = func(scenario, invariant string) string {
				return strings.TrimPrefix(play.RunFile(rung, scenario, invariant),
					"docs/")
			}
			lock.Name = path.Base(rung)
			all = append(all, lock)
		}
	}
	return all
}

// catalogue lists the scenarios by family.
func catalogue(*Generator) string {
	var b strings.Builder
	for _, family := range scenarios.Families {
		fmt.Fprintf(&b, "\n### %s\n\n", family)
		for _, s := range scenarios.Catalogue {
			if s.Family == family {
				fmt.Fprintf(&b, "- **%s** (%s). %s\n", s.Name,
					strings.Join(s.Invariants, ", "), s.Summary)
			}
		}
	}
	fmt.Fprintln(&b)
	return b.String()
}
