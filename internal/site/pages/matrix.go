package pages

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/recording"
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
	return verdicts(2, g.columns(all))
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
	columns := g.columns(func(rung string) bool { return slices.Contains(rungs, rung) })
	head := []string{"scenario"}
	for _, c := range columns {
		head = append(head, c.Name)
	}
	var rows [][]string
	for _, s := range shown {
		row := []string{fmt.Sprintf("**%s**. %s", s.Name, s.Summary)}
		for _, c := range columns {
			row = append(row, c.worst(s))
		}
		rows = append(rows, row)
	}
	return generated.Table(1, head, rows)
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
	locks, err := g.kept(name, shown)
	return verdicts(2, append(g.columns(func(rung string) bool {
		return slices.Contains(rungs, rung)
	}), locks...)), err
}

// columns are the shown rungs, with names that fit above a column.
func (g *Generator) columns(shown func(rung string) bool) []column {
	var all []column
	for _, lock := range g.Rungs {
		if shown(lock.Name) {
			c := column{lock, lock.Name}
			c.Name = path.Base(lock.Name)
			all = append(all, c)
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

// column is a lock in a matrix.
type column struct {
	generated.Lock
	rung string // whose runs the site plays; "": nothing is recorded
}

// signs are the verdicts in the tables.
var signs = map[scenarios.Verdict]string{
	scenarios.Breaks:       "**✗**",
	scenarios.Holds:        "✓",
	scenarios.DoesNotArise: "·",
	scenarios.NotOffered:   "–",
	scenarios.CannotRun:    "?",
}

// verdicts has a column for each lock and a line for each invariant that a scenario lists
// or a lock breaks there. So many of its first columns are left-aligned.
func verdicts(left int, columns []column) string {
	head := []string{"scenario", "invariant"}
	for _, c := range columns {
		head = append(head, c.Name)
	}
	var rows [][]string
	for _, s := range scenarios.Catalogue {
		for i, invariant := range s.Judged() {
			row := []string{s.Name, invariant}
			if i >= len(s.Invariants) && !slices.ContainsFunc(columns, func(c column) bool {
				return c.Verdicts[s.Name+": "+invariant] == scenarios.Breaks
			}) {
				continue
			}
			for _, c := range columns {
				row = append(row, c.sign(s, invariant))
			}
			rows = append(rows, row)
		}
	}
	return generated.Table(left, head, rows)
}

// worst is the sign of an invariant that breaks, or else of one that holds.
func (c column) worst(s scenarios.Scenario) string {
	for _, verdict := range []scenarios.Verdict{scenarios.Breaks, scenarios.Holds} {
		for _, invariant := range s.Invariants {
			if c.Verdicts[s.Name+": "+invariant] == verdict {
				return c.sign(s, invariant)
			}
		}
	}
	return c.sign(s, s.Invariants[0])
}

// sign is a verdict in a table. It leads to the run that breaks, where one is recorded.
func (c column) sign(s scenarios.Scenario, invariant string) string {
	verdict := cmp.Or(c.Verdicts[s.Name+": "+invariant], c.best(s))
	if c.rung != "" && verdict == scenarios.Breaks {
		return generated.Played(signs[verdict], strings.TrimPrefix(
			recording.RunFile(c.rung, s.Name, invariant), "docs/"))
	}
	return signs[verdict]
}

// best is the verdict on an invariant that a scenario doesn't list, of a lock that has
// not broken it there: it holds if any that is listed could be judged.
func (c column) best(s scenarios.Scenario) (best scenarios.Verdict) {
	for _, invariant := range s.Invariants {
		best = c.Verdicts[s.Name+": "+invariant]
		if best == scenarios.Breaks || best == scenarios.Holds {
			return scenarios.Holds
		}
	}
	return best
}

// kept shows the locks of docs/results/NAME.json.
func kept(name string) func(*Generator, string) (string, error) {
	return func(g *Generator, _ string) (string, error) {
		locks, err := g.kept(name, all)
		return verdicts(1, locks), err
	}
}

// notRun is a line for each scenario that some of these locks' servers can't take part
// in.
func notRun(name string) func(*Generator, string) (string, error) {
	return func(g *Generator, _ string) (string, error) {
		locks, err := g.kept(name, all)
		var b strings.Builder
		for _, s := range scenarios.Catalogue {
			last := ""
			for _, lock := range locks {
				why, notRun := lock.NotRun[s.Name]
				line := fmt.Sprintf("- `%s`: %s.\n", s.Name, why)
				if notRun && line != last {
					b.WriteString(line)
					last = line
				}
			}
		}
		return b.String(), err
	}
}

// kept are those locks of docs/results/NAME.json that shown accepts.
func (g *Generator) kept(name string, shown func(lock string) bool) (all []column, err error) {
	locks, err := generated.Kept(g.root, name)
	for _, lock := range locks {
		if shown(lock.Name) {
			all = append(all, column{Lock: lock})
		}
	}
	return all, err
}
