package lab_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/judge"
)

// scenario breaks every invariant: B, and later A, do to the lock what they like.
func scenario(w *lab.World) {
	a, b := w.Client("A"), w.Client("B")
	w.Record()
	storage := w.Storage(100)
	do := func(c *lab.Client, args ...any) {
		c.Env(key).Nodes[0].Do(w.Context(), args...)
	}
	a.Go(func() {
		do(a, "SET", key, "a", "PX", 10000)
		a.Step("enters", func() {
			first := a.EnterAs("A", nil)
			_, version, _ := storage.Read(first, 0)
			second := b.EnterAs("B", nil)
			storage.Write(second, 0, 99, version)
			storage.Write(first, 0, 98, version)
		})
		do(b, "PEXPIRE", key, 20000)
		do(b, "PEXPIRE", key, 5000)
		do(b, "SET", key, "b")
		do(a, "DEL", key)
		a.Step("asserts", func() { w.Report("not told", "A learns nothing") })
	})
	w.Play()
}

func TestAHistoryFromAFileIsJudgedAsTheWorldJudgedIt(t *testing.T) {
	require.NoError(t, lab.Run(t, aWorld, func(w *lab.World) {
		scenario(w)
		require.Empty(t, w.Failures())
		var invariants []string
		for _, b := range w.Broken() {
			invariants = append(invariants, b.Invariant)
		}
		assert.Equal(t, []string{judge.TwoHolders, judge.StaleWrite,
			judge.LostUpdate, judge.ForeignRenewal, judge.ForeignRelease,
			judge.ForeignRelease, judge.ForeignRelease, "not told"}, invariants)

		name := filepath.Join(t.TempDir(), "history.json")
		text, err := json.Marshal(w.Log().History)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, text, 0o600))
		file, err := os.Open(name)
		require.NoError(t, err)
		defer file.Close()
		read, err := judge.Read(file)
		require.NoError(t, err)
		assert.Equal(t, w.Broken(), judge.Breaks(read, 0))
		assert.Equal(t, judge.Breaks(read, 0), judge.Breaks(read, 0), "once more")
		assert.Equal(t, w.Render(-1, judge.TwoHolders), read.Render(-1,
			w.Breaks(judge.TwoHolders)))
	}))
}

func TestWhatIsNoHistoryIsAnError(t *testing.T) {
	_, err := judge.Read(strings.NewReader("{"))
	assert.ErrorContains(t, err, "read a history")
}
