package explore

import (
	"container/heap"
	"crypto/sha256"
	"errors"
	"math/big"
	"slices"
)

// state is a node of the state graph.
type state struct {
	number int
	from   *state // on the way by which it was reached at least cost
	by     action
	cost   cost
	todo   []action
	edges  []edge
	broken []Breach // what the state itself breaks
	in     []arrival
	seen   int      // by which look
	closed bool     // nothing is left to do here and behind
	ways   *big.Int // schedules from here to an end
}

// edge is an action from one state to another.
type edge struct {
	action  action
	to      *state
	broken  []Breach
	touched footprint
}

// arrival is an edge seen from its end.
type arrival struct {
	from *state
	by   action
}

// cost orders schedules: least of the adversary, then fewest steps.
type cost struct{ adversary, steps int }

func (c cost) less(d cost) bool {
	if c.adversary != d.adversary {
		return c.adversary < d.adversary
	}
	return c.steps < d.steps
}

func (c cost) plus(a action) cost {
	c.steps++
	if a.adversary() {
		c.adversary++
	}
	return c
}

// frontier are the states with something to do, the cheapest first.
type frontier []*state

func (f frontier) Len() int { return len(f) }
func (f frontier) Less(i, j int) bool {
	if f[i].cost == f[j].cost {
		return f[i].number < f[j].number
	}
	return f[i].cost.less(f[j].cost)
}
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)   { *f = append(*f, x.(*state)) }
func (f *frontier) Pop() any {
	old := *f
	s := old[len(old)-1]
	*f = old[:len(old)-1]
	return s
}

// path is how a state was reached.
func (s *state) path() []action {
	var actions []action
	for ; s.from != nil; s = s.from {
		actions = append(actions, s.by)
	}
	for i, j := 0, len(actions)-1; i < j; i, j = i+1, j-1 {
		actions[i], actions[j] = actions[j], actions[i]
	}
	return actions
}

// walker walks the state graph of a lock with one program.
type walker struct {
	run    *run
	walk   Walk
	states map[[sha256.Size]byte]*state
	all    []*state
	open   frontier
	looks  int
}

// search walks the whole graph. Each action is taken in a run of the real code, or
// it is known from another order of the same actions.
func search(r *run) (Walk, error) {
	w := &walker{run: r, states: map[[sha256.Size]byte]*state{}}
	w.walk = Walk{Program: r.program, Found: map[Invariant]Failure{}}
	err := w.runs()
	if err == nil {
		w.finish()
	}
	return w.walk, err
}

// runs makes runs until nothing is left to do.
func (w *walker) runs() error {
	if err := w.begin(nil); err != nil {
		return err
	}
	if err := w.on(w.visit(cost{}, w.run.key())); err != nil {
		return err
	}
	for s := w.next(); s != nil; s = w.next() {
		if err := w.begin(s.path()); err != nil {
			return err
		}
		if err := w.on(s); err != nil {
			return err
		}
		if len(w.all) > w.run.bounds.States {
			w.walk.Stopped = true
			return nil
		}
	}
	return nil
}

// next is the cheapest state with something left to do, or nil.
func (w *walker) next() *state {
	for len(w.open) > 0 {
		s := w.open[0]
		w.infer(s)
		if len(s.todo) > 0 {
			return s
		}
		heap.Pop(&w.open)
	}
	return nil
}

// begin starts a run and takes it to a state.
func (w *walker) begin(path []action) error {
	w.walk.Runs++
	if err := w.run.begin(); err != nil {
		return err
	}
	for _, a := range path {
		if err := w.take(a); err != nil {
			return err
		}
	}
	return nil
}

// on goes on from the state that the run is in for as long as there is something
// left to do behind it.
func (w *walker) on(s *state) error {
	for {
		way, to := w.nearest(s)
		if to == nil {
			return nil
		}
		for _, a := range way {
			if err := w.take(a); err != nil {
				return err
			}
		}
		s = to
		// Whether a timer does anything is best tried at once.
		i := 0
		if last := len(s.todo) - 1; s.todo[last].sign == timer {
			i = last
		}
		a := s.todo[i]
		s.todo = slices.Delete(s.todo, i, i+1)
		broken, err := w.run.take(a)
		w.walk.Actions++
		if errors.Is(err, errQuiet) {
			return nil
		}
		if err != nil {
			return err
		}
		for p := w.run.unsure(); p != nil; p = w.run.unsure() {
			w.run.finish(p)
			if err := w.begin(append(s.path(), a)); err != nil {
				return err
			}
		}
		key := w.run.key()
		to, known := w.states[key]
		if !known {
			to = w.visit(s.cost.plus(a), key)
			to.broken = w.run.broken()
			to.from, to.by = s, a
		}
		w.connect(s, edge{action: a, to: to, broken: broken,
			touched: w.run.touched})
		s = to
	}
}

// take repeats an action that was taken before.
func (w *walker) take(a action) error {
	w.walk.Actions++
	_, err := w.run.take(a)
	return err
}

// near is how many states nearest looks at: to begin anew costs about as much.
const near = 200

// nearest is the nearest state behind s with something left to do, and the way
// there; nil when there is none near.
func (w *walker) nearest(s *state) ([]action, *state) {
	w.looks++
	type step struct {
		from int
		by   action
		to   *state
	}
	steps := []step{{to: s}}
	s.seen = w.looks
	for i := 0; i < len(steps); i++ {
		at := steps[i].to
		if w.infer(at); len(at.todo) > 0 {
			var way []action
			for ; i > 0; i = steps[i].from {
				way = append(way, steps[i].by)
			}
			slices.Reverse(way)
			return way, at
		}
		if len(steps) > near {
			return nil, nil
		}
		for _, e := range at.edges {
			if e.to.seen != w.looks && !e.to.closed {
				e.to.seen = w.looks
				steps = append(steps, step{i, e.action, e.to})
			}
		}
	}
	for _, step := range steps {
		step.to.closed = true // and so is all that is behind it
	}
	return nil, nil
}

// visit makes a new state of the one that the run is in.
func (w *walker) visit(c cost, key [sha256.Size]byte) *state {
	s := &state{number: len(w.all), cost: c, todo: w.run.enabled()}
	w.states[key] = s
	w.all = append(w.all, s)
	heap.Push(&w.open, s)
	return s
}

func (w *walker) connect(s *state, e edge) {
	s.edges = append(s.edges, e)
	e.to.in = append(e.to.in, arrival{s, e.action})
}

// infer completes squares. When s was reached from q by action b, and a was taken
// in q as well and has nothing to do with b, then a leads from s to where b leads
// from there.
func (w *walker) infer(s *state) {
	s.todo = slices.DeleteFunc(s.todo, func(a action) bool {
		for _, in := range s.in {
			b, there := in.from.edge(in.by), in.from.edge(a)
			if there == nil || !there.touched.apart(b.touched) {
				continue
			}
			if other := there.to.edge(in.by); other != nil {
				w.connect(s, edge{action: a, to: other.to,
					broken: there.broken, touched: there.touched})
				w.walk.Inferred++
				return true
			}
		}
		return false
	})
}

// edge is the edge of an action, or nil.
func (s *state) edge(a action) *edge {
	for i := range s.edges {
		if s.edges[i].action == a {
			return &s.edges[i]
		}
	}
	return nil
}

// finish finds the cheapest failing schedules in the graph, and counts.
func (w *walker) finish() {
	for _, s := range w.all {
		s.cost, s.from = cost{1 << 30, 0}, nil
		w.walk.Edges += len(s.edges)
	}
	w.walk.States = len(w.all)
	w.walk.GaveUp = w.run.gaveUp
	w.all[0].cost = cost{}
	open := frontier{w.all[0]}
	settled := make([]bool, len(w.all))
	for len(open) > 0 {
		s := heap.Pop(&open).(*state)
		if settled[s.number] {
			continue
		}
		settled[s.number] = true
		for _, e := range s.edges {
			c := s.cost.plus(e.action)
			for _, b := range slices.Concat(e.broken, e.to.broken) {
				f, ok := w.walk.Found[b.Invariant]
				if ok && !c.less(cost{f.Adversary, f.Steps}) {
					continue
				}
				w.walk.Found[b.Invariant] = Failure{Program: w.run.program,
					Schedule: schedule(append(s.path(), e.action),
						w.run.bounds.Nodes),
					Adversary: c.adversary, Steps: c.steps, Event: b.Event}
			}
			if c.less(e.to.cost) {
				e.to.cost, e.to.from, e.to.by = c, s, e.action
				heap.Push(&open, e.to)
			}
		}
	}
	w.walk.Schedules = ways(w.all[0])
}

// ways counts the schedules from a state to an end.
func ways(s *state) *big.Int {
	if s.ways != nil {
		return s.ways
	}
	n := new(big.Int)
	if len(s.edges) == 0 {
		n.SetInt64(1)
	}
	for _, e := range s.edges {
		n.Add(n, ways(e.to))
	}
	s.ways = n
	return n
}

// end lets the last run's programs end.
func (r *run) end() {
	for _, p := range r.players {
		p.stop()
	}
	r.world.Rewind()
}
