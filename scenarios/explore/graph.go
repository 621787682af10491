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

	reduced  bool // see explore
	inferred int  // edges known from other edges
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
