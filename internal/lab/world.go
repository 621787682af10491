package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/network"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/lab/order"
)

// newWorld chooses what the world is made of: real servers, in their time, or embedded ones.
func newWorld(config Config) *World {
	w := &World{Config: config, order: config.Order}
	if len(w.Keys) == 0 {
		w.Keys = []string{w.Key}
	}
	if w.Readers != "" {
		w.Keys = append(slices.Clip(w.Keys), w.Readers)
	}
	switch {
	case len(w.Servers) > 0:
		// The longest scenario has eight leases.
		w.real = order.NewReal(time.Minute + 20*w.TTL)
		w.order = w.real
		w.boot = func(i int) node.Node {
			return node.On(w.Servers[i], node.Setting{Context: w.ctx, Key: w.Key,
				Took: w.real.Took})
		}
	case w.order == nil:
		w.order = &order.Virtual{Most: w.Most}
		fallthrough
	default:
		scripts := w.Scripts
		switch {
		case w.Carry != nil || w.Seen != nil:
			scripts = nil
		case scripts == nil && w.Config.Nodes > 1:
			scripts = node.NewScripts() // every node of a quorum is sent the same
		}
		w.boot = func(i int) node.Node { return embedded(w, i, scripts) }
	}
	return w
}

// live is the life of a world.
func (w *World) live(scenario func(*World)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the scenario panicked: %v", r)
		}
	}()
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.log = history.NewLog(w.Config.Nodes, w.Keys)
	w.log.LeaseEnd, w.log.Readers = w.LeaseEnd, w.Readers
	w.log.Holds = func(at history.Place, s history.State) bool {
		return w.nodes[at.Node].port.Node.Lasts(at.Key, s)
	}
	w.names = history.NewNames(w.Key)
	w.net = &network.Net{Order: w.order, Real: w.real, Log: w.log, Names: w.names,
		Latency: w.Latency, Fate: w.Fate, Carry: w.Carry}
	w.Pace(w.TTL, w.Config.Scale)
	for i := range w.Config.Nodes {
		w.nodes = append(w.nodes, &Node{world: w, log: w.log, index: i,
			port: w.net.Plug(w.boot(i))})
	}
	defer w.end()
	scenario(w)
	return nil
}

// Pace sets the lease, and how long a second of the scenario lasts.
func (w *World) Pace(ttl time.Duration, scale float64) {
	w.TTL, w.Scale, w.log.Scale = ttl, scale, cmp.Or(scale, 1)
	w.net.Lease = ttl
	if !w.Exact() {
		w.log.Blur = ttl / 10 // what lies between two looks at a real server
	}
}

// end takes the world down. Every client is dead from here on: its commands
// fail, and later each ends the goroutine that sends it. Three leases are enough
// for all of a lock's timers to come up.
func (w *World) end() {
	w.real.Take()
	w.log.Recording = false
	w.real.Give()
	w.cancel()
	for _, c := range w.clients {
		c.Kill()
	}
	w.order.Close()
	w.order.Elapse(3*w.TTL + time.Minute)
	w.over.Store(true)
	w.order.Elapse(3*w.TTL + time.Minute)
	w.Left = w.Lasting()
	for _, c := range w.clients {
		c.close()
	}
	// A driver that could not connect too often dials on by itself, and looks
	// once a second whether it was closed.
	w.order.Elapse(2 * time.Second)
	for _, n := range w.nodes {
		n.must(n.port.Node.Close())
	}
}

// Node returns one of the world's nodes, counted from 0.
func (w *World) Node(i int) *Node { return w.nodes[i] }

// Lasting are the keys on virtual nodes that no expiry will ever remove.
func (w *World) Lasting() []string {
	var keys []string
	for _, n := range w.nodes {
		e, virtual := n.port.Node.(*node.Embedded)
		if !virtual {
			continue // others may use the server, too
		}
		for _, key := range e.Lasting() {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Play lets things pass until every script has ended.
func (w *World) Play() {
	err := w.order.Play(func() bool { return w.running.Load() > 0 })
	if err != nil {
		w.Fail("%w", err)
	}
	if errors.Is(err, order.ErrStuck) {
		w.over.Store(true) // a client that never waits could not be ended else
		w.order.Elapse(0)
	}
}

// Record starts the recording, and the counting of commands, and sets the clock to zero.
func (w *World) Record() {
	if w.rehearsing {
		w.log.Keys, w.rehearsing = w.Keys, false
		w.log.Forget()
	}
	w.log.Record()
	for _, c := range w.clients {
		c.Recount()
	}
}

// Rehearse has the world look at other keys until Record, to learn from locks
// that no scenario is about which command decides a call, see Client.Decided.
func (w *World) Rehearse(keys []string) { w.log.Keys, w.rehearsing = keys, true }

// Rewind makes the world as new, but for its nodes' script caches and the clients' connections.
// All clients are dead meanwhile, and every goroutine ends at its next command.
func (w *World) Rewind(meanwhile func()) {
	w.log.Recording = false
	for _, c := range w.clients {
		c.Die()
	}
	w.over.Store(true)
	meanwhile()
	w.over.Store(false)
	for _, n := range w.nodes {
		n.Embedded().Server().FlushAll()
	}
	for _, c := range w.clients {
		c.Revive()
		c.asleep.Store(false)
	}
	w.names.Reset()
	w.errs = nil
	w.log.Reset()
}

// Over says whether the world, or a run in it, has ended.
func (w *World) Over() bool { return w.over.Load() }

// Now is the scenario's time since the world began.
func (w *World) Now() time.Duration { return w.log.Now() }

// Lasts is how long a duration of the scenario lasts, for contexts and timers.
func (w *World) Lasts(d time.Duration) time.Duration { return w.log.Lasts(d) }

// Exact says whether a scenario's times are exact, because no machine is ever
// too late for them. Where they are not, a client must wait for events besides.
func (w *World) Exact() bool { return w.real == nil }

// Late is by how much the machine was late so far, at its latest, in real time.
// A scenario that it was too late for was not run as it is written.
func (w *World) Late() time.Duration { return w.real.Late() }

// Fail reports something that is neither a verdict nor allowed to happen.
func (w *World) Fail(format string, args ...any) {
	w.failing.Lock()
	defer w.failing.Unlock()
	w.errs = append(w.errs, fmt.Errorf(format, args...))
}

// Failures are what Fail was told.
func (w *World) Failures() []error {
	w.failing.Lock()
	defer w.failing.Unlock()
	return w.errs
}

// Context ends with the world.
func (w *World) Context() context.Context { return w.ctx }
