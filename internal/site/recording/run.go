// Package recording is the format of what the site plays: the recorded run of a scenario,
// with who did what when, from which line of the lock's code, and what the nodes and
// the storage had then; and the state graph of a lock. Packages scenarios and explore
// write it, and a File carries one of them with the code of the lock.
//
// A run is JSON with tables, because most entries of a run repeat what another one
// has: an entry names a text, a line and a state by its index.
package recording

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// Dir is where the runs of the site are, below the module.
const Dir = "docs/runs"

// RunFile is the file of a lock's run on the site, below the module.
func RunFile(lock, scenario, invariant string) string {
	return path.Join(Dir, lock, Name(scenario, invariant))
}

// Name is that of a run's file in a lock's directory. A scenario may have a run for
// each of its invariants.
func Name(scenario, invariant string) string {
	return path.Join(scenario, strings.ReplaceAll(invariant, " ", "-")+".json")
}

// Run is one run. Times are microseconds since the scenario began.
type Run struct {
	Lock      string   `json:"lock"`
	Scenario  string   `json:"scenario"`
	Invariant string   `json:"invariant"`
	Verdict   string   `json:"verdict"`
	Summary   string   `json:"summary"`          // what happens, in one or two sentences
	Event     string   `json:"event"`            // what broke the invariant
	Broken    int      `json:"broken"`           // the entry that broke it; -1: none
	Beside    []string `json:"beside,omitempty"` // locks whose run is worth a comparison
	Clients   []string `json:"clients"`
	Nodes     int      `json:"nodes"`
	Texts     []string `json:"texts"` // the first is empty
	Lines     []string `json:"lines"` // of the code, "gold/lock.go:45"; the first is empty
	States    []State  `json:"states"`
	Entries   []Entry  `json:"entries"`
	Folds     [][2]int `json:"folds,omitempty"` // see history.Folds
}

// State is what the nodes and the storage have, and who believes to hold the lock.
type State struct {
	Owner  string   `json:"owner"` // whose grant the lock is, by the nodes; "-": nobody's
	Inside []string `json:"inside,omitempty"`
	Leases []Lease  `json:"leases,omitempty"`
	Value  *int     `json:"value,omitempty"` // of the storage, where there is one
	Token  uint64   `json:"token,omitempty"` // the highest that the storage has seen
}

// Lease is what a node has of the lock's key.
type Lease struct {
	Node  int    `json:"node"`
	Owner string `json:"owner"`
	Value string `json:"value"`
	Ends  int64  `json:"ends,omitempty"` // 0: never
}

// Entry is a line of the timeline. In JSON it is an array of its fields.
type Entry struct {
	At     int64
	Client int // its index; -1: it befalls a node
	Node   int // its index; -1: none
	Text   int
	Reply  int
	Sent   int64 // of a command; else At
	Back   int64 // when its reply arrives; 0: never
	Line   int
	State  int
}

// MarshalJSON is an array of the fields, in their order.
func (e Entry) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d,%d,%d,%d,%d,%d,%d,%d]", e.At, e.Client, e.Node,
		e.Text, e.Reply, e.Sent, e.Back, e.Line, e.State), nil
}

// UnmarshalJSON is the reverse.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var at [9]int64
	if err := json.Unmarshal(text, &at); err != nil {
		return err
	}
	*e = Entry{at[0], int(at[1]), int(at[2]), int(at[3]), int(at[4]), at[5], at[6],
		int(at[7]), int(at[8])}
	return nil
}

// Fill gives a run its entries, and the tables that they name. Of what was recorded
// after the break it keeps nothing.
func (run *Run) Fill(entries []*history.Entry) {
	if run.Broken >= 0 {
		entries = entries[:run.Broken+1]
	}
	for _, e := range entries {
		if e.Client != "" && !slices.Contains(run.Clients, e.Client) {
			run.Clients = append(run.Clients, e.Client)
		}
		run.Nodes = max(run.Nodes, e.Node+1)
	}
	slices.Sort(run.Clients)
	texts, lines, states := NewTexts(), NewTexts(), &Table[State]{}
	for _, e := range entries {
		entry := Entry{At: e.At.Microseconds(), Node: e.Node,
			Client: slices.Index(run.Clients, e.Client),
			Text:   texts.Index(e.Text), Reply: texts.Index(e.Reply),
			Back: e.Back.Microseconds(), Line: lines.Index(e.Line),
			State: states.Index(StateAt(e))}
		entry.Sent = entry.At
		if e.Sent > 0 {
			entry.Sent = e.Sent.Microseconds()
		}
		run.Entries = append(run.Entries, entry)
	}
	run.Texts, run.Lines, run.States = texts.All, lines.All, states.All
	run.Folds = history.Folds(entries, func(int) bool { return false })
}

// StateAt is the state at an entry.
func StateAt(e *history.Entry) State {
	s := State{Owner: e.Owner, Inside: e.Inside}
	for _, l := range e.Leases {
		// The servers' clock has milliseconds; a finer end would be a state of its
		// own for each renewal that the run repeats.
		s.Leases = append(s.Leases, Lease{l.Node, l.Owner, l.Value,
			l.Ends.Round(time.Millisecond).Microseconds()})
	}
	if e.Stored != nil {
		s.Value, s.Token = &e.Stored.Value, e.Stored.Token
	}
	return s
}

// Table gives each value an index, in the order in which they come.
type Table[T any] struct {
	All   []T
	known map[string]int
}

// States is the table of a run's or of a graph's states.
type States = Table[State]

// NewTexts is a table of texts, of which the first one is empty.
func NewTexts() *Table[string] {
	return &Table[string]{All: []string{""}, known: map[string]int{`""`: 0}}
}

// Index is where a value is; it is added if it is new.
func (t *Table[T]) Index(value T) int {
	key, err := json.Marshal(value)
	if err != nil {
		panic(err) // it has only what JSON has
	}
	i, ok := t.known[string(key)]
	if !ok {
		if t.known == nil {
			t.known = map[string]int{}
		}
		i = len(t.All)
		t.known[string(key)] = i
		t.All = append(t.All, value)
	}
	return i
}
