package explore

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/lock"
)

// Graph is the state graph of a lock with one program. The first state is the
// beginning; a state without edges is an end.
type Graph struct {
	Program Program  `json:"program"`
	Stopped bool     `json:"stopped"` // at the bound on states, before the end
	States  []Label  `json:"states"`
	Edges   []Labels `json:"edges"`
}

// Label is what a state looks like.
type Label struct {
	At       float64       `json:"at"`       // the clock, in seconds
	Clients  []ClientLabel `json:"clients"`  // in the order of their names
	Nodes    []string      `json:"nodes"`    // what they hold, a line a key
	Believed []string      `json:"believed"` // who believes to hold the lock
	Broken   []Invariant   `json:"broken"`   // by the state, or by the way to it
	Breaks   []Invariant   `json:"breaks"`   // by the state itself, whatever led to it

	// For programs: the facts that a person reads in the lines above.
	Way     []Way           `json:"way"`     // what is under way, the oldest first
	Leases  []history.Lease `json:"leases"`  // what the nodes have of the lock's key
	Storage *history.Stored `json:"storage"` // what the storage holds
}

// Way is something under way between a client and a node.
type Way struct {
	Client int    `json:"client"` // its index
	Node   int    `json:"node"`
	Sign   string `json:"sign"`  // that of the action that lets it arrive: ">", "?", "<", "~"
	Text   string `json:"text"`  // the command, or the message
	Reply  string `json:"reply"` // of a reply: what it says
	Line   string `json:"line"`  // of the lock's code, that has sent the command
}

// ClientLabel is what a client is about to do.
type ClientLabel struct {
	Name  string   `json:"name"`
	Does  string   `json:"does"`   // its program
	OnWay []string `json:"on_way"` // its commands and replies that are under way
}

// Labels is an action from one state to another.
type Labels struct {
	From   int         `json:"from"`
	To     int         `json:"to"`
	Action string      `json:"action"` // as in a schedule
	Broken []Invariant `json:"broken"` // by the action

	// Of a request to the storage: what it is, and whether its token was refused.
	Reads   bool `json:"reads,omitempty"`
	Writes  bool `json:"writes,omitempty"`
	Refused bool `json:"refused,omitempty"`
}

// Draw walks like Run and returns the state graphs, one for each program, as JSON
// with a line a state and a line an edge. The bytes are the same in every run.
func Draw(t *testing.T, build lock.Build, bounds Bounds) [][]byte {
	t.Helper()
	report, err := explore(t, build, bounds, true, draw)
	if err != nil {
		t.Fatal(err)
	}
	var graphs [][]byte
	for _, walk := range report.Walks {
		graphs = append(graphs, walk.drawn.lines())
	}
	return graphs
}

// draw searches and draws the graph.
func draw(r *run) (Walk, error) {
	r.draws, r.beside = true, nil // only this world describes its states
	walk, err := search(r)
	if err == nil {
		walk.drawn = walk.draw()
	}
	return walk, err
}

// label describes the state that the run is in.
func (r *run) label() *Label {
	l := &Label{At: r.world.Now().Seconds(), Nodes: r.control.holds(),
		Believed: []string{}}
	l.Believed = append(l.Believed, r.world.Log().Believers()...)
	l.Leases, l.Storage = r.world.Log().Leases(), r.world.Log().Stored()
	l.Way = r.ways()
	for _, p := range r.players {
		c := ClientLabel{Name: p.owner, Does: p.doing, OnWay: []string{}}
		switch {
		case p.Dead():
			c.Does = "is dead"
		case p.Asleep():
			c.Does = "is stopped: " + p.doing
		}
		for _, f := range r.flights {
			if f.client == p.client {
				text := f.text
				if f.kind == aReply {
					text = "reply to " + text
				}
				c.OnWay = append(c.OnWay, text)
			}
		}
		l.Clients = append(l.Clients, c)
	}
	return l
}

// ways is what is under way. Of what comes on one connection only the first can
// arrive, so only that is counted.
func (r *run) ways() []Way {
	ways := []Way{}
	for _, f := range r.flights {
		if f.behind {
			continue
		}
		w := Way{Client: r.index(f.client), Node: f.node, Text: f.text,
			Line: f.client.Line(f.pass.args)}
		switch {
		case f.kind == aReply:
			w.Sign = string(rune(reply))
			w.Reply = r.world.Names().Reply(f.client.Name, f.pass.raw)
		case f.kind == aMessage:
			w.Sign = string(rune(message))
		case f.stray:
			w.Sign = string(rune(stray))
		default:
			w.Sign = string(rune(request))
		}
		ways = append(ways, w)
	}
	return ways
}

// draw writes the graph down. States are numbered in the order of breadth.
func (w Walk) draw() Graph {
	numbers := map[int32]int{0: 0}
	order := []*state{w.graph[0]}
	for i := 0; i < len(order); i++ {
		for _, e := range order[i].edges {
			if _, known := numbers[e.to]; !known {
				numbers[e.to] = len(order)
				order = append(order, w.graph[e.to])
			}
		}
	}
	g := Graph{Program: w.Program, Stopped: w.Stopped}
	for _, s := range order {
		label := *s.label
		label.Breaks = invariants(s.broken)
		broken := slices.Clone(s.broken)
		for _, in := range s.in {
			broken = append(broken, w.graph[in.from].edge(in.by).broken...)
		}
		label.Broken = invariants(broken)
		g.States = append(g.States, label)
		for _, e := range s.edges {
			g.Edges = append(g.Edges, Labels{From: numbers[s.number], To: numbers[e.to],
				Action: e.action.write(w.bounds.Nodes),
				Broken: invariants(e.broken), Reads: e.touched.asked.reads,
				Writes: e.touched.asked.writes, Refused: e.touched.asked.refused})
		}
	}
	return g
}

// invariants are the distinct invariants of breaches, in the order of Invariants.
func invariants(broken []Breach) []Invariant {
	list := []Invariant{}
	for _, invariant := range Invariants {
		if breaks(invariant)(broken) {
			list = append(list, invariant)
		}
	}
	return list
}

// lines writes the graph with a line for each state and each edge.
func (g Graph) lines() []byte {
	head, _ := json.Marshal(struct {
		Schema  int     `json:"schema"`
		Program Program `json:"program"`
		Stopped bool    `json:"stopped"`
	}{1, g.Program, g.Stopped})
	out := append(head[:len(head)-1], ",\n\"states\":[\n"...)
	for i, s := range g.States {
		out = line(out, s, i == len(g.States)-1)
	}
	out = append(out, "],\n\"edges\":[\n"...)
	for i, e := range g.Edges {
		out = line(out, e, i == len(g.Edges)-1)
	}
	return append(out, "]}\n"...)
}

func line(out []byte, v any, last bool) []byte {
	text, _ := json.Marshal(v)
	out = append(out, text...)
	if !last {
		out = append(out, ',')
	}
	return append(out, '\n')
}
