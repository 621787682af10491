package results

import (
	"fmt"
	"strings"

	"github.com/lockladder/lockladder/internal/pages/generated"
	"github.com/lockladder/lockladder/scenarios"
)

// signs are the verdicts in the tables.
var signs = map[scenarios.Verdict]string{
	scenarios.Breaks:       "**✗**",
	scenarios.Holds:        "✓",
	scenarios.DoesNotArise: "·",
	scenarios.NotOffered:   "–",
	scenarios.CannotRun:    "?",
}

// Table has a column for each lock and a line for each invariant. So many of its
// first columns are left-aligned.
func Table(left int, locks []Lock) string {
	head := []string{"scenario", "invariant"}
	for _, lock := range locks {
		head = append(head, lock.Name)
	}
	var rows [][]string
	for _, s := range scenarios.Catalogue {
		for _, invariant := range s.Invariants {
			row := []string{s.Name, invariant}
			for _, lock := range locks {
				verdict := lock.Verdicts[s.Name+": "+invariant]
				sign := signs[verdict]
				if lock.Run != nil && verdict == scenarios.Breaks {
					sign = fmt.Sprintf("[%s](%s)", sign, lock.Run(s.Name, invariant))
				}
				row = append(row, sign)
			}
			rows = append(rows, row)
		}
	}
	return generated.Table(left, head, rows)
}

// NotRun is a line for each scenario that some lock's servers can't take part
// in.
func NotRun(locks []Lock) string {
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
	return b.String()
}
