// Package docs_test writes the generated parts of the documents and checks that
// they are fresh: go test ./docs -update rewrites them.
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/scenarios"
)

var update = flag.Bool("update", false, "rewrite the generated parts")

func TestTheGeneratedPartsAreFresh(t *testing.T) {
	reports := make([]scenarios.Report, len(ladder.Rungs))
	t.Run("rungs", func(t *testing.T) {
		for i, rung := range ladder.Rungs {
			t.Run(rung.Name, func(t *testing.T) {
				t.Parallel()
				reports[i] = laddertest.Run(t, rung.Name, false)
			})
		}
	})
	if t.Failed() {
		t.Fatal("the documents are made from a green run only")
	}
	readme := filepath.Join("..", "README.md")
	fresh(t, readme, "matrix", folded(reports))
	fresh(t, readme, "ladder", list())
	fresh(t, readme, "gold", goldBreaks(t, reports))
	fresh(t, "matrix.md", "matrix", whole(reports))
	fresh(t, "matrix.md", "stories", stories())
}

// fresh compares one generated part of a file with what it should be, and
// rewrites it with -update.
func fresh(t *testing.T, file, part, want string) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	begin := fmt.Sprintf("<!-- generated: %s -->\n", part)
	end := fmt.Sprintf("<!-- end of %s -->", part)
	before, rest, found := strings.Cut(string(content), begin)
	require.True(t, found, "%s has no line %q", file, begin)
	got, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no line %q", file, end)
	if *update {
		require.NoError(t, os.WriteFile(file,
			[]byte(before+begin+want+end+after), 0o644))
		return
	}
	assert.Equal(t, want, got, "%s: the part %q is stale, run"+
		" go test ./docs -update", file, part)
}

// folded is the matrix with a column for each failure family: in how many of its
// scenarios a rung breaks.
func folded(reports []scenarios.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| rung | %s |\n", strings.Join(scenarios.Families, " | "))
	fmt.Fprintf(&b, "|---|%s\n", strings.Repeat(":-:|", len(scenarios.Families)))
	fmt.Fprint(&b, "| *scenarios* |")
	for _, family := range scenarios.Families {
		count := 0
		for _, s := range scenarios.Catalogue {
			if s.Family == family {
				count++
			}
		}
		fmt.Fprintf(&b, " *%d* |", count)
	}
	fmt.Fprintln(&b)
	for i, rung := range ladder.Rungs {
		fmt.Fprintf(&b, "| %s |", rung.Name)
		for _, family := range scenarios.Families {
			if n := broken(reports[i], family); n > 0 {
				fmt.Fprintf(&b, " %d |", n)
			} else {
				fmt.Fprint(&b, " – |")
			}
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func broken(report scenarios.Report, family string) int {
	count := 0
	for _, s := range scenarios.Catalogue {
		if s.Family != family {
			continue
		}
		for _, invariant := range s.Invariants {
			if report.Verdict(s.Name, invariant) == scenarios.Breaks {
				count++
				break
			}
		}
	}
	return count
}

// whole is the matrix with a line for each invariant.
func whole(reports []scenarios.Report) string {
	var b strings.Builder
	fmt.Fprint(&b, "| scenario | invariant |")
	for _, rung := range ladder.Rungs {
		fmt.Fprintf(&b, " %s |", filepath.Base(rung.Name))
	}
	fmt.Fprintf(&b, "\n|---|---|%s\n", strings.Repeat(":-:|", len(ladder.Rungs)))
	for _, s := range scenarios.Catalogue {
		for _, invariant := range s.Invariants {
			fmt.Fprintf(&b, "| %s | %s |", s.Name, invariant)
			for _, report := range reports {
				fmt.Fprintf(&b, " %s |", symbol(report.Verdict(s.Name,
					invariant)))
			}
			fmt.Fprintln(&b)
		}
	}
	return b.String()
}

func symbol(v scenarios.Verdict) string {
	switch v {
	case scenarios.Breaks:
		return "**✗**"
	case scenarios.Holds:
		return "✓"
	case scenarios.DoesNotArise:
		return "·"
	case scenarios.NotOffered:
		return "–"
	}
	return "?"
}

func stories() string {
	var b strings.Builder
	for _, family := range scenarios.Families {
		fmt.Fprintf(&b, "\n### %s\n\n", family)
		for _, s := range scenarios.Catalogue {
			if s.Family == family {
				fmt.Fprintf(&b, "- **%s** (%s). %s\n", s.Name,
					strings.Join(s.Invariants, ", "), s.Story)
			}
		}
	}
	fmt.Fprintln(&b)
	return b.String()
}

// list is the ladder with a link for each rung.
func list() string {
	var b strings.Builder
	for i, rung := range ladder.Rungs {
		fmt.Fprintf(&b, "%d. [%s](%s/doc.go): %s\n", i+1, rung.Name, rung.Name,
			rung.Idea)
	}
	return b.String()
}

// goldBreaks is what the README's red command prints, without the lines of go
// test around it.
func goldBreaks(t *testing.T, reports []scenarios.Report) string {
	for i, rung := range ladder.Rungs {
		for _, r := range reports[i] {
			if rung.Name == "gold" && r.Scenario == "overrun_release" {
				return "```\n" + strings.TrimSpace(r.Assertion) + "\n```\n"
			}
		}
	}
	t.Fatal("gold has no verdict on overrun_release")
	return ""
}
