package site_test

import (
	"encoding/json"
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

func TestARunIsReadAsItWasWritten(t *testing.T) {
	run := broken().Recording("gold", "silver")
	text, err := json.Marshal(run)
	require.NoError(t, err)
	var read recording.Run
	require.NoError(t, json.Unmarshal(text, &read))
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
	site, err := json.Marshal(broken().Recording("gold"))
	require.NoError(t, err)
	instead := func(old, new string) string {
		require.Contains(t, whole, old)
		return strings.Replace(whole, old, new, 1)
	}
	for _, c := range []struct{ name, text, says string }{
		{"an empty file", "", "it is no recording: scenarios.Record and"},
		{"another file", "package gold\n", "it is no recording"},
		{"other JSON", `{"schema": 2}`, "it is no recording"},
		{"a run of the site", string(site), "it is no recording"},
		{"another version", instead(`"version":2`, `"version":1`),
			"of another version: 1, and this program reads 2; record it again"},
		{"another version with other fields", `{"format":"lock ladder recording",` +
			`"version":1,"run":"else"}`, "of another version: 1"},
		{"half a file", whole[:len(whole)/2], "it ends in the middle: record it again"},
		{"all but the last bracket", strings.TrimSpace(whole)[:len(whole)-2],
			"it ends in the middle"},
		{"broken in the middle", instead(`"verdict"`, `verdict`), "it can't be read"},
		{"a number for a name", instead(`"lock":"mine"`, `"lock":1`), "it can't be read"},
		{"neither run nor graph", `{"format":"lock ladder recording","version":2}`,
			"neither a run nor a graph"},
		{"an entry with a text that is not there", instead(",[3000,0,-1,", ",[3000,0,-1,9"),
			"names what the run hasn't"},
		{"a break after the end", instead(`"broken":1`, `"broken":7`),
			"has not the entry that broke its invariant"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := recording.Read(strings.NewReader(c.text))
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// A graph that was cut by hand would stop the browser's script in the middle.
func TestAGraphThatNamesWhatItHasntIsRefused(t *testing.T) {
	graph := func() *recording.Graph {
		return &recording.Graph{Lock: "mine", Clients: []string{"A"}, Nodes: 1,
			Goals: []recording.Goal{{Invariant: "orphaned"}}, Texts: []string{"", "A>"},
			Worlds: make([]recording.State, 1), States: [][]int{{0, 0, 1, 0, 0, 1, 1, 0, 0}, {0, 0, 1}},
			Edges: [][]int{{1, 1, 0}, {}}}
	}
	read := func(g *recording.Graph) error {
		name := filepath.Join(t.TempDir(), "once.json")
		require.NoError(t, (&recording.File{Graph: g}).Write(name))
		file, err := os.Open(name)
		require.NoError(t, err)
		defer file.Close()
		_, err = recording.Read(file)
		return err
	}
	require.NoError(t, read(graph()))
	for name, change := range map[string]func(*recording.Graph){
		"a state's world":      func(g *recording.Graph) { g.States[0][1] = 1 },
		"what a client does":   func(g *recording.Graph) { g.States[1][2] = 2 },
		"the client of a way":  func(g *recording.Graph) { g.States[0][3] = 1 },
		"the node of a way":    func(g *recording.Graph) { g.States[0][4] = -1 },
		"a text of a way":      func(g *recording.Graph) { g.States[0][8] = 2 },
		"half a way":           func(g *recording.Graph) { g.States[1] = append(g.States[1], 0) },
		"an action's text":     func(g *recording.Graph) { g.Edges[0][0] = 2 },
		"an action's end":      func(g *recording.Graph) { g.Edges[0][1] = 2 },
		"half an action":       func(g *recording.Graph) { g.Edges[0] = g.Edges[0][:2] },
		"edges of a state":     func(g *recording.Graph) { g.Edges = g.Edges[:1] },
		"no states":            func(g *recording.Graph) { g.States, g.Edges = nil, nil },
		"no invariant of goal": func(g *recording.Graph) { g.Goals[0].Invariant = "" },
	} {
		t.Run(name, func(t *testing.T) {
			g := graph()
			change(g)
			assert.ErrorContains(t, read(g), "it can't be shown: ")
		})
	}
}
