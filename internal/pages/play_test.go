package pages_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/play"
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

func TestARunIsReadAsItWasWritten(t *testing.T) {
	run := broken().Recording("gold", "silver")
	text, err := run.JSON()
	require.NoError(t, err)
	var read play.Run
	require.NoError(t, json.Unmarshal([]byte(text), &read))
	assert.Equal(t, *run, read)
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
	assert.Equal(t, []play.Lease{{Node: 1, Owner: "B", Value: "v", Ends: 1e6}}, state.Leases)
	assert.Equal(t, 0, *state.Value, "a storage that holds zero is there")
	assert.Equal(t, []string{"A", "B"}, run.States[waits.State].Inside)
	assert.Nil(t, run.States[waits.State].Value)
	assert.Equal(t, waits.At, waits.Sent)
}

func TestATextAStateAndAnEntryHaveALineEach(t *testing.T) {
	text, err := broken().Recording("gold").JSON()
	require.NoError(t, err)
	assert.Contains(t, strings.Split(text, "\n"), `"SET \"a\\\"",`)
	assert.Contains(t, text, "\n[3000,0,-1,")
}
