package scenarios_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/scenarios"
)

func TestARecordedRunIsTheOneOfTheReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	report := scenarios.Run(t, buildMyLock, scenarios.Record(dir),
		scenarios.Only("overrun_overlap", "nested"), scenarios.WithoutFeatures(
			scenarios.Reentry, scenarios.Renewal, scenarios.LossNotices),
		scenarios.Flaws(scenarios.Flaw{Scenario: "overrun_overlap",
			Invariant: scenarios.TwoHolders}))
	seen := 0
	for _, r := range report {
		file, err := os.Open(filepath.Join(dir, r.Scenario,
			strings.ReplaceAll(r.Invariant, " ", "-")+".json"))
		if len(r.Sequence) == 0 {
			require.ErrorIs(t, err, os.ErrNotExist, "%s has no timeline", r.Scenario)
			continue
		}
		require.NoError(t, err)
		read, err := recording.Read(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		assert.Equal(t, r.Recording(t.Name()), read.Run)
		if r.Verdict != scenarios.Breaks {
			continue
		}
		seen++
		set := read.Run.Lines[read.Run.Entries[0].Line]
		assert.Regexp(t, `^scenarios_test/own_lock_test\.go:\d+$`, set)
		assert.Regexp(t, regexp.MustCompile(`SetNX\(ctx, l\.name`),
			read.Sources["scenarios_test/own_lock_test.go"], "the code is with it")
	}
	assert.NotZero(t, seen)
}

func TestNothingIsRecordedUnlessItIsAskedFor(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	scenarios.Run(t, buildMyLock, scenarios.Record(""), scenarios.Only("mutual_exclusion"))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
