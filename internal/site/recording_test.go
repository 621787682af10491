package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/scenarios"
)

// broken is a run of three entries, of which the second breaks something.
func broken() scenarios.Result {
	return scenarios.Result{Scenario: "nested", Invariant: "self-deadlock",
		Verdict: scenarios.Breaks, BrokenAt: 1, Event: "A waits for itself",
		Sequence: []*scenarios.Entry{
			{At: time.Millisecond, Client: "B", Node: 1, Text: `SET "a\"`, Reply: "OK",
				Sent: time.Microsecond, Back: 2 * time.Millisecond, Line: "gold/lock.go:36",
				Owner: "B", Leases: []history.Lease{{Node: 1, Owner: "B", Value: "v",
					Ends: time.Second}}, Stored: &history.Stored{Value: 0, Token: 7}},
			{At: 3 * time.Millisecond, Client: "A", Node: -1, Text: "waits",
				Owner: "-", Inside: []string{"A", "B"}},
			{At: 4 * time.Millisecond, Client: "C", Node: -1, Text: "later"},
		}}
}

func TestARunEndsWithItsBreak(t *testing.T) {
	run := broken().Recording("gold")
	assert.Len(t, run.Entries, 2)
	assert.Equal(t, []string{"A", "B"}, run.Clients, "C comes after the break")
	assert.Equal(t, 2, run.Nodes)
	assert.NotEmpty(t, run.Summary)
}

func TestAnEntryNamesItsTextItsLineAndItsState(t *testing.T) {
	run := broken().Recording("gold")
	set, waits := run.Entries[0], run.Entries[1]
	assert.Equal(t, `SET "a\"`, run.Texts[set.Text])
	assert.Equal(t, "gold/lock.go:36", run.Lines[set.Line])
	assert.Equal(t, [3]int64{1, 1000, 2000}, [3]int64{set.Sent, set.At, set.Back})
	state := run.States[set.State]
	assert.Equal(t, []recording.Lease{{Node: 1, Owner: "B", Value: "v", Ends: 1e6}}, state.Leases)
	assert.Equal(t, 0, *state.Value, "a storage that holds zero is there")
	assert.Equal(t, []string{"A", "B"}, run.States[waits.State].Inside)
	assert.Nil(t, run.States[waits.State].Value)
	assert.Equal(t, waits.At, waits.Sent)
}

// written is the text of a recorded run.
func written(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "runs", "a.json")
	file := &recording.File{Run: broken().Recording("mine"),
		Sources: map[string]string{"mine/lock.go": "package mine\n"}}
	require.NoError(t, file.Write(name))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	read, err := recording.Read(strings.NewReader(written(t)))
	require.NoError(t, err)
	assert.Equal(t, broken().Recording("mine"), read.Run)
	assert.Nil(t, read.Graph)
	assert.Equal(t, "package mine\n", read.Sources["mine/lock.go"])
}

func TestWhatIsNoRecordingIsRefusedWithOneLine(t *testing.T) {
	whole := written(t)
	for name, c := range map[string]struct{ text, says string }{
		"an empty file": {"", "it is no recording: scenarios.Record and"},
		"another file":  {"package gold\n", "it is no recording"},
		"another version": {strings.Replace(whole, `"version":3`, `"version":1`, 1),
			"of another version: 1, and this program reads 3; record it again"},
		"half a file":     {whole[:len(whole)/2], "it ends in the middle: record it again"},
		"without the end": {whole[:len(whole)-1], "it ends in the middle"},
		"not JSON":        {strings.Replace(whole, `"verdict"`, `verdict`, 1), "it can't be read"},
		"another number": {strings.Replace(whole, `"broken":1`, `"broken":7`, 1),
			"it was changed after it was recorded: record it again"},
	} {
		_, err := recording.Read(strings.NewReader(c.text))
		require.ErrorContains(t, err, c.says, name)
		assert.NotContains(t, err.Error(), "\n", name)
	}
}
