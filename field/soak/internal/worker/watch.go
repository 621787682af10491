package worker

import (
	"context"
	"sync"
	"time"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
)

const (
	beat = 3 * time.Millisecond  // between two looks at the clock
	gap  = 10 * time.Millisecond // that is a pause
)

// FeelPauses reports how long this process got no CPU, whenever it was for longer
// than ten milliseconds, until ctx ends.
func FeelPauses(ctx context.Context, report func(event.Event)) {
	last := event.Now()
	Every(ctx, beat, func() {
		now := event.Now()
		if missed := time.Duration(now-last) - beat; missed > gap {
			report(event.Event{At: now, Kind: event.Pause, For: missed})
		}
		last = now
	})
}

// Every calls do after each pause, until ctx ends.
func Every(ctx context.Context, pause time.Duration, do func()) {
	ticks := time.NewTicker(pause)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		do()
	}
}

// pending are the calls that have not returned.
type pending struct {
	mu    sync.Mutex
	calls map[int64]*unreturned // by number
	dumps int
}

type unreturned struct {
	due  int64 // when it will nearly be too late
	seen bool  // it was overdue at the look before
}

// most is how many files of stacks a process writes.
const most = 20

// call writes down that an operation begins. The function that it returns writes
// down how it has ended.
func (w *worker) call(g int, key, op string, deadline time.Time) func(bool,
	error) {
	n, now := w.calls.Add(1), event.Now()
	due := now + int64(time.Until(deadline))
	w.pending.mu.Lock()
	if w.pending.calls == nil {
		w.pending.calls = map[int64]*unreturned{}
	}
	w.pending.calls[n] = &unreturned{due: due +
		int64(w.orders.Driver.Lateness()-3*lookEvery)}
	w.pending.mu.Unlock()
	w.write(event.Event{At: now, Kind: event.Call, Goroutine: g, N: n, Op: op,
		Key: key, Deadline: due})
	return func(granted bool, err error) {
		now := event.Now()
		w.pending.mu.Lock()
		delete(w.pending.calls, n)
		w.pending.mu.Unlock()
		w.write(event.Event{At: now, Kind: event.Return, Goroutine: g, N: n,
			Op: op, Key: key, Granted: granted, Error: inWord(err)})
	}
}

// lookEvery is the time between two looks at the calls that have not returned.
const lookEvery = 50 * time.Millisecond

// watchCalls writes the stacks of all goroutines when a call is about to be too
// late.
func (w *worker) watchCalls(ctx context.Context) {
	Every(ctx, lookEvery, func() {
		if n, ok := w.pending.overdue(event.Now()); ok {
			w.write(event.Event{Kind: event.Stuck, N: n,
				Text: w.stacks("stuck")})
		}
	})
}

// overdue is a call whose stacks are wanted: it is reported once, and only when it
// was overdue at the look before too. A process that was stopped finds many calls
// overdue when it goes on, and most return at once.
func (p *pending) overdue(now int64) (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := int64(0)
	for n, c := range p.calls {
		switch {
		case c.due > now || p.dumps == most:
		case !c.seen:
			c.seen = true
		case found == 0:
			found = n
		}
	}
	if found == 0 {
		return 0, false
	}
	delete(p.calls, found)
	p.dumps++
	return found, true
}
