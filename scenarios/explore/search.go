package explore

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
)

// state is a node of the state graph.
type state struct {
	number int
	key    stateKey
	cost   cost   // of the cheapest way here that is known
	from   *state // and the last action on it
	by     action
	todo   []action // actions that were not taken yet
	edges  []edge   // those that were
	in     []arrival
	broken []Breach // what the state itself breaks
	label  *Label   // for people, when a graph is drawn

	seen   int // by which look of nearest
	closed int // below this level nothing is left to do here and behind
}

// stateKey is a state's key: a number for each part of it.
type stateKey string

// width is how many bytes such a number has.
const width = 4

// part is the number of a part.
func (k stateKey) part(i int) stateKey { return k[i*width:][:width] }

// join is the key of the state that two actions lead to which do not touch what
// the other one writes, from the keys of the states before both, after the one, and
// after the other. It is false when both have changed the same part.
func join(before, one, other stateKey) (stateKey, bool) {
	both := make([]byte, 0, len(before))
	for i := 0; i < len(before); i += width {
		part := before[i : i+width]
		switch {
		case one[i:i+width] == part:
			both = append(both, other[i:i+width]...)
		case other[i:i+width] == part:
			both = append(both, one[i:i+width]...)
		default:
			return "", false
		}
	}
	return stateKey(both), true
}

// edge is an action from one state to another.
type edge struct {
	action  action
	to      *state
	broken  []Breach
	touched footprint
}

// breaks are what the action breaks, and what the state breaks that it leads to.
func (e *edge) breaks() []Breach { return slices.Concat(e.broken, e.to.broken) }

// arrival is an edge seen from its end.
type arrival struct {
	from *state
	by   action
}

// cost orders schedules: least of the adversary, then fewest steps.
type cost struct{ adversary, steps int }

func (c cost) compare(d cost) int {
	return cmp.Or(cmp.Compare(c.adversary, d.adversary),
		cmp.Compare(c.steps, d.steps))
}

func (c cost) plus(a action) cost {
	c.steps++
	if a.adversary() {
		c.adversary++
	}
	return c
}

// frontier are states, the cheapest first.
type frontier []*state

func (f frontier) Len() int { return len(f) }
func (f frontier) Less(i, j int) bool {
	return cmp.Or(f[i].cost.compare(f[j].cost),
		cmp.Compare(f[i].number, f[j].number)) < 0
}
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)   { *f = append(*f, x.(*state)) }
func (f *frontier) Pop() any {
	last := len(*f) - 1
	s := (*f)[last]
	*f = (*f)[:last]
	return s
}

// path is the cheapest way to a state that is known.
func (s *state) path() []action {
	var actions []action
	for ; s.from != nil; s = s.from {
		actions = append(actions, s.by)
	}
	slices.Reverse(actions)
	return actions
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

// walker walks the state graph of a lock with one program.
type walker struct {
	run    *run
	walk   Walk
	states map[stateKey]*state
	texts  map[string]uint32 // the parts of keys, and their numbers
	facts  []any             // what a part says: a number, a ground, a standing
	all    []*state
	open   frontier
	later  []*state // what is left to do there takes more of the adversary
	looks  int
	level  int      // how much of the adversary is looked at
	taken  []action // in this run
}

// search walks the whole graph. An action is taken in a run of the real code, from
// the first command on, or what it leads to is known from the other order of two
// actions that do not touch each other.
func search(r *run) (Walk, error) {
	w := &walker{run: r, states: map[stateKey]*state{}, texts: map[string]uint32{}}
	w.walk = Walk{Program: r.program, bounds: r.bounds}
	if err := w.runs(); err != nil {
		return w.walk, err
	}
	w.walk.States, w.walk.GaveUp = len(w.all), r.gaveUp
	w.walk.graph = w.all
	for _, s := range w.all {
		w.walk.Edges += len(s.edges)
	}
	return w.walk, nil
}

// runs makes runs until nothing is left to do.
func (w *walker) runs() error {
	if err := w.begin(nil); err != nil {
		return err
	}
	if err := w.on(w.visit(cost{}, w.key())); err != nil {
		return err
	}
	for s := w.next(); s != nil; s = w.next() {
		if len(w.all) >= w.run.bounds.States {
			w.walk.Stopped = true
			return nil
		}
		if err := w.begin(s.path()); err != nil {
			return err
		}
		if w.key() != s.key {
			return w.in(errDiverged)
		}
		if err := w.on(s); err != nil {
			return err
		}
	}
	return nil
}

// key is the key of the state that the run is in.
func (w *walker) key() stateKey {
	var numbers []byte
	r := w.run
	for i, text := range r.key() {
		n, known := w.texts[text]
		if !known {
			n = uint32(len(w.texts))
			w.texts[text] = n
			var fact any
			client := i - fixed - r.bounds.Nodes
			switch {
			case i >= expiriesPart && i < fixed:
				fact, _ = strconv.Atoi(text)
			case i == fixed:
				fact = r.ground()
			case client >= 0 && client < len(r.players):
				fact = r.standing(r.players[client])
			}
			w.facts = append(w.facts, fact)
		}
		numbers = binary.LittleEndian.AppendUint32(numbers, n)
	}
	return stateKey(numbers)
}

// part is what a part of a key says.
func (w *walker) part(k stateKey, i int) any {
	return w.facts[binary.LittleEndian.Uint32([]byte(k[i*width:][:width]))]
}

// compose makes a state without a run, from the two that have made its key: what a
// client can do there it can do in the one that has its part of the key, unless the
// budget is used. It is nil where more than that has a say in what is possible.
func (w *walker) compose(c cost, k stateKey, one, other *state) *state {
	r, b := w.run, w.run.bounds
	if b.Nodes > 1 || b.Timers+b.Strays+b.Pauses > 0 || r.draws ||
		len(w.all) >= b.States {
		return nil
	}
	clients := make([]standing, len(r.players))
	var todo []action
	busy := false
	for i := range clients {
		at := fixed + b.Nodes + i
		clients[i] = w.part(k, at).(standing)
		busy = busy || !clients[i].dead && !clients[i].done
		from := one
		if one.key.part(at) != k.part(at) {
			from = other
		}
		add := func(a action) {
			if a.sign != leaseUp && int(a.client) == i &&
				(a.sign != lose || w.part(k, lostPart).(int) < b.LostReplies) &&
				(a.sign != crash || w.part(k, crashesPart).(int) < b.Crashes) {
				todo = append(todo, a)
			}
		}
		for _, e := range from.edges {
			add(e.action)
		}
		for _, a := range from.todo {
			add(a)
		}
	}
	g := w.part(k, fixed).(ground)
	if busy && g.leased && w.part(k, expiriesPart).(int) < b.Expiries {
		todo = append(todo, action{sign: leaseUp})
	}
	slices.SortFunc(todo, action.compare)
	todo = slices.Compact(todo) // an edge of s may be new
	return w.add(&state{key: k, cost: c, todo: todo, broken: broken(g, clients)})
}

// next is the cheapest state with something left to do, or nil. What takes more of
// the adversary waits until everything is known that takes less: most of it is
// known from other orders then.
func (w *walker) next() *state {
	for {
		for len(w.open) > 0 {
			s := w.open[0]
			w.run.world.Busy()
			if w.ripe(s) >= 0 {
				return s
			}
			heap.Pop(&w.open)
			if len(s.todo) > 0 {
				w.later = append(w.later, s)
			}
		}
		if len(w.later) == 0 {
			return nil
		}
		w.open, w.later = w.later, nil
		heap.Init(&w.open)
		w.level++
	}
}

// ripe is the index of the first thing left to do at a state that takes no more of
// the adversary than is looked at, or -1.
func (w *walker) ripe(s *state) int {
	if s.cost.adversary > w.level {
		return -1
	}
	w.infer(s)
	// Whether a timer does anything is best tried at once.
	if last := len(s.todo) - 1; last >= 0 && s.todo[last].sign == timer &&
		s.cost.adversary < w.level {
		return last
	}
	return slices.IndexFunc(s.todo, func(a action) bool {
		return s.cost.plus(a).adversary <= w.level
	})
}

// begin starts a run and takes it to a state.
func (w *walker) begin(path []action) error {
	w.walk.Runs++
	w.taken = w.taken[:0]
	if err := w.run.begin(); err != nil {
		return err
	}
	for _, a := range path {
		if _, err := w.take(a); err != nil {
			return err
		}
	}
	return nil
}

// take takes an action.
func (w *walker) take(a action) ([]Breach, error) {
	w.walk.Steps++
	w.taken = append(w.taken, a)
	broken, err := w.run.take(a)
	if err != nil && !errors.Is(err, errQuiet) {
		err = w.in(err)
	}
	return broken, err
}

// in says in which schedule something went wrong.
func (w *walker) in(err error) error {
	return fmt.Errorf("%w, in the schedule %s", err,
		schedule(w.run.program, w.run.bounds, w.taken))
}

// on goes on from the state that the run is in for as long as there is something
// left to do behind it.
func (w *walker) on(s *state) error {
	for {
		way, to := w.nearest(s)
		if to == nil || len(w.all) >= w.run.bounds.States {
			return nil
		}
		for _, a := range way {
			if _, err := w.take(a); err != nil {
				return err
			}
		}
		s = to
		i := w.ripe(s)
		a := s.todo[i]
		s.todo = slices.Delete(s.todo, i, i+1)
		broken, err := w.take(a)
		if errors.Is(err, errQuiet) {
			return nil
		}
		if err != nil {
			return err
		}
		touched := w.run.touched
		for p := w.run.unsure(); p != nil; p = w.run.unsure() {
			w.run.finish(p)
			if err := w.begin(append(s.path(), a)); err != nil {
				return err
			}
		}
		key := w.key()
		to, known := w.states[key]
		if !known {
			to = w.visit(s.cost.plus(a), key)
			to.from, to.by = s, a
		}
		w.connect(s, edge{action: a, to: to, broken: broken, touched: touched})
		s = to
	}
}

// near is how many states nearest looks at: to begin anew costs about as much.
const near = 200

// nearest is the nearest state behind s, or s, with something left to do, and the
// way there; nil when there is none near.
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
		if w.ripe(at) >= 0 {
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
			if e.to.seen != w.looks && e.to.closed <= w.level {
				e.to.seen = w.looks
				steps = append(steps, step{i, e.action, e.to})
			}
		}
	}
	for _, step := range steps {
		step.to.closed = w.level + 1 // and so is all that is behind it
	}
	return nil, nil
}

// visit makes a new state of the one that the run is in.
func (w *walker) visit(c cost, key stateKey) *state {
	s := &state{key: key, cost: c, todo: w.run.enabled(), broken: w.run.broken()}
	if w.run.draws {
		s.label = w.run.label()
	}
	return w.add(s)
}

func (w *walker) add(s *state) *state {
	s.number = len(w.all)
	w.states[s.key] = s
	w.all = append(w.all, s)
	heap.Push(&w.open, s)
	return s
}

func (w *walker) connect(s *state, e edge) {
	s.edges = append(s.edges, e)
	e.to.in = append(e.to.in, arrival{s, e.action})
}

// infer completes squares. When s was reached from q by action b, and a was taken
// in q as well, and neither touches what the other writes, then a leads from s to
// where b leads from there, and breaks the same. Nobody needs to have been there:
// what a has changed is known, and what b has.
func (w *walker) infer(s *state) {
	if !w.run.reduced {
		return
	}
	// compose looks at what is left to do here meanwhile.
	s.todo = slices.DeleteFunc(slices.Clone(s.todo), func(a action) bool {
		for _, in := range s.in {
			b, beside := in.from.edge(in.by), in.from.edge(a)
			if beside == nil || !beside.touched.apart(b.touched) {
				continue
			}
			var to *state
			if across := beside.to.edge(in.by); across != nil {
				to = across.to
			} else if both, ok := join(in.from.key, s.key, beside.to.key); ok {
				if to = w.states[both]; to == nil {
					to = w.compose(s.cost.plus(a), both, s, beside.to)
					if to != nil {
						to.from, to.by = s, a
					}
				}
			}
			if to != nil {
				w.connect(s, edge{action: a, to: to, broken: beside.broken,
					touched: beside.touched})
				w.walk.Inferred++
				return true
			}
		}
		return false
	})
}

// cheapest finds the cheapest schedule in the graph that breaks each invariant,
// and of several the first in the order of actions.
func cheapest(walk Walk) map[Invariant]Failure {
	all := walk.graph
	found := map[Invariant]Failure{}
	paths := map[Invariant][]action{}
	const far = 1 << 30
	for _, s := range all {
		s.cost, s.from = cost{adversary: far}, nil
		slices.SortFunc(s.edges, func(a, b edge) int {
			return a.action.compare(b.action)
		})
	}
	all[0].cost = cost{}
	settled := make([]bool, len(all))
	open := frontier{all[0]}
	for len(open) > 0 {
		s := heap.Pop(&open).(*state)
		if settled[s.number] {
			continue
		}
		settled[s.number] = true
		for _, e := range s.edges {
			c := s.cost.plus(e.action)
			better := func(d cost, path func() []action) bool {
				if order := c.compare(d); order != 0 {
					return order < 0
				}
				return slices.CompareFunc(append(s.path(), e.action), path(),
					action.compare) < 0
			}
			for _, b := range e.breaks() {
				f, ok := found[b.Invariant]
				if ok && !better(cost{f.Adversary, f.Steps}, func() []action {
					return paths[b.Invariant]
				}) {
					continue
				}
				path := append(s.path(), e.action)
				paths[b.Invariant] = path
				found[b.Invariant] = Failure{
					Schedule:  schedule(walk.Program, walk.bounds, path),
					Adversary: c.adversary, Steps: c.steps, Event: b.Event}
			}
			if !settled[e.to.number] && better(e.to.cost, e.to.path) {
				e.to.cost, e.to.from, e.to.by = c, s, e.action
				heap.Push(&open, e.to)
			}
		}
	}
	return found
}

// count counts the schedules from the beginning to an end, and those of them that
// break nothing of what is asked.
func count(all []*state, breaks func([]Breach) bool) (schedules, whole *big.Int) {
	type ways struct{ all, whole *big.Int }
	known := make([]*ways, len(all))
	var from func(s *state) *ways
	from = func(s *state) *ways {
		if known[s.number] != nil {
			return known[s.number]
		}
		n := &ways{new(big.Int), new(big.Int)}
		if len(s.edges) == 0 {
			n.all.SetInt64(1)
			n.whole.SetInt64(1)
		}
		for _, e := range s.edges {
			behind := from(e.to)
			n.all.Add(n.all, behind.all)
			if !breaks(e.breaks()) {
				n.whole.Add(n.whole, behind.whole)
			}
		}
		known[s.number] = n
		return n
	}
	n := from(all[0])
	return n.all, n.whole
}

// chance is how likely a scheduler that picks each action at random is to make a
// schedule that breaks what is asked.
func chance(all []*state, breaks func([]Breach) bool) float64 {
	known := make([]float64, len(all))
	done := make([]bool, len(all))
	var from func(s *state) float64
	from = func(s *state) float64 {
		if done[s.number] {
			return known[s.number]
		}
		sum := 0.0
		for _, e := range s.edges {
			if breaks(e.breaks()) {
				sum++
			} else {
				sum += from(e.to)
			}
		}
		if len(s.edges) > 0 {
			sum /= float64(len(s.edges))
		}
		known[s.number], done[s.number] = sum, true
		return sum
	}
	return from(all[0])
}

// plain takes every schedule in a run of its own, one after the other, and knows
// no states; its Runs are the schedules. It stops after so many, if that is not 0.
// It is what search is tested against.
func plain(r *run, limit int) (Walk, error) {
	walk := Walk{Program: r.program, bounds: r.bounds,
		Found: map[Invariant]Failure{}}
	var path []action
	var left [][]action // at each step, what was not taken there yet
	for {
		if err := r.begin(); err != nil {
			return walk, err
		}
		c := cost{}
		ended := true
		for i := 0; ; i++ {
			if i == len(path) {
				enabled := r.enabled()
				if len(enabled) == 0 {
					break
				}
				path, left = append(path, enabled[0]), append(left, enabled[1:])
			}
			broken, err := r.take(path[i])
			if errors.Is(err, errQuiet) {
				ended = false
				path, left = path[:i+1], left[:i+1]
				break
			}
			if err != nil {
				return walk, err
			}
			c = c.plus(path[i])
			for _, b := range slices.Concat(broken, r.broken()) {
				f, ok := walk.Found[b.Invariant]
				if !ok || c.compare(cost{f.Adversary, f.Steps}) < 0 {
					walk.Found[b.Invariant] = Failure{
						Schedule:  schedule(r.program, r.bounds, path[:i+1]),
						Adversary: c.adversary, Steps: c.steps, Event: b.Event}
				}
			}
			walk.Steps++
		}
		if ended {
			walk.Runs++
		}
		for len(path) > 0 && len(left[len(left)-1]) == 0 {
			path, left = path[:len(path)-1], left[:len(left)-1]
		}
		if len(path) == 0 || walk.Runs == limit {
			return walk, nil
		}
		last := len(path) - 1
		path[last], left[last] = left[last][0], left[last][1:]
	}
}
