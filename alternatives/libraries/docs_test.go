package libraries_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/alternatives/libraries"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/internal/pages/generated"
	"github.com/lockladder/lockladder/scenarios"
)

var update = flag.Bool("update", false, "rewrite the generated parts")

// page is the document about the libraries, among the ladder's.
var page = filepath.Join("..", "..", "docs", "libraries.md")

// beside are the rungs that the libraries are shown beside.
var beside = []string{"diamond/watchdog", "reentrant", "reentrant/fenced"}

// column is a lock and what it did.
type column struct {
	name   string
	report scenarios.Report
}

func TestTheDocumentIsFreshAndExplainsEveryVerdict(t *testing.T) {
	oneProcessor(t)
	var rungs, shown []column
	t.Run("locks", func(t *testing.T) {
		for _, name := range beside {
			t.Run(name, func(t *testing.T) {
				rungs = append(rungs, column{path.Base(name),
					laddertest.Tell(t, name, false)})
			})
		}
		for _, library := range libraries.Libraries {
			if library.OnlyReal == "" {
				t.Run(library.Name, func(t *testing.T) {
					shown = append(shown, column{library.Name, run(t, library)})
				})
			}
		}
	})
	if t.Failed() {
		t.Fatal("the document is made from a green run only")
	}
	generated.Fresh(t, *update, page, "versions", versions(t))
	generated.Fresh(t, *update, page, "matrix", matrix(append(rungs[:len(rungs):len(rungs)], shown...)))

	watchdog := rungs[0].report
	for _, lock := range shown {
		library, err := libraries.Find(lock.name)
		require.NoError(t, err)
		text := section(t, library.Path)
		for _, r := range lock.report {
			if surprises(watchdog.Verdict(r.Scenario, r.Invariant), r.Verdict) {
				assert.Contains(t, text, "`"+r.Scenario+"`", "the section on %s"+
					" does not say why %s %s in it", library.Path, library.Name,
					r.Verdict)
			}
		}
	}
}

// surprises are what must be explained: what a library breaks, and what it holds
// although the rung that renews and tells does not.
func surprises(rung, library scenarios.Verdict) bool {
	return library == scenarios.Breaks ||
		library == scenarios.Holds && rung == scenarios.Breaks
}

// section is the part of the document about a package.
func section(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	_, text, found := strings.Cut(string(content), "\n## "+path+"\n")
	require.True(t, found, "%s has no section on %s", page, path)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// versions is the table of the configurations. The versions are go.mod's.
func versions(t *testing.T) string {
	content, err := os.ReadFile(filepath.Join("..", "go.mod"))
	require.NoError(t, err)
	required := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(
		string(content), -1)
	var b strings.Builder
	fmt.Fprint(&b, "| column | package | version | nodes | what it is |\n"+
		"|---|---|---|:-:|---|\n")
	for _, library := range libraries.Libraries {
		version := ""
		for _, module := range required {
			if strings.HasPrefix(library.Path+"/", module[1]+"/") {
				version = module[2]
			}
		}
		require.NotEmpty(t, version, "go.mod does not require %s", library.Path)
		idea := library.Idea
		if library.OnlyReal != "" {
			idea += "; on real servers only"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s |\n", library.Name,
			library.Path, version, library.Nodes, idea)
	}
	return b.String()
}

// matrix has a line for each invariant, like the ladder's.
func matrix(columns []column) string {
	var b strings.Builder
	fmt.Fprint(&b, "| scenario | invariant |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	fmt.Fprintf(&b, "\n|---|---|%s\n", strings.Repeat(":-:|", len(columns)))
	for _, s := range scenarios.Catalogue {
		for _, invariant := range s.Invariants {
			fmt.Fprintf(&b, "| %s | %s |", s.Name, invariant)
			for _, c := range columns {
				fmt.Fprintf(&b, " %s |", symbols[c.report.Verdict(s.Name,
					invariant)])
			}
			fmt.Fprintln(&b)
		}
	}
	return b.String()
}

var symbols = map[scenarios.Verdict]string{
	scenarios.Breaks:       "**✗**",
	scenarios.Holds:        "✓",
	scenarios.DoesNotArise: "·",
	scenarios.NotOffered:   "–",
}
