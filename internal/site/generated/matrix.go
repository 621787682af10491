package generated

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/scenarios"
)

// matrix has a line for each invariant, and a column for each rung.
func (g *Generator) matrix() string { return verdicts(g.Rungs) }

// workshop is the matrix of the workshop's 90 minutes: its scenarios and its rungs. Those
// that the worksheet's questions name come first.
func (g *Generator) workshop(string) (string, error) {
	worksheet, err := g.source("docs/worksheet.md")
	var names []string
	asks := map[string]string{}
	for _, row := range questions.FindAllStringSubmatch(worksheet, -1) {
		for _, name := range strings.Split(strings.ReplaceAll(row[2], "`", ""), ", ") {
			names, asks[name] = append(names, name), " (question "+row[1]+")"
		}
	}
	columns := []column[scenarios.Scenario]{{"scenario", func(s scenarios.Scenario) string {
		summary, _, _ := strings.Cut(s.Summary, " Also: ") // all must fit a sheet
		summary, _, _ = strings.Cut(summary, " (")
		return fmt.Sprintf("**%s**%s. %s", s.Name, asks[s.Name], summary)
	}}}
	for _, lock := range g.named("bronze", "silver", "gold", "platinum", "diamond",
		"diamond/watchdog", "diamond/fenced") {
		columns = append(columns, column[scenarios.Scenario]{linked(lock.Name),
			func(s scenarios.Scenario) string { return worst(lock, s) }})
	}
	var shown []scenarios.Scenario
	for _, name := range append(names, "oversell", "crash_after_first_command",
		"unlock_not_held", "hung_worker", "failover") {
		s, failed := scenarios.Find(name)
		shown, err = append(shown, s), cmp.Or(err, failed)
	}
	if err != nil {
		return "", err
	}
	return tableOf(1, columns, shown), nil
}

// questions are the rows of the worksheet that name scenarios.
var questions = regexp.MustCompile("(?m)^\\| (\\d)\\..*\\| (`.*`) \\|$")

// named are the rungs of these names, in the order of the ladder.
func (g *Generator) named(names ...string) (some []Lock) {
	for _, lock := range g.Rungs {
		if slices.Contains(names, lock.Name) {
			some = append(some, lock)
		}
	}
	return some
}

// beside is a matrix of the given rungs, followed by those locks of docs/results/NAME.json
// whose names begin like that.
func beside(name, begins string, rungs ...string) func(*Generator, string) (string, error) {
	return func(g *Generator, _ string) (string, error) {
		locks, err := Kept(g.root, name)
		locks = slices.DeleteFunc(locks, func(l Lock) bool { return !strings.HasPrefix(l.Name, begins) })
		return verdicts(append(g.named(rungs...), locks...)), err
	}
}

// linked is a lock's name at the head of a column. A rung's leads to its page.
func linked(lock string) string {
	if rung, err := ladder.Find(lock); err == nil {
		return fmt.Sprintf("[%s](%s %q)", rung.Short(), pageOf(lock), rung.Idea)
	}
	return path.Base(lock)
}

// catalogue lists the scenarios by family.
func catalogue(*Generator) string {
	var b strings.Builder
	for _, family := range scenarios.Families {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", family, scenarios.InShort(family))
		for _, s := range scenarios.Catalogue {
			if s.Family == family {
				fmt.Fprintf(&b, "- **%s**, *%s* (%s). %s%s\n", s.Name, scenarios.InShort(s.Name),
					strings.Join(s.Invariants, ", "), s.Summary, asking(s.Name))
			}
		}
	}
	fmt.Fprintln(&b)
	return b.String()
}

// asking links the exercises that ask for a scenario.
func asking(scenario string) string {
	var links []string
	for _, e := range exercise.All {
		if slices.Contains(e.Scenarios, scenario) {
			links = append(links, fmt.Sprintf("[%s](exercises/%[1]s/README.md)", e.Name()))
		}
	}
	if links == nil {
		return ""
	}
	return " *Exercises:* " + strings.Join(links, ", ") + "."
}

// signs are the verdicts in the tables.
var signs = map[scenarios.Verdict]string{
	scenarios.Breaks:       "**✗**",
	scenarios.Holds:        "✓",
	scenarios.DoesNotArise: "·",
	scenarios.NotOffered:   "–",
	scenarios.CannotRun:    "?",
}

// verdicts has a column for each lock and a line for each invariant that a scenario lists or
// a lock breaks there, by family. Those that none of the locks breaks are folded.
func verdicts(locks []Lock) string {
	type row struct {
		scenarios.Scenario
		invariant string
	}
	var broken, others []row
	for _, family := range scenarios.Families {
		for _, s := range scenarios.Catalogue {
			for i, invariant := range s.Judged() {
				breaks := slices.ContainsFunc(locks, func(l Lock) bool {
					return l.Verdicts[s.Name+": "+invariant] == scenarios.Breaks
				})
				switch {
				case s.Family != family:
				case breaks:
					broken = append(broken, row{s, invariant})
				case i < len(s.Invariants):
					others = append(others, row{s, invariant})
				}
			}
		}
	}
	columns := []column[row]{{"scenario", func(r row) string { return r.Name }},
		{"invariant", func(r row) string { return r.invariant }}}
	for _, lock := range locks {
		columns = append(columns, column[row]{linked(lock.Name),
			func(r row) string { return sign(lock, r.Scenario, r.invariant) }})
	}
	return tableOf(2, columns, broken) + fmt.Sprintf("\n<details>\n<summary>%d rows that none of"+
		" these locks breaks</summary>\n\n%s\n</details>\n", len(others), tableOf(2, columns, others))
}

// worst is the sign of an invariant that breaks, or else of one that holds.
func worst(lock Lock, s scenarios.Scenario) string {
	for _, verdict := range []scenarios.Verdict{scenarios.Breaks, scenarios.Holds} {
		for _, invariant := range s.Invariants {
			if lock.Verdicts[s.Name+": "+invariant] == verdict {
				return sign(lock, s, invariant)
			}
		}
	}
	return sign(lock, s, s.Invariants[0])
}

// sign is a verdict in a table. A rung's leads to the run that breaks.
func sign(lock Lock, s scenarios.Scenario, invariant string) string {
	verdict := cmp.Or(lock.Verdicts[s.Name+": "+invariant], best(lock, s))
	if pageOf(lock.Name) != "" && verdict == scenarios.Breaks {
		return Played(signs[verdict], strings.TrimPrefix(
			recording.RunFile(lock.Name, s.Name, invariant), "docs/"))
	}
	return signs[verdict]
}

// best is the verdict on an invariant that a scenario doesn't list, of a lock that has
// not broken it there: it holds if any that is listed could be judged.
func best(lock Lock, s scenarios.Scenario) (best scenarios.Verdict) {
	for _, invariant := range s.Invariants {
		best = lock.Verdicts[s.Name+": "+invariant]
		if best == scenarios.Breaks || best == scenarios.Holds {
			return scenarios.Holds
		}
	}
	return best
}

// notRun is a line for each scenario that some of these locks' servers can't take part in.
func notRun(names ...string) func(*Generator, string) (string, error) {
	return func(g *Generator, _ string) (string, error) {
		var locks []Lock
		for _, name := range names {
			kept, err := Kept(g.root, name)
			if err != nil {
				return "", err
			}
			locks = append(locks, kept...)
		}
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
		return b.String(), nil
	}
}
