package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
)

// walker walks the graph in its world.
type walker struct {
	*graph
	run   *run
	taken []action // in this run

	begun, steps int  // runs, and actions taken in them
	stopped      bool // at Bounds.States
}

// search walks the whole graph. An action is taken in a run of the real code, from
// the first command on, or what it leads to is known from other edges, see infer.
func search(r *run) (Walk, error) {
	w := &walker{graph: newGraph(r.reduced), run: r}
	if err := w.runs(); err != nil {
		return Walk{}, err
	}
	return w.walked(), nil
}

// walked is what there is to say about the graph.
func (w *walker) walked() Walk {
	all := w.all
	walk := Walk{Program: w.run.program, States: len(all), Runs: w.begun, Steps: w.steps,
		Stopped: w.stopped, graph: all}
	walk.schedules = sync.OnceValue(func() *big.Int {
		return count(all, "")
	})
	for _, p := range w.run.players {
		walk.owners = append(walk.owners, p.owner)
	}
	for _, s := range all {
		// The order in which actions were taken is not to be seen in the graph.
		slices.SortFunc(s.edges, func(a, b edge) int {
			return a.action.compare(b.action)
		})
	}
	return walk
}

// first makes the first run.
func (w *walker) first() error {
	if err := w.begin(nil); err != nil {
		return err
	}
	w.visit(nil, action{}, w.number(w.run.key()))
	return w.on(w.all[0])
}

// runs makes runs until nothing is left to do.
func (w *walker) runs() error {
	if err := w.first(); err != nil {
		return err
	}
	for s, path := w.next(); s != nil; s, path = w.next() {
		if err := w.begin(path); err != nil {
			return err
		}
		// The run that came here first may have had another history of a client that is through.
		if err := w.settle(path); err != nil {
			return err
		}
		if !slices.Equal(w.number(w.run.key()), s.parts) {
			return w.in(errDiverged)
		}
		if err := w.on(s); err != nil {
			return err
		}
	}
	return nil
}

// settle finds out what is not known of the processes of the state that the run is
// in, and comes back to it.
func (w *walker) settle(path []action) error {
	asked := map[*client]int{}
	for p := w.run.unsure(); p != nil; p = w.run.unsure() {
		// The answer is kept under the client's history. The run may have come here with
		// another history than the path has, so that it takes two times. When that is not
		// enough the path does not have one history: a token from the clock, for instance.
		if asked[p] == 2 {
			return w.in(errDiverged)
		}
		asked[p]++
		w.run.finish(p)
		if err := w.begin(path); err != nil {
			return err
		}
	}
	return nil
}

// next is the first state with something left to do, and the way there, or nil.
func (w *walker) next() (*state, []action) {
	for ; w.graph.next < len(w.all); w.graph.next++ {
		s := w.all[w.graph.next]
		w.run.control.Busy()
		if w.infer(s); len(s.todo) > 0 {
			if w.stopped = len(w.all) >= w.run.bounds.States; w.stopped {
				return nil, nil
			}
			return s, s.path()
		}
	}
	return nil, nil
}

// begin starts a run and takes it to a state.
func (w *walker) begin(path []action) error {
	if w.begun++; w.begun%10_000 == 0 {
		w.run.tell("%s: %d states so far, of %d at most, in %d runs", w.run.program,
			len(w.all), w.run.bounds.States, w.begun)
	}
	w.taken = w.taken[:0]
	if err := w.run.begin(); err != nil {
		return err
	}
	for _, a := range path {
		_, err := w.take(a)
		if errors.Is(err, errQuiet) {
			err = w.in(errDiverged)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take takes an action.
func (w *walker) take(a action) ([]Breach, error) {
	w.steps++
	w.taken = append(w.taken, a)
	broken, err := w.run.take(a)
	if err != nil && !errors.Is(err, errQuiet) {
		err = w.in(err)
	}
	return broken, err
}

// in says in which schedule something went wrong.
func (w *walker) in(err error) error {
	return fmt.Errorf("%w, in the schedule %s", err, schedule(w.run.program, w.run.bounds, w.taken))
}

// on goes on from the state that the run is in for as long as there is something left
// to do in the state that it comes to.
func (w *walker) on(s *state) error {
	for w.infer(s); len(s.todo) > 0 && len(w.all) < w.run.bounds.States; w.infer(s) {
		a := s.todo[0]
		if last := s.todo[len(s.todo)-1]; last.sign == timer {
			a = last // whether a timer does anything is best tried at once
		}
		s.todo = slices.DeleteFunc(s.todo, func(b action) bool { return a == b })
		broken, err := w.take(a)
		if errors.Is(err, errQuiet) {
			return nil
		}
		if err != nil {
			return err
		}
		e := edge{action: a, broken: broken, asked: w.run.asked}
		if err := w.settle(append(s.path(), a)); err != nil {
			return err
		}
		s = w.arrive(s, e)
	}
	return nil
}

// arrive is the state that the run is in, after the edge from another one.
func (w *walker) arrive(s *state, e edge) *state {
	parts := w.number(w.run.key())
	to := w.find(parts)
	if to == nil {
		to = w.visit(s, e.action, parts)
	}
	e.to, e.broken = to.number, ordered(e.broken)
	w.join(s, e)
	w.learn(s, e)
	return to
}

// visit makes a new state of the one that the run is in.
func (w *walker) visit(from *state, by action, parts []int32) *state {
	s := &state{parts: parts, from: from, by: by, todo: w.run.enabled(),
		broken: ordered(w.run.broken())}
	if w.run.draws {
		s.label = w.run.label()
	}
	s.number = int32(len(w.all))
	w.keep(s)
	w.all = append(w.all, s)
	return s
}

// ordered puts breaches in an order that doesn't depend on the way to them.
func ordered(broken []Breach) []Breach {
	slices.SortStableFunc(broken, func(a, b Breach) int {
		return cmp.Or(cmp.Compare(a.Invariant, b.Invariant), cmp.Compare(a.Event, b.Event))
	})
	return broken
}
