// The documents' generated parts are written from the running code, and are
// checked to be fresh: go test ./docs -update rewrites them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/internal/pages"
	"github.com/lockladder/lockladder/scenarios"
)

var update = flag.Bool("update", false, "rewrite the generated parts")

func TestMain(m *testing.M) {
	laddertest.CollectLess()
	laddertest.OneProcessor()
	os.Exit(m.Run())
}

func TestTheGeneratedPartsAreFresh(t *testing.T) {
	reports := make([]scenarios.Report, len(ladder.Rungs))
	t.Run("rungs", func(t *testing.T) {
		for i, rung := range ladder.Rungs {
			t.Run(rung.Name, func(t *testing.T) {
				t.Parallel()
				reports[i] = laddertest.Tell(t, rung.Name, false)
			})
		}
	})
	exhibits := append(exhibitsOf(t, reports), before(t)...)
	if t.Failed() {
		t.Fatal("the documents are made from a green run only")
	}
	readme := filepath.Join("..", "README.md")
	fresh(t, readme, func(part string) (string, error) {
		switch part {
		case "matrix":
			return folded(reports), nil
		case "ladder":
			return list(), nil
		case "gold":
			text, err := assertions(exhibits, "gold/overrun_release")
			return pages.Fence("", text), err
		}
		return "", errUnknown
	})
	fresh(t, "matrix.md", func(part string) (string, error) {
		switch part {
		case "matrix":
			return whole(reports), nil
		case "stories":
			return catalogue(), nil
		}
		return "", errUnknown
	})
	for _, page := range ours(t) {
		fresh(t, page, func(part string) (string, error) {
			return made(exhibits, part)
		})
	}
}

var errUnknown = errors.New("nobody makes such a part")

// fresh compares a document with what its generated parts should be, and
// rewrites it with -update.
func fresh(t *testing.T, file string, made func(part string) (string, error)) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	got := strings.ReplaceAll(string(content), "\r\n", "\n")
	want, err := pages.Rewrite(got, made)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	if *update && got != want {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	if got == want {
		return
	}
	lines, err := pages.Lines(got, want)
	require.NoError(t, err)
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, " ")
	})
	t.Errorf("%s is stale, run go test ./docs -update:\n%s", file,
		strings.Join(lines[:min(len(lines), 20)], ""))
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

// catalogue lists the stories by family.
func catalogue() string {
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
		fmt.Fprintf(&b, "%d. [%s](docs/%s): %s\n", i+1, rung.Name, pageOf(i),
			rung.Idea)
	}
	return b.String()
}
