package pages

import (
	"cmp"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios"
)

func TestAPartThatNobodyMakesIsRefused(t *testing.T) {
	g := &Generator{root: os.DirFS("../../..")}
	for _, part := range []string{"", "nothing", "place", "place ", "place brass",
		"contents of", "matrix", "rows", "red gold/crash_holding"} {
		_, err := g.part("docs/04-gold.md", part, "old")
		assert.Error(t, err, part)
	}
	text, err := g.part("docs/explorer.md", "rows", "old")
	require.NoError(t, err)
	assert.Equal(t, "old", text, "the explorer's tests make it")
}

func TestEveryPartOfTheRegistryIsOnItsPage(t *testing.T) {
	g := &Generator{root: os.DirFS("../../..")}
	for _, p := range registry {
		if p.page == "" {
			continue
		}
		document, err := g.source(p.page)
		require.NoError(t, err)
		names, _, err := generated.Parts(document)
		require.NoError(t, err)
		assert.Contains(t, names, strings.TrimSuffix(p.name, " "), p.page)
	}
}

// verdictsOf is what a lock did that was asked for something else in all scenarios but some.
func verdictsOf(name string, others map[string]scenarios.Verdict) column {
	var report scenarios.Report
	for _, s := range scenarios.Catalogue {
		for _, invariant := range s.Invariants {
			r := scenarios.Result{Scenario: s.Name, Invariant: invariant,
				Verdict: cmp.Or(others[s.Name], scenarios.NotOffered)}
			report = append(report, r)
		}
	}
	return column{Lock: generated.Did(name, report)}
}

func TestEveryVerdictHasASignAndEveryInvariantARow(t *testing.T) {
	text := verdicts(1, []column{verdictsOf("mine", map[string]scenarios.Verdict{
		"crash_holding": scenarios.Breaks, "slow_get": scenarios.Holds,
		"hung_worker": scenarios.DoesNotArise,
		"lost_wakeup": scenarios.CannotRun})})
	for _, row := range []string{"| crash_holding | orphaned | **✗** |",
		"| slow_get | foreign release | ✓ |", "| hung_worker | orphaned | · |",
		"| lost_wakeup | orphaned | ? |", "| paused_holder | stale write | – |"} {
		assert.Contains(t, text, row+"\n")
	}
	invariants := 0
	for _, s := range scenarios.Catalogue {
		invariants += len(s.Invariants)
	}
	assert.Equal(t, invariants+2, strings.Count(text, "\n"))
}

// Two requests for one run make it once. A run of no interest isn't there.
func TestARunIsMadeWhenItIsFirstRead(t *testing.T) {
	r := Record(t, os.DirFS("../../.."))
	read := func(file string) string {
		text, err := fs.ReadFile(r, file)
		require.NoError(t, err)
		return string(text)
	}
	const file = "docs/runs/gold/overrun_release/foreign-release.json"
	texts := make(chan string)
	for range 2 {
		go func() { texts <- read(file) }()
	}
	first, second := <-texts, <-texts
	assert.Contains(t, first, `"verdict":"breaks"`)
	assert.Contains(t, first, `"beside":["silver","gold/script","platinum"]`)
	assert.Equal(t, first, second)
	assert.NotEmpty(t, read("docs/04-gold.md"), "the module's own files")
	for _, none := range []string{"docs/runs/gold/crash_holding/orphaned.json",
		"docs/runs/gold/overrun_release/orphaned.json", "docs/runs/brass/x/y.json",
		"docs/runs/gold/brass/orphaned.json", "docs/runs/gold", "docs/levels/redlock.json"} {
		_, err := fs.Stat(r, none)
		assert.ErrorIs(t, err, fs.ErrNotExist, none)
	}
}
