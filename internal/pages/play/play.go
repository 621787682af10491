// Package play writes the recorded run of a scenario as the site's player reads
// it: who did what when, from which line of the lock's code, and what the nodes and
// the storage had then.
//
// A run is JSON with tables, because most entries of a run repeat what another one
// has: an entry names a text, a line and a state by its index.
package play

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/scenarios"
)

// Dir is where the runs are, below the module.
const Dir = "docs/runs"

// File is the file of a lock's run, below the module. A scenario may have a run for
// each of its invariants.
func File(lock, scenario, invariant string) string {
	return path.Join(Dir, lock, scenario,
		strings.ReplaceAll(invariant, " ", "-")+".json")
}

// Run is one run. Times are microseconds since the scenario began.
type Run struct {
	Lock      string   `json:"lock"`
	Scenario  string   `json:"scenario"`
	Invariant string   `json:"invariant"`
	Verdict   string   `json:"verdict"`
	Summary   string   `json:"story"`            // what happens, in one or two sentences
	Event     string   `json:"event"`            // what broke the invariant
	Broken    int      `json:"broken"`           // the entry that broke it; -1: none
	Beside    []string `json:"beside,omitempty"` // locks whose run is worth a comparison
	Clients   []string `json:"clients"`
	Nodes     int      `json:"nodes"`
	Texts     []string `json:"texts"` // the first is empty
	Lines     []string `json:"lines"` // of the code, "gold/lock.go:45"; the first is empty
	States    []State  `json:"states"`
	Entries   []Entry  `json:"entries"`
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

// Of is a lock's run of a scenario, and the locks to show beside it. Of what was recorded after a break it keeps
// nothing.
func Of(lock string, r scenarios.Result, beside ...string) *Run {
	run := &Run{Lock: lock, Scenario: r.Scenario, Invariant: r.Invariant, Beside: beside,
		Verdict: string(r.Verdict), Event: r.Event, Broken: r.BrokenAt,
		Texts: []string{""}, Lines: []string{""}}
	for _, s := range scenarios.Catalogue {
		if s.Name == r.Scenario {
			run.Summary = s.Summary
		}
	}
	entries := r.Sequence
	if r.BrokenAt >= 0 {
		entries = entries[:r.BrokenAt+1]
	}
	for _, e := range entries {
		if e.Client != "" && !slices.Contains(run.Clients, e.Client) {
			run.Clients = append(run.Clients, e.Client)
		}
		run.Nodes = max(run.Nodes, e.Node+1)
	}
	slices.Sort(run.Clients)
	texts, lines, states := map[string]int{"": 0}, map[string]int{"": 0},
		map[string]int{}
	for _, e := range entries {
		entry := Entry{At: e.At.Microseconds(), Node: e.Node,
			Client: slices.Index(run.Clients, e.Client),
			Text:   index(texts, &run.Texts, e.Text),
			Reply:  index(texts, &run.Texts, e.Reply),
			Back:   e.Back.Microseconds(), Line: index(lines, &run.Lines, e.Line)}
		entry.Sent = entry.At
		if e.Sent > 0 {
			entry.Sent = e.Sent.Microseconds()
		}
		state := stateAt(e)
		key, err := json.Marshal(state)
		if err != nil {
			panic(err) // it has only what JSON has
		}
		at, known := states[string(key)]
		if !known {
			at = len(run.States)
			states[string(key)] = at
			run.States = append(run.States, state)
		}
		entry.State = at
		run.Entries = append(run.Entries, entry)
	}
	return run
}

// index is where a text is in a table; it is added if it is new.
func index(known map[string]int, table *[]string, text string) int {
	i, ok := known[text]
	if !ok {
		i = len(*table)
		known[text] = i
		*table = append(*table, text)
	}
	return i
}

func stateAt(e *history.Entry) State {
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

// JSON is the run with a line for each text, state and entry, so that a change can
// be read.
func (r *Run) JSON() (string, error) {
	compact, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	inLines(&b, compact)
	return b.String(), nil
}

// inLines writes JSON with a line for each element of the tables in it.
func inLines(b *bytes.Buffer, compact []byte) {
	depth, quoted, escaped := 0, false, false
	for _, c := range compact {
		switch {
		case quoted:
			quoted = c != '"' || escaped
			escaped = c == '\\' && !escaped
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		b.WriteByte(c)
		if !quoted && c == ',' && depth <= 2 {
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
}
