package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Flaws reads a file with what a lock is known to break, one "scenario: invariant" a
// line; # begins a comment. A line that begins with the word "sometimes" has what the
// lock breaks in some runs only. Its errors are one line, which says where the file is
// wrong and what would be right.
func Flaws(text string) (always, sometimes []lock.Flaw, err error) {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		line, chance := strings.CutPrefix(line, "sometimes ")
		scenario, invariant, ok := strings.Cut(line, ":")
		if !ok {
			return nil, nil, fmt.Errorf("line %d: %q should be \"scenario: invariant\"",
				i+1, line)
		}
		scenario = strings.TrimSpace(scenario)
		flaw := lock.Flaw{Scenario: scenario, Invariant: strings.TrimSpace(invariant)}
		known, err := scenarios.Find(scenario)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if all := known.Judged(); !slices.Contains(all, flaw.Invariant) {
			return nil, nil, fmt.Errorf("line %d: the invariants of %s are %s, not %q", i+1,
				scenario, strings.Join(all, ", "), flaw.Invariant)
		}
		if chance {
			sometimes = append(sometimes, flaw)
		} else {
			always = append(always, flaw)
		}
	}
	return always, sometimes, nil
}
