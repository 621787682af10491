package lab

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// gate lets one waiting thing pass at a time, and the next when everything has
// come to rest. What a goroutine does between passing the gate and blocking
// again, it does alone among those that passed: that is why the world's state
// needs no lock.
type gate struct {
	mu      sync.Mutex
	waiting []*pass
	round   uint64
	closed  bool
	arrived chan struct{}
	ended   chan struct{} // closed with the gate
	real    bool          // nothing waits but for its time
	passed  atomic.Uint64
	flooded atomic.Bool // everything passes at once, see Rewind
}

// pass is one thing that waits at the gate.
type pass struct {
	due    time.Time
	round  uint64 // how many had passed when it arrived
	client string
	node   int
	text   string
	open   chan bool

	flight *flight // in a steered world, what it is
}

// wait blocks until the gate opens for this thing, not before due. It is false
// when the world has ended instead.
func (g *gate) wait(due time.Time, client string, node int, text string) bool {
	if g.real {
		return g.sleep(due)
	}
	p := &pass{due: due, client: client, node: node, text: text}
	if now := time.Now(); now.After(due) {
		p.due = now
	}
	return g.hold(p)
}

// hold blocks until the gate opens for p. It is false when the world has ended
// instead.
func (g *gate) hold(p *pass) bool {
	p.open = make(chan bool, 1)
	g.mu.Lock()
	if g.closed || g.flooded.Load() {
		g.mu.Unlock()
		return !g.closed
	}
	p.round = g.round
	g.waiting = append(g.waiting, p)
	g.mu.Unlock()
	g.notice()
	return <-p.open
}

// sleep is wait in real time, where the order is the world's own.
func (g *gate) sleep(due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		g.passed.Add(1)
		return true
	case <-g.ended:
		return false
	}
}

// notice tells the scheduler that something has changed.
func (g *gate) notice() {
	select {
	case g.arrived <- struct{}{}:
	default:
	}
}

// next opens the gate for the first thing that is due, or says when one will be.
func (g *gate) next() (opened bool, due time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return false, time.Time{}
	}
	first := slices.MinFunc(g.waiting, func(a, b *pass) int {
		return cmp.Or(
			a.due.Compare(b.due),
			cmp.Compare(a.round, b.round),
			cmp.Compare(a.client, b.client),
			cmp.Compare(a.node, b.node),
			cmp.Compare(a.text, b.text))
	})
	if first.due.After(time.Now()) {
		return false, first.due
	}
	i := slices.Index(g.waiting, first)
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.round++
	g.passed.Add(1)
	first.open <- true
	return true, time.Time{}
}

// close turns everything away, now and later.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		close(g.ended)
	}
	g.closed = true
	for _, p := range g.waiting {
		p.open <- false
	}
	g.waiting = nil
}

// longest is how much virtual time a story may take.
const longest = 24 * time.Hour

// most is the default of Config.Most. A thousand clients that ask five nodes every
// 100 ms stay below it.
const most = 200_000

// Play opens the gate again and again until every script has ended.
func (w *World) Play() {
	if w.real() {
		w.playInRealTime()
		return
	}
	limit := time.NewTimer(longest)
	defer limit.Stop()
	since, passed := time.Now(), 0
	most := cmp.Or(w.Most, most)
	for {
		synctest.Wait()
		opened, due := w.gate.next()
		if opened {
			if passed++; passed == most {
				w.Fail("%w: it sends %d commands in a second of virtual time, who"+
					" waits must let time pass", ErrStuck, most)
				w.over.Store(true) // who never waits could not be ended else
				synctest.Wait()
				return
			}
			continue
		}
		if time.Since(since) >= time.Second {
			since, passed = time.Now(), 0
		}
		if w.running.Load() == 0 {
			return
		}
		var timer <-chan time.Time
		if !due.IsZero() {
			timer = time.After(time.Until(due))
		}
		select {
		case <-w.gate.arrived:
		case <-timer:
		case <-limit.C:
			w.Fail("the story did not end within %v of virtual time", longest)
			return
		}
	}
}
