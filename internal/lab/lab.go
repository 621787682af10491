// Package lab is the laboratory of the scenarios: Redis nodes and clients in one
// process, on a network that can fail in every way, in virtual time.
//
// A world lives in a testing/synctest bubble, so that ten seconds pass in
// microseconds. The bubble fixes the time but not the order within one instant;
// the gate fixes that too. Every command, every message and every step of a
// story waits at the gate, and one passes at a time, in the order of (time,
// round of arrival, client, node, text). The same story gives the same bytes on
// every machine.
//
// Faults happen on the way between a client and a node, never inside a lock:
// commands are delayed, replies are lost, processes die or stop. The world knows
// by which client's command every lock key was set, and so whose grant it is.
package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// Config is what a world is made of.
type Config struct {
	Nodes int           // how many independent Redis nodes
	Key   string        // the name of the lock
	TTL   time.Duration // the lease
	Keys  []string      // the keys whose owner is watched; by default Key

	// LeaseEnd reads the end of the lease from a key's value, for locks whose
	// lease is not the key's expiry.
	LeaseEnd func(value string) (time.Time, bool)

	// Most is how many things may pass the gate in a second of virtual time
	// before the story counts as stuck; by default 200,000.
	Most int

	// Servers are the real servers to use, one a node; none means that the world
	// is virtual. Scale is how much time a second of a story takes; 0 is a second.
	Servers []Server
	Scale   float64

	// Latency is how long everything is on its way between a client and a node,
	// in either direction. Real servers have their own.
	Latency time.Duration

	// Driver changes the settings of a virtual world's clients; nil means that
	// a client does nothing on its own account, see Way.NewClient.
	Driver func(*redis.Options)

	// Seen is called by the servers for every command that they execute, those
	// inside scripts included, for the test that holds the timeline against it.
	Seen func(node int, from *server.Peer, command string, args []string)
}

// World is one bubble: its nodes, its clients, its gate and what was recorded.
// All of its methods belong to the story that Run tells.
type World struct {
	Config

	start   time.Time
	turn    sync.Mutex // in real time: who does what the gate has let pass
	gate    *gate
	nodes   []*Node
	clients []*Client
	grants  map[place]*Grant
	warming []string // the keys to look at instead of the lock's
	inside  []*Holding
	held    int  // acquisitions so far
	touched bool // a client has set a lock key

	bubble    atomic.Value // how stacks name the world's bubble: a string
	running   atomic.Int64 // scripts under way
	over      atomic.Bool  // the dead have had their time
	lateness  atomic.Int64 // see Late
	recording bool
	entries   []*Entry
	breaks    []*Break
	failing   sync.Mutex
	failures  []error
	left      []string // see Left

	// Commands are given their text before they wait at the gate.
	texts   sync.Mutex
	scripts map[string]string // SHA1 of a Lua script: its name
	aliases map[string]string // random values: the names that they print as
	aliased map[string]int    // client: how many of its values have a name

	steering // see Steer

	ctx    context.Context
	cancel context.CancelFunc
}

// ErrLeak says that goroutines of a lock outlived everything that they served.
var ErrLeak = errors.New("the lock leaks goroutines")

// ErrStuck says that the world came to a halt on something that is neither a
// timer, nor the network, nor a channel, mostly a mutex that is held while Redis
// is asked, or that it computes without end.
var ErrStuck = errors.New("the lock is stuck")

func init() {
	// The faults of the stories are no news for the driver to print.
	logging.Disable()
}

// Run tells a story in a new world and takes the world down. The error is one
// line: ErrLeak, ErrStuck, or a panic inside the story. A stuck world is left
// behind, because its goroutines can't be stopped.
func Run(t *testing.T, config Config, tell func(*World)) error {
	t.Helper()
	w := &World{Config: config}
	if len(w.Keys) == 0 {
		w.Keys = []string{w.Key}
	}
	if w.real() {
		return w.inRealTime(tell)
	}
	w.gate = &gate{}
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer func() {
			// The bubble's root panics when goroutines remain.
			if r := recover(); r != nil {
				err = fmt.Errorf("%w: %v", ErrLeak, w.leaking())
			}
		}()
		synctest.Test(t, func(*testing.T) { err = w.live(tell) })
	}()
	return w.watch(done)
}

// live is the life of a world inside its bubble.
func (w *World) live(tell func(*World)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the story panicked: %v", r)
		}
	}()
	if own := bubbled.FindStringSubmatch(stacks(false)[0]); own != nil {
		w.bubble.Store(own[2])
	}
	w.start = time.Now()
	w.gate.arrived = make(chan struct{}, 1)
	w.gate.ended = make(chan struct{})
	w.grants = map[place]*Grant{}
	w.scripts = map[string]string{}
	w.aliases, w.aliased = map[string]string{}, map[string]int{}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	for i := range w.Config.Nodes {
		w.nodes = append(w.nodes, newNode(w, i))
	}
	defer w.end()
	tell(w)
	return nil
}

// end takes the world down. Every client is dead from here on: its commands
// fail, and later each ends the goroutine that sends it. Three leases are enough
// for all of a lock's timers to come up.
func (w *World) end() {
	w.take()
	w.recording = false
	w.give()
	w.cancel()
	for _, c := range w.clients {
		c.kill()
	}
	w.gate.close()
	if w.real() {
		w.over.Store(true)
	} else {
		w.elapse(3*w.TTL + time.Minute)
		w.over.Store(true)
		w.elapse(3*w.TTL + time.Minute)
	}
	w.left = w.Lasting()
	for _, c := range w.clients {
		c.close()
	}
	if !w.real() {
		// A driver that could not connect too often dials on by itself, and
		// looks once a second whether it was closed.
		time.Sleep(2 * time.Second)
	}
	for _, n := range w.nodes {
		n.close()
	}
}

// elapse lets virtual time go by at the end of a world, and shows watch that it
// does: a thousand clients have timers that all come up now.
func (w *World) elapse(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(time.Second)
		w.gate.passed.Add(1)
	}
}

// Now is the story's time since the world began.
func (w *World) Now() time.Duration { return w.told(time.Since(w.start)) }

// Fail reports something that is neither a verdict nor allowed to happen.
func (w *World) Fail(format string, args ...any) {
	w.failing.Lock()
	defer w.failing.Unlock()
	w.failures = append(w.failures, fmt.Errorf(format, args...))
}

// Failures are what Fail was told.
func (w *World) Failures() []error {
	w.failing.Lock()
	defer w.failing.Unlock()
	return w.failures
}

// Context ends with the world.
func (w *World) Context() context.Context { return w.ctx }
