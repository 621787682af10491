package explore

import (
	"fmt"
	"sync/atomic"
	"time"
)

// progress is the graph that is being walked.
type progress struct{ graph atomic.Pointer[graph] }

// tell says every so often how far the walk has come, until stop is called.
func (p *progress) tell(every time.Duration, say func(args ...any)) (stop func()) {
	began, ticker := time.Now(), time.NewTicker(every)
	ended, joined := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(joined)
		for {
			select {
			case <-ticker.C:
				if g := p.graph.Load(); g != nil {
					say(fmt.Sprintf("%s, after %v", g.sofar(),
						time.Since(began).Round(time.Second)))
				}
			case <-ended:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(ended)
		<-joined
	}
}

// sofar says what is known of the graph.
func (g *graph) sofar() string {
	g.Lock()
	defer g.Unlock()
	return fmt.Sprintf("%s: %d states so far, of %d at most, in %d runs",
		g.walk.Program, len(g.all), g.walk.bounds.States, g.walk.Runs)
}
