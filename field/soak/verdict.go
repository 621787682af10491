package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/terminal"
)

// shown is how many violations of an invariant are shown with an excerpt, and
// lines how many events an excerpt has.
const (
	shown = 3
	lines = 24
)

// Broken says whether a promise was broken.
func (v verdict) Broken() bool { return len(v.Violations) > 0 }

// Undecided says whether no promise was broken that could be judged, and some could not be.
func (v verdict) Undecided() bool { return !v.Broken() && len(v.Open) > 0 }

// Write writes the verdict for a reader.
func (v verdict) Write(w io.Writer) {
	word := "held"
	if v.Broken() {
		word = "VIOLATED"
	} else if v.Undecided() {
		word = "undecided"
	}
	fmt.Fprintf(w, "%s: %s, seed %d\n", v.Setup.Rung, word, v.Setup.Seed)
	fmt.Fprintf(w, "  %d grants, %d sections, %d writes, %d refused by the"+
		" storage\n", v.Grants, v.Sections, v.Writes, v.Refused)
	var faults []string
	total := 0
	for _, name := range slices.Sorted(maps.Keys(v.Faults)) {
		faults = append(faults, fmt.Sprintf("%s %d", name, v.Faults[name]))
		total += v.Faults[name]
	}
	fmt.Fprintf(w, "  %s\n", strings.Join(terminal.Wrap(strings.TrimSuffix(fmt.Sprintf(
		"faults: %d (%s)", total, strings.Join(faults, ", ")), " ()"), 77, 2), "\n  "))
	if v.Overlaps+v.Stale > 0 {
		fmt.Fprintf(w, "  explained by stops: two holders %d times, %d stale"+
			" writes (docs/7-fenced.md)\n", v.Overlaps, v.Stale)
	}
	for _, driver := range slices.Sorted(maps.Keys(v.Latest)) {
		fmt.Fprintf(w, "  latest return with the driver %s: %v after its"+
			" deadline\n", driver, max(v.Latest[driver], 0).Round(
			time.Millisecond))
	}
	if v.Calm && v.LongestProbe > 0 {
		fmt.Fprintf(w, "  after the faults every process had every key within"+
			" %v\n", v.LongestProbe.Round(time.Millisecond))
	}
	for _, open := range v.Open {
		fmt.Fprintf(w, "  not judged: %s\n", open)
	}
	v.writeViolations(w)
}

func (v verdict) writeViolations(w io.Writer) {
	seen := map[string]int{}
	for _, one := range v.Violations {
		if seen[one.Invariant]++; seen[one.Invariant] > shown {
			continue
		}
		fmt.Fprintf(w, "\n%s at %s: %s\n", one.Invariant, v.at(one.At), one.Text)
		if one.Documents != "" {
			fmt.Fprintf(w, "documented in %s\n", one.Documents)
		} else {
			fmt.Fprintln(w, "not a documented flaw")
		}
		skipped := len(one.Excerpt) - lines
		for i, e := range one.Excerpt {
			if skipped > 0 && i >= lines/2 && i < lines/2+skipped {
				if i == lines/2 {
					fmt.Fprintf(w, "    ... %d more\n", skipped)
				}
				continue
			}
			fmt.Fprintf(w, "  %s %s\n", v.at(e.At), e)
		}
	}
	for _, invariant := range slices.Sorted(maps.Keys(seen)) {
		if more := seen[invariant] - shown; more > 0 {
			fmt.Fprintf(w, "\n%d more of: %s\n", more, invariant)
		}
	}
	if v.Broken() {
		fmt.Fprintf(w, "\nThe same faults again: %s\n", v.Setup.Again)
	}
}

// at is a moment as seconds since the run began.
func (v verdict) at(t int64) string {
	return fmt.Sprintf("%9.4fs", time.Duration(t-v.Setup.Started).Seconds())
}

// judgeDir reads and judges the run in a directory.
func judgeDir(dir string) (verdict, error) {
	setup, events, err := load(dir)
	if err != nil {
		return verdict{}, err
	}
	return judge(setup, events), nil
}
