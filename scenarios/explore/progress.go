package explore

import (
	"fmt"
	"sync/atomic"
	"time"
)

// progress is how far the walk of a graph has come. It is told in real time, while the
// world that walks lives in its own.
type progress struct {
	program      atomic.Value // of the graph; nil before the first one
	most         atomic.Int64 // states
	states, runs atomic.Int64
}

// begin says that another graph is walked.
func (p *progress) begin(program Program, most int) {
	p.most.Store(int64(most))
	p.states.Store(0)
	p.runs.Store(0)
	p.program.Store(program)
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
				if p.program.Load() != nil {
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
	return fmt.Sprintf("%s: %d states so far, of %d at most, in %d runs",
		p.program.Load(), p.states.Load(), p.most.Load(), p.runs.Load())
}
