package explore

import (
	"errors"
	"runtime"
	"testing"

	"github.com/lockladder/lockladder/lock"
)

// beside are more worlds, for more processors. They help to walk graphs that are
// large: with more than two clients, or with an expiry and a lost message. The
// number of runs then differs from one time to the next; the findings don't.
type beside struct {
	graphs chan shared // made outside the worlds: a wait for it lets no time pass
	ended  chan error
}

// shared is a graph that is walked by all worlds.
type shared struct {
	graph   *graph
	program Program
}

// openBeside makes the other worlds, or nil where one is enough. There are twice as
// many as processors: while one waits for the graph another one runs.
func openBeside(t *testing.T, build lock.Build, bounds Bounds,
	reduced bool) *beside {
	if bounds.Clients <= 2 && (bounds.Expiries == 0 || bounds.LostMessages == 0) {
		return nil
	}
	b := &beside{make(chan shared), make(chan error)}
	worlds := 2*min(runtime.GOMAXPROCS(0), 4) - 1
	go func() {
		defer close(b.ended)
		for s := range b.graphs {
			ended := make(chan error, worlds)
			for range worlds {
				go func() { ended <- inWorld(t, build, bounds, reduced, s.walk) }()
			}
			var err error
			for range worlds {
				err = errors.Join(err, <-ended)
			}
			b.ended <- err
		}
	}()
	return b
}

// walk walks the graph in one more world.
func (s shared) walk(r *run) error {
	r.program = s.program
	w := &walker{graph: s.graph, run: r}
	return w.runs()
}

// walk lets the other worlds walk the graph too. The function that it returns waits
// until they do not.
func (b *beside) walk(g *graph, program Program) (wait func() error) {
	if b == nil {
		return func() error { return nil }
	}
	b.graphs <- shared{g, program}
	return func() error { return <-b.ended }
}

// close ends the other worlds.
func (b *beside) close() {
	if b != nil {
		close(b.graphs)
		<-b.ended
	}
}
