package explore

// infer takes from the actions that are left to do in a state those whose ends are
// known without a run.
func (g *graph) infer(s *state) {
	if !g.reduced {
		return
	}
	var found []edge
	for _, a := range s.todo {
		e, known := g.across(s, a)
		if !known {
			e, known = g.elsewhere(s, a)
		}
		if known {
			found = append(found, e)
		}
	}
	for _, e := range found {
		g.inferred++
		g.join(s, e)
	}
}

// across uses that actions commute. When s was reached from q by action b, and a was
// taken in q as well, and neither touches what the other writes, then a leads from
// s to where b leads from there, and breaks the same.
func (g *graph) across(s *state, a action) (edge, bool) {
	for _, in := range s.in {
		from := g.all[in.from]
		b, beside := from.edge(in.by), from.edge(a)
		if beside == nil || !beside.touched.apart(b.touched) {
			continue
		}
		if across := g.all[beside.to].edge(in.by); across != nil {
			return edge{action: a, to: across.to, broken: beside.broken,
				touched: beside.touched}, true
		}
	}
	return edge{}, false
}

// learn keeps what such an action has done.
func (g *graph) learn(s *state, e edge) {
	client := int(e.action.client)
	mayWrite := mine(client) | beliefs | storages | listening
	if !g.reduced || !e.action.comes() || e.touched.writes&^mayWrite != 0 {
		return
	}
	part, to := client+1, g.all[e.to]
	for i := 1; i < len(s.parts); i++ {
		if i != part && to.parts[i] != s.parts[i] {
			return
		}
	}
	g.known[local{s.parts[0], s.parts[part], e.action}] = effect{to.parts[0],
		to.parts[part], e.broken, e.touched}
}

// elsewhere uses that what a client is told means nothing to the others. An action that
// was taken while they were at another point does the same here, and leaves them where
// they are. It says nothing when that leads to a state that no run has reached: only a
// run can tell which actions are possible there.
func (g *graph) elsewhere(s *state, a action) (edge, bool) {
	if !a.comes() {
		return edge{}, false
	}
	part := int(a.client) + 1
	e, known := g.known[local{s.parts[0], s.parts[part], a}]
	if !known {
		return edge{}, false
	}
	parts := append(make([]int32, 0, 8), s.parts...)
	parts[0], parts[part] = e.rest, e.client
	to := g.find(parts)
	if to == nil {
		return edge{}, false
	}
	return edge{action: a, to: to.number, broken: e.broken, touched: e.touched}, true
}
