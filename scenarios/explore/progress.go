package explore

import (
	"fmt"
	"sync/atomic"
	"time"
)

// progress is how far the walk of a graph has come. It is told in real time, while the
// world that walks lives in its own.
type progress struct {
	what         atomic.Pointer[Walk] // nil before the first one
	states, runs atomic.Int64
}

// begin says that another graph is walked.
func (p *progress) begin(walk Walk) {
	p.states.Store(0)
	p.runs.Store(0)
	p.what.Store(&walk)
}

// tell says every so often how far the walk has come, until stop is called.
func (p *progress) tell(every time.Duration, say func(args ...any)) (stop func()) {
	began, ticker := time.Now(), time.NewTicker(every)
	ended, joined := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(joined)
		for {
			select {
			case <-ticker.C:
				if p.what.Load() != nil {
					say(fmt.Sprintf("%s, after %v", p, time.Since(began).
						Round(time.Second)))
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

// String says what is known of the graph.
func (p *progress) String() string {
	walk := p.what.Load()
	return fmt.Sprintf("%s: %d states so far, of %d at most, in %d runs", walk.Program,
		p.states.Load(), walk.bounds.States, p.runs.Load())
}
