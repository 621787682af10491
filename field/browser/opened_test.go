//go:build chromium

package browser

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/gold"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// buildOwn stands for a lock that is not on the ladder: nothing says that this one is.
var buildOwn = lock.On(gold.New)

// opens serves a recording and opens it in a browser.
func opens(t *testing.T, file string) *stage {
	t.Helper()
	text, err := os.Open(file)
	require.NoError(t, err)
	defer text.Close()
	served := site.NewSite(root)
	served.Opened, err = recording.Read(text)
	require.NoError(t, err)
	return stageOf(t, served)
}

// A run of a lock that is not on the ladder is played beside its own code.
func TestARunOfAnOwnLockIsPlayed(t *testing.T) {
	dir := t.TempDir()
	t.Run("mine", func(t *testing.T) {
		scenarios.Run(t, buildOwn, scenarios.Record(dir), scenarios.Only("overrun_release"),
			scenarios.WithoutFeatures(scenarios.Renewal), scenarios.Flaws(
				scenarios.Flaw{Scenario: "overrun_release",
					Invariant: scenarios.ForeignRelease},
				scenarios.Flaw{Scenario: "overrun_release",
					Invariant: scenarios.TwoHolders}))
	})
	s := opens(t, filepath.Join(dir, "overrun_release", "foreign-release.json"))
	begin := s.open("opened")
	assert.Contains(t, begin.Status, "A: SET lock:stock locked EX 10 NX → OK")
	assert.Contains(t, begin.Marks, "SetNX(ctx, l.key", "its code is there")
	end := s.clicks("to the end")
	assert.Contains(t, end.Status, "✗ foreign release")
	assert.Contains(t, end.Marks, "l.rdb.Del(ctx, l.key)")
	assert.Contains(t, end.Views, t.Name())
	assert.Equal(t, end.At, s.open("opened"+end.Hash).At, "a position can be shared")
	for _, theme := range []string{"light", "dark"} {
		s.sized(390, 800)
		s.runs("document.documentElement.dataset.theme = %q", theme)
		assert.LessOrEqual(t, s.sees().Wide, 0, "the page is wider than the screen")
	}
}

// A graph of such a lock is a level for each invariant, and what is done there
// leaves the reader's progress on the ladder alone.
func TestAGraphOfAnOwnLockIsALevel(t *testing.T) {
	dir := t.TempDir()
	bounds := explore.Bounds{Expiries: 1, Programs: []explore.Program{explore.Once}}
	report := explore.Run(t, buildOwn, bounds, explore.Record(dir))
	best, found := report.Failure(explore.ForeignRelease)
	require.True(t, found)
	s := opens(t, filepath.Join(dir, "once.json"))
	at := func(hash url.Values) gamed {
		s.loads(s.site + "/opened#" + hash.Encode())
		return s.game("")
	}
	won := at(url.Values{"level": {"foreign-release"}, "s": {best.Schedule}})
	assert.Equal(t, "won", won.State)
	assert.Contains(t, won.Verdict, fmt.Sprintf("%d actions, which is the fewest", best.Steps))
	assert.Equal(t, `explore.Replay(t, build, bounds, "`+best.Schedule+`")`, won.Command)
	assert.Equal(t, 1, won.Solved)
	next := s.game("g.querySelector('.next').click()")
	assert.Contains(t, next.Title, "Foreign renewal")
	assert.Contains(t, s.presses("no schedule").Verdict, "✓ proved: 0 of ")
	assert.Zero(t, shows[int](s, `localStorage.length`))
	assert.LessOrEqual(t, next.Wide, 0)
}

// A walk that didn't reach its end is no proof.
func TestAWalkThatWasStoppedProvesNothing(t *testing.T) {
	dir := t.TempDir()
	explore.Run(t, buildOwn, explore.Bounds{Expiries: 1, States: 20,
		Programs: []explore.Program{explore.Once}}, explore.Record(dir))
	s := opens(t, filepath.Join(dir, "once.json"))
	s.visits(s.site + "/opened#level=orphaned")
	claimed := s.presses("no schedule")
	assert.NotContains(t, claimed.Verdict, "proved")
	assert.Contains(t, claimed.Advice, "the explorer stopped after")
}
