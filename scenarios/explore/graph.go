package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/lockladder/lockladder/internal/site/recording"
)

type part [sha256.Size]byte

// stateKey stands for the state that a run is in: two runs in states of one key go on
// in the same way. It has a part for each client, and before them one for the rest.
type stateKey []part

// state is a node of the state graph.
type state struct {
	number int32
	parts  []int32  // of its key, by their numbers
	from   *state   // on the way that it was found on
	by     action   // and the last action of that
	todo   []action // actions that were not taken yet
	edges  []edge   // those that were
	broken []Breach // what the state itself breaks
	label  *label   // when it is recorded
}

// edge is an action from one state to another. States are numbers here: a large graph
// is mostly edges, and to follow pointers in it kept the garbage collector busy.
type edge struct {
	action action
	to     int32
	broken []Breach
	asked  asked
}

// asked is a request to the storage, and whether the storage refused its token.
type asked struct{ reads, writes, refused bool }

// breaks are what the action breaks, and what the state breaks that it leads to.
func (e *edge) breaks(all []*state) []Breach {
	if len(e.broken) == 0 {
		return all[e.to].broken
	}
	return slices.Concat(e.broken, all[e.to].broken)
}

// path is the way that a state was found on.
func (s *state) path() []action {
	var actions []action
	for ; s.from != nil; s = s.from {
		actions = append(actions, s.by)
	}
	slices.Reverse(actions)
	return actions
}

// graph is the state graph of a lock with one program, as far as it is known.
type graph struct {
	states map[string]*state // by their parts, see find
	parts  map[part]int32    // the parts of all keys, numbered
	known  map[local]effect  // what actions of one client did
	all    []*state
	next   int // before it no state has anything left to do

	reduced bool // see explore
}

func newGraph(reduced bool) *graph {
	return &graph{states: map[string]*state{}, parts: map[part]int32{},
		known: map[local]effect{}, reduced: reduced}
}

// number gives the parts of a key their numbers, which take less room.
func (g *graph) number(key stateKey) []int32 {
	numbers := make([]int32, len(key))
	for i, p := range key {
		numbers[i] = g.numberOf(p)
	}
	return numbers
}

func (g *graph) numberOf(p part) int32 {
	n, known := g.parts[p]
	if !known {
		n = int32(len(g.parts))
		g.parts[p] = n
	}
	return n
}

// find is the state with these parts, or nil.
func (g *graph) find(parts []int32) *state {
	return g.states[string(appendParts(make([]byte, 0, 64), parts))]
}

// keep lets find find a state.
func (g *graph) keep(s *state) { g.states[string(appendParts(nil, s.parts))] = s }

func appendParts(b []byte, parts []int32) []byte {
	for _, n := range parts {
		b = binary.NativeEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// join makes an edge of an action that was left to do.
func (g *graph) join(s *state, e edge) {
	if i := slices.Index(s.todo, e.action); i >= 0 {
		s.todo = slices.Delete(s.todo, i, i+1)
	}
	s.edges = append(s.edges, e)
}

// label is what a state looks like, for the players of a level.
type label struct {
	at    int // the clock, in milliseconds
	world recording.State
	does  []string // what each owner is about to do
	way   []way
}

// way is something under way between a client and a node.
type way struct {
	client, node int
	sign         byte // of the action that lets it arrive
	text, reply  string
	line         string // of the lock's code, that has sent the command
}

// local is an action of one client in a state, without what the state has of the other clients.
type local struct {
	rest, client int32 // parts of the state's key, by their numbers
	action       action
}

// effect is what such an action makes of the two parts, and what it breaks.
type effect struct {
	rest, client int32
	broken       []Breach
	asked        asked
}

// learn keeps what such an action has done.
func (g *graph) learn(s *state, e edge) {
	part, to := int(e.action.client)+1, g.all[e.to]
	if !g.reduced || !e.action.comes() {
		return
	}
	for i := 1; i < len(s.parts); i++ {
		if i != part && to.parts[i] != s.parts[i] {
			return
		}
	}
	g.known[local{s.parts[0], s.parts[part], e.action}] = effect{to.parts[0],
		to.parts[part], e.broken, e.asked}
}

// infer takes from the actions that are left to do in a state those whose ends are
// known without a run: what a client is told means nothing to the others. An action that
// was taken while they were at another point does the same here, and leaves them where
// they are. It says nothing when that leads to a state that no run has reached: only a
// run can tell which actions are possible there.
func (g *graph) infer(s *state) {
	if !g.reduced {
		return
	}
	for _, a := range slices.Clone(s.todo) {
		if a.moves() {
			continue
		}
		part := int(a.client) + 1
		e, known := g.known[local{s.parts[0], s.parts[part], a}]
		if !known {
			continue
		}
		parts := slices.Clone(s.parts)
		parts[0], parts[part] = e.rest, e.client
		if to := g.find(parts); to != nil {
			g.join(s, edge{action: a, to: to.number, broken: e.broken, asked: e.asked})
		}
	}
}
