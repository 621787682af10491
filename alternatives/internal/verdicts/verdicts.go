// Package verdicts shows what the stories say of locks that live in other stores.
package verdicts

import (
	"path/filepath"
	"testing"

	"github.com/lockladder/lockladder/internal/pages/generated"
	"github.com/lockladder/lockladder/scenarios"
)

// Page is the document, seen from a package of the module.
var Page = filepath.Join("..", "..", "docs", "alternatives.md")

// Fresh holds a part of the document against the reports of locks: a column each,
// a row for each invariant that some lock was judged by. Whether a story arises
// may depend on the machine, in real time, so it is not told.
func Fresh(t *testing.T, update bool, part string, names []string,
	reports map[string]scenarios.Report) {
	t.Helper()
	signs := map[scenarios.Verdict]string{
		scenarios.Breaks: "**✗**", scenarios.NotOffered: "–",
		scenarios.CannotTell: "?"}
	var rows [][]string
	for _, scenario := range scenarios.Catalogue {
		for _, invariant := range scenario.Invariants {
			row := []string{scenario.Name, invariant}
			judged := false
			for _, name := range names {
				verdict := reports[name].Verdict(scenario.Name, invariant)
				sign, ok := signs[verdict]
				if !ok {
					sign = "✓"
				}
				judged = judged || sign != "–" && sign != "?"
				row = append(row, sign)
			}
			if judged {
				rows = append(rows, row)
			}
		}
	}
	generated.Fresh(t, update, Page, part, generated.Table(
		append([]string{"scenario", "invariant"}, names...), rows))
}
