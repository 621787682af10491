package explore

import "slices"

// local is an action of one client in a state, without what the state has of the other
// clients.
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
			g.inferred++
			g.join(s, edge{action: a, to: to.number, broken: e.broken, asked: e.asked})
		}
	}
}
