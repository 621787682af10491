package explore

import (
	"fmt"
	"sync/atomic"
	"time"
)

// progress is how far the walk of a graph has come. It is told in real time, while the
// world that walks lives in its own.
type progress struct{ text atomic.Value }

// is keeps how far it has come.
func (p *progress) is(program Program, states, most, runs int) {
	p.text.Store(fmt.Sprintf("%s: %d states so far, of %d at most, in %d runs", program,
		states, most, runs))
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
				if text := p.text.Load(); text != nil {
					say(fmt.Sprintf("%s, after %v", text, time.Since(began).
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
