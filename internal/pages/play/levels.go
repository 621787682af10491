package play

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// LevelDir is where the state graphs are in which the reader is the scheduler, below
// the module.
const LevelDir = "docs/levels"

// LevelFile is the file of a lock's graph, below the module.
func LevelFile(lock string) string { return path.Join(LevelDir, lock+".json") }

// Level asks the reader to break an invariant of a lock, or to claim that no schedule
// does.
type Level struct {
	Lock      string            `json:"lock"`
	Invariant explore.Invariant `json:"invariant"`
	Title     string            `json:"title"`
	Ask       string            `json:"ask"`
}

// Levels are in the order of the workshop: from bronze's orphan to fenced's proof.
var Levels = []Level{
	{"bronze", explore.Orphaned, "The holder crashes",
		"Can a client leave the key behind so that nobody ever gets the lock again?"},
	{"silver", explore.Orphaned, "Between two commands",
		"A second command gives the key a lease. Can the lock still be orphaned?"},
	{"silver", explore.TwoHolders, "Two inside",
		"Can both clients believe that they hold the lock?"},
	{"gold", explore.TwoHolders, "The lease ends first",
		"One command takes the lock and sets its lease. Can both believe that they" +
			" hold it?"},
	{"gold", explore.ForeignRelease, "Another client's key",
		"Can a client delete the other one's lock?"},
	{"gold", explore.LostUpdate, "What it costs",
		"Can one client's write to the storage disappear?"},
	{"platinum", explore.Orphaned, "A crash, again",
		"The value is a token now. Can a crash block the lock forever?"},
	{"platinum", explore.ForeignRelease, "First look, then delete",
		"The holder reads the token before it deletes the key. Can it delete the" +
			" other one's lock?"},
	{"diamond", explore.ForeignRelease, "One script",
		"One script compares the token and deletes the key. Can a client delete the" +
			" other one's lock?"},
	{"diamond", explore.LostUpdate, "The work outlives the lease",
		"Can one client's write to the storage disappear?"},
	{"diamond/watchdog", explore.TwoHolders, "The process stops",
		"A watchdog renews the lease and reports its loss. Can both believe that" +
			" they hold the lock?"},
	{"reentrant", explore.ForeignRelease, "Levels are counted",
		"The key is a hash with a count. Can a client free the other one's lock?"},
	{"reentrant", explore.StaleWrite, "A write that comes late",
		"Can a client write after the next holder has used the storage?"},
	{"reentrant/fenced", explore.TwoHolders, "A fence is not a lock",
		"Each grant has a number now. Can both believe that they hold the lock?"},
	{"reentrant/fenced", explore.StaleWrite, "The storage says no",
		"The storage refuses a number that is older than one it has seen. Can a" +
			" late write be accepted?"},
}

// Goal is what the explorer found out about an invariant.
type Goal struct {
	Invariant explore.Invariant `json:"invariant"`
	Schedule  string            `json:"schedule"` // the cheapest; "": none breaks it
	Adversary int               `json:"adversary"`
	Steps     int               `json:"steps"`
	Failing   string            `json:"failing"` // how many schedules break it
}

// Graph is a lock's state graph as the site reads it.
type Graph struct {
	Lock      string   `json:"lock"`
	Program   string   `json:"program"`
	Bounds    string   `json:"bounds"`
	Schedules string   `json:"schedules"` // how many there are
	Clients   []string `json:"clients"`
	Nodes     int      `json:"nodes"`
	Goals     []Goal   `json:"goals"`
	Texts     []string `json:"texts"` // the first is empty
	Worlds    []State  `json:"worlds"`

	// States have the clock in milliseconds, the index of the world, that of what
	// each client does, and six numbers for each thing under way: client, node, and
	// the indices of the sign, the text, the reply and the line.
	States [][]int `json:"states"`

	// Edges have, for each state, three numbers for each action: the index of its
	// text, the state that it leads to, and a bit for each goal that it breaks.
	Edges [][]int `json:"edges"`
}

// Draw is the graph of a lock that was drawn, with what the explorer found in the
// same bounds.
func Draw(lock string, nodes int, drawn explore.Graph, found explore.Report) *Graph {
	walk := found.Walks[0]
	g := &Graph{Lock: lock, Program: string(walk.Program), Nodes: nodes,
		Bounds: found.Bounds.String(), Schedules: walk.Schedules().String(),
		Texts: []string{""}}
	bits := map[explore.Invariant]int{}
	for i, invariant := range found.Judged() {
		f, broken := walk.Found[invariant]
		_, failing := walk.Share(invariant)
		goal := Goal{invariant, f.Schedule, f.Adversary, f.Steps, failing.String()}
		if !broken {
			goal.Schedule = ""
		}
		g.Goals = append(g.Goals, goal)
		bits[invariant] = 1 << i
	}
	for _, c := range drawn.States[0].Clients {
		g.Clients = append(g.Clients, c.Name)
	}
	texts, worlds := map[string]int{"": 0}, map[string]int{}
	text := func(s string) int { return index(texts, &g.Texts, s) }
	for _, s := range drawn.States {
		world := stateAt(&history.Entry{Inside: s.Believed, Leases: s.Leases,
			Stored: s.Storage})
		key, err := json.Marshal(world)
		if err != nil {
			panic(err) // it has only what JSON has
		}
		at, known := worlds[string(key)]
		if !known {
			at = len(g.Worlds)
			worlds[string(key)] = at
			g.Worlds = append(g.Worlds, world)
		}
		state := []int{int(s.At*1000 + 0.5), at}
		for _, c := range s.Clients {
			state = append(state, text(c.Does))
		}
		for _, w := range s.Way {
			state = append(state, w.Client, w.Node, text(w.Sign), text(w.Text),
				text(w.Reply), text(w.Line))
		}
		g.States = append(g.States, state)
	}
	g.Edges = make([][]int, len(g.States))
	for _, e := range drawn.Edges {
		mask := 0
		for _, invariant := range slices.Concat(e.Broken, drawn.States[e.To].Breaks) {
			mask |= bits[invariant]
		}
		g.Edges[e.From] = append(g.Edges[e.From], text(e.Action), e.To, mask)
	}
	for i := range g.Edges {
		if g.Edges[i] == nil {
			g.Edges[i] = []int{}
		}
	}
	return g
}

// JSON is the graph with a line for each state and for the edges of each.
func (g *Graph) JSON() (string, error) {
	var b bytes.Buffer
	compact, err := json.Marshal(g)
	if err != nil {
		return "", err
	}
	inLines(&b, compact)
	return b.String(), nil
}

// String is the level as a list has it.
func (l Level) String() string {
	return fmt.Sprintf("%s: %s of %s", l.Title, l.Invariant, l.Lock)
}
