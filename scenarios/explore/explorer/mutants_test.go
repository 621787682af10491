package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// of are the mutants that the explorer is to find in one way.
func of(way func(wrong.Mutant) bool) (found []wrong.Mutant) {
	for _, m := range wrong.All {
		if way(m) {
			found = append(found, m)
		}
	}
	return found
}

func TestTheExplorerFindsTheMutantsThatNeedAnInterleaving(t *testing.T) {
	locktest.Long(t, "it walks every mutant")
	t.Parallel()
	// The guard without a mistake is walked once for each bounds.
	var mu sync.Mutex
	known := map[string]explore.Report{}
	sound := func(t *testing.T, w wrong.Walk) explore.Report {
		if w.Right != nil {
			return explore.Run(t, w.Right, w.Bounds)
		}
		mu.Lock()
		defer mu.Unlock()
		name := fmt.Sprint(w.Bounds, w.Bounds.Programs)
		report, ok := known[name]
		if !ok {
			report = explore.Run(t, wrong.Mistakes{}.Build, w.Bounds)
			known[name] = report
		}
		return report
	}
	walked := of(func(m wrong.Mutant) bool { return m.Walk != nil })
	table := make([]string, len(walked))
	t.Run("mutants", func(t *testing.T) {
		for i, m := range walked {
			t.Run(m.Name, func(t *testing.T) {
				w := *m.Walk
				if w.Bounds.Programs == nil {
					w.Bounds.Programs = []explore.Program{explore.Once}
				}
				if w.Long && !*all {
					t.Skip("go test ./scenarios/explore/explorer -run Mutants -all")
				}
				if brief() && (w.Bounds.Nodes > 1 || w.Bounds.Strays > 0) {
					t.Skip("takes too long with -short or -race")
				}
				t.Parallel()
				right := sound(t, w)
				require.True(t, right.Exhausted())
				_, broken := right.Failure(w.Breaks)
				assert.False(t, broken, "without the mistake: %s", right)
				wrong := explore.Run(t, m.Build(), w.Bounds)
				f, broken := wrong.Failure(w.Breaks)
				require.True(t, broken, "with the mistake: %s", wrong)
				table[i] = fmt.Sprintf("| %s | %s | `%s` | %v |\n", m.Name,
					w.Breaks, f.Schedule, right.Walks[0].Schedules())
			})
		}
	})
	if *all {
		generated.Compare(t, document, "mutants", "| mistake | breaks | by the schedule | exhausted"+
			" without it |\n|---|---|---|--:|\n"+strings.Join(table, ""))
	}
}

// The mutants are built from the rungs' own code, by the compiler's overlay, and
// walked in a process of their own. Three clients make more states than are walked
// here, so what needs them is one schedule.
func TestTheExplorerFindsTheMutantsOfWaiting(t *testing.T) {
	if !*all {
		t.Skip("go test ./scenarios/explore/explorer -run MutantsOfWaiting -all")
	}
	top, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	broken := regexp.MustCompile(`lost wake-up +breaks: .*: (wait: .*)`)
	table := "| mistake | rung | bounds | breaks | by the schedule |\n|---|---|---|---|---|\n"
	for _, m := range of(func(m wrong.Mutant) bool { return m.Row != "" }) {
		t.Run(m.Name, func(t *testing.T) {
			files, err := m.Files(top)
			require.NoError(t, err)
			edited := map[string]string{}
			for _, e := range m.Edits {
				edited[filepath.Join(top, filepath.FromSlash(m.Dir(e.File)),
					filepath.Base(e.File))] = files[e.File]
			}
			overlay, err := wrong.Overlay(t.TempDir(), edited)
			require.NoError(t, err)

			run := "^TestAWaiterThatGivesUpWakesTheNext$"
			if m.Row != wrong.OneSchedule {
				run = "^TestNoWakeUpIsLost$/^rungs$"
				for part := range strings.SplitSeq(m.Rung+"/"+m.Row, "/") {
					part = strings.ReplaceAll(part, " ", "_")
					run += "/^" + regexp.QuoteMeta(part) + "$"
				}
			}
			out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay",
				overlay, "-count=1", "-run", run, ".", "-all",
				"-v").CombinedOutput()
			require.Error(t, err, "the mutant survives: %s", out)
			found := broken.FindStringSubmatch(string(out))
			require.NotNil(t, found, "%s", out)
			table += fmt.Sprintf("| %s | %s | %s | lost wake-up | `%s` |\n", m.Name,
				m.Rung, m.Row, found[1])
		})
	}
	if !t.Failed() && strings.Count(table, "\n") == 2+len(of(
		func(m wrong.Mutant) bool { return m.Row != "" })) {
		generated.Compare(t, document, "waiting mutants", table)
	}
}
