// Package verdicts shows what the stories say of locks that live in other stores.
package verdicts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/pages/generated"
	"github.com/lockladder/lockladder/scenarios"
)

// Page is the document, seen from a package of the module.
var Page = filepath.Join("..", "..", "docs", "alternatives.md")

// Symbols are the verdicts' signs in the tables.
var Symbols = map[scenarios.Verdict]string{
	scenarios.Breaks:       "**✗**",
	scenarios.Holds:        "✓",
	scenarios.DoesNotArise: "·",
	scenarios.NotOffered:   "–",
	scenarios.CannotTell:   "?",
}

// Fresh holds two parts of the document against the reports of locks: a table with
// a column for each lock and a row for each invariant, and, named "part, untold",
// the stories that could not be told, with the reason. In real time it may depend on
// the machine whether a story arises: a lock that holds where the page says that
// nothing arose, or the other way round, does not make the page stale. When -run
// names a few scenarios, only these are compared.
func Fresh(t *testing.T, update bool, part string, names []string,
	reports map[string]scenarios.Report) {
	t.Helper()
	if update && !whole(reports) {
		t.Fatal("-update writes what every scenario says: run it without -run")
	}
	want := table(names, reports)
	if !update {
		content, err := os.ReadFile(Page)
		if err != nil {
			t.Fatal(err)
		}
		want = settled(want, string(content), part)
	}
	generated.Fresh(t, update, Page, part, want)
	if !update && !whole(reports) {
		return
	}
	generated.Fresh(t, update, Page, part+", untold", untold(names, reports))
}

// whole says whether every scenario was run against every lock.
func whole(reports map[string]scenarios.Report) bool {
	for _, report := range reports {
		for _, scenario := range scenarios.Catalogue {
			for _, invariant := range scenario.Invariants {
				if report.Verdict(scenario.Name, invariant) == "" {
					return false
				}
			}
		}
	}
	return true
}

// table has every invariant of the catalogue.
func table(names []string, reports map[string]scenarios.Report) string {
	var rows [][]string
	for _, scenario := range scenarios.Catalogue {
		for _, invariant := range scenario.Invariants {
			row := []string{scenario.Name, invariant}
			for _, name := range names {
				row = append(row, Symbols[reports[name].Verdict(scenario.Name,
					invariant)])
			}
			rows = append(rows, row)
		}
	}
	return generated.Table(append([]string{"scenario", "invariant"}, names...),
		rows)
}

// settled is the table of a run with the page's own sign wherever the run says of
// a story that it held and the page that it did not arise, or the other way round,
// and wherever the run says nothing.
func settled(table, page, part string) string {
	_, rest, _ := strings.Cut(page, "<!-- generated: "+part+" -->\n")
	lines := strings.Split(table, "\n")
	for i, shown := range strings.Split(rest, "\n") {
		if i >= len(lines) {
			break
		}
		theirs, ours := strings.Split(shown, "|"), strings.Split(lines[i], "|")
		for j := range ours {
			silent := j > 0 && strings.TrimSpace(ours[j]) == ""
			if j < len(theirs) &&
				(silent || harmless(ours[j]) && harmless(theirs[j])) {
				ours[j] = theirs[j]
			}
		}
		lines[i] = strings.Join(ours, "|")
	}
	return strings.Join(lines, "\n")
}

// harmless says whether a cell is that of a story in which nothing broke.
func harmless(cell string) bool {
	sign := strings.TrimSpace(cell)
	return sign == Symbols[scenarios.Holds] ||
		sign == Symbols[scenarios.DoesNotArise]
}

// untold is a line for each story that some lock's servers can't take part in.
func untold(names []string, reports map[string]scenarios.Report) string {
	var b strings.Builder
	last := ""
	for _, scenario := range scenarios.Catalogue {
		for _, name := range names {
			for _, result := range reports[name] {
				line := fmt.Sprintf("- `%s`: %s.\n", scenario.Name, result.Event)
				if result.Scenario == scenario.Name && line != last &&
					result.Verdict == scenarios.CannotTell {
					b.WriteString(line)
					last = line
				}
			}
		}
	}
	return b.String()
}
