package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/internal/site/choosing"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/parts"
	"github.com/lockladder/lockladder/internal/site/results"
)

func TestMain(m *testing.M) {
	laddertest.CollectLess()
	laddertest.OneProcessor()
	testscript.Main(tests{m}, map[string]func(){"docs": main})
}

// tests end and remove what they have shared.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer func() {
		for _, end := range atEnd {
			end()
		}
	}()
	return t.M.Run()
}

// atEnd are what ends and removes what the tests share.
var atEnd []func()

// root is the module.
var root = os.DirFS("..")

// content is the text of a file of the module.
func content(t *testing.T, file string) string {
	t.Helper()
	text, err := fs.ReadFile(root, file)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// firstDifference is the first line in which two texts differ. A diff of a whole page
// would bury it.
func firstDifference(is, should string) string {
	for n := 1; ; n++ {
		a, rest, more := strings.Cut(is, "\n")
		b, others, still := strings.Cut(should, "\n")
		if a != b || !more && !still {
			return fmt.Sprintf("line %d is      %s\nline %d must be %s", n, a, n, b)
		}
		is, should = rest, others
	}
}

// A lock outside the module is run on servers that not everybody has. Its verdicts are
// kept in a file, which must know the scenarios that came later.
func TestEveryKeptResultHasEveryScenario(t *testing.T) {
	for _, name := range []string{"libraries", "mysql", "etcd", "zookeeper", "programs"} {
		locks, err := results.Read(root, name)
		require.NoError(t, err)
		require.NotEmpty(t, locks, name)
		missing := map[string][]string{} // the locks, by what they haven't run
		for _, lock := range locks {
			for scenario, why := range lock.NotRun {
				assert.NotEmpty(t, why, "why %s didn't run %s", lock.Name, scenario)
			}
			if m := lock.Missing(); len(m) > 0 {
				what := strings.Join(m, ", ")
				missing[what] = append(missing[what], lock.Name)
			}
		}
		for what, locks := range missing {
			t.Errorf("%s: %s: they have not run %s. go run ./docs -generate %s runs it,"+
				" and again when what breaks is declared in field (see step 4"+
				" of a new scenario in CONTRIBUTING.md)",
				name, strings.Join(locks, ", "), what, name)
		}
	}
}

// CONTRIBUTING.md explains a few lines of the timeline that README.md shows.
func TestTheTimelineThatIsExplainedIsOneThatIsShown(t *testing.T) {
	_, text, _ := strings.Cut(content(t, "CONTRIBUTING.md"), "How to read a failing timeline")
	lines := 0
	for line := range strings.Lines(text) {
		if timeline, ok := strings.CutPrefix(line, "    "); ok {
			lines++
			assert.Contains(t, content(t, "README.md"),
				strings.TrimRight(strings.TrimSpace(timeline), " .")) // one is cut off
		}
	}
	assert.Equal(t, 7, lines)
}

func TestTheDocumentsAreWhatTheGeneratorMakes(t *testing.T) {
	laddertest.WhenNamed(t, "it makes every page once more, which takes nine seconds:"+
		" go test ./docs -run DocumentsAre")
	g := generator(t, "..")
	stale, err := g.Stale()
	require.NoError(t, err)
	assert.Greater(t, len(parts.Documents(root)), 30, "documents were found")
	for file, texts := range stale {
		t.Errorf("%s is stale, run go run ./docs -generate; the first line that differs:\n%s",
			file, firstDifference(texts[0], texts[1]))
	}
	t.Run("every timeline has the digest that is kept", func(t *testing.T) {
		assert.Equal(t, content(t, "scenarios/testdata/timelines.sha256"), g.Digest,
			"if the change is intended, run go test ./scenarios -run SameTimeline -update")
	})
	t.Run("every lock of a matrix is measured", func(t *testing.T) {
		for _, c := range g.Choice.Candidates {
			// The recipe of the survey is an exhibit.
			if c.Name == "zookeeper/recipe" {
				continue
			}
			if assert.NotNil(t, c.Cost, c.Name) {
				assert.True(t, c.Cost.Finished(), c.Name)
				assert.Equal(t, 1, c.Cost.Count("max_holders"), c.Name)
				assert.Zero(t, c.Cost.Value("oversold"), c.Name)
			}
		}
	})
	// A lock that is measured and in no table is a baseline, or the page says why.
	t.Run("every measured lock is in the tables or explained", func(t *testing.T) {
		var missing []string
		for _, row := range g.Choice.Run.Rows {
			if row.Kind() != bench.Baseline &&
				!slices.ContainsFunc(g.Choice.Candidates,
					func(c choosing.Candidate) bool { return c.Name == row.Name() }) {
				missing = append(missing, row.Name())
			}
		}
		assert.Equal(t, []string{"rueidislock"}, missing)
		assert.Contains(t, content(t, "docs/choosing.md"),
			"One lock is measured and in no table here: `rueidislock`,")
	})
	t.Run("four locks have a token that the storage can check", func(t *testing.T) {
		var tokens []string
		for _, c := range g.Choice.Candidates {
			if c.Fits(choosing.Job{Arise: []string{choosing.Token}}) {
				tokens = append(tokens, c.Name)
			}
		}
		assert.Equal(t, []string{"reentrant/fenced", "reentrant/readwrite",
			"zookeeper/sequential", "etcd"}, tokens)
	})
}

// A name in the list that no page has makes nothing.
func TestEveryPartThatTestsMakeIsOnItsPage(t *testing.T) {
	for _, test := range generated.Tests {
		names, _, err := generated.Parts(content(t, "docs/"+test.Page))
		require.NoError(t, err)
		for _, wanted := range slices.Concat(test.Parts, test.Results) {
			assert.True(t, slices.ContainsFunc(names, func(name string) bool {
				return name == wanted || strings.HasPrefix(name, wanted+" ")
			}), "%s has no part %q", test.Page, wanted)
		}
	}
}
