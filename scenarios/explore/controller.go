package explore

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/lab/order"
)

// controller is the order of an explorer's world: every command on its way to a node and every
// reply on its way back waits until the run lets it arrive, and time stands still until the run
// moves it. One world is used for many runs, one after the other.
type controller struct {
	order.Bubble
	world   *lab.World
	clients []*client
	keys    map[string]string // the key that has the owner of a name

	mu      sync.Mutex
	waiting []*flight
	closed  bool
	flooded atomic.Bool // everything passes at once

	epoch   time.Time     // what the servers' clocks say when a run begins
	scripts *node.Scripts // what scripts did, in all runs; nil keeps nothing
}

// control makes the controller of a world that config describes. Remember says that
// it keeps what scripts did to the nodes, see node.Scripts.
func control(config *lab.Config, remember bool) *controller {
	c := &controller{}
	if remember {
		c.scripts = node.NewScripts()
	}
	config.Order, config.Carry = c, c.carry
	config.Seen = func(_ int, _ *server.Peer, command string, args []string) {
		c.unknown(command, args)
	}
	return c
}

// open takes the world over, with so many clients.
func (c *controller) open(w *lab.World, clients int) {
	c.world, c.epoch = w, time.Now()
	for i := range w.Nodes {
		w.Node(i).Embedded().Clock = c.serverTime
	}
	for i := range clients {
		c.clients = append(c.clients, &client{Client: w.Client(
			string(rune('A' + i))), control: c, index: i})
	}
	c.rewind()
}

// Wait lets everything pass that is not on its way: see hold.
func (c *controller) Wait(order.Turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed
}

// Play does nothing: a run's actions are taken one by one.
func (c *controller) Play(func() bool) error { return nil }

func (c *controller) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, p := range c.waiting {
		p.open <- false
	}
	c.waiting = nil
}

// hold blocks until p is let pass. It is false when the world has ended instead.
func (c *controller) hold(p *flight) bool {
	p.open = make(chan bool, 1)
	c.mu.Lock()
	if c.closed || c.flooded.Load() {
		c.mu.Unlock()
		return !c.closed
	}
	c.waiting = append(c.waiting, p)
	c.mu.Unlock()
	c.Notice()
	return <-p.open
}

// flood lets everything pass at once, or nothing any more.
func (c *controller) flood(open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flooded.Store(open)
	for _, p := range c.waiting {
		p.open <- true
	}
	c.waiting = nil
}

// server is a node's server, with its clock set.
func (c *controller) server(node int) *miniredis.Miniredis {
	return c.world.Node(node).Embedded().Server()
}

// serverTime is what the servers' clocks say: the same at the same moment of every run.
func (c *controller) serverTime() time.Time {
	return c.epoch.Add(time.Since(c.world.Log().Start))
}

// warm lets the clients do something one after the other, on a network without
// delays, so that the nodes know their scripts afterwards.
func (c *controller) warm(do func(*client)) {
	c.flood(true)
	for _, client := range c.clients {
		done := make(chan struct{})
		go func() {
			defer close(done)
			do(client)
		}()
		<-done
	}
	c.rewind()
}

// rewind ends a run and makes the world as new, see lab.World.Rewind. Everything
// that the run left behind ends: commands on their way are answered with an error.
// Virtual time goes on meanwhile, so that all timers come up.
func (c *controller) rewind() {
	c.world.Rewind(func() {
		c.flood(true)
		time.Sleep(3*lease + time.Minute)
		synctest.Wait()
		c.flood(false)
	})
	for _, client := range c.clients {
		client.rewind()
	}
}

// silent says whether a client's process does nothing more by itself, watched for
// twenty minutes. The run is over then: all others have died meanwhile.
func (c *controller) silent(of *client) bool {
	for _, other := range c.clients {
		if other != of {
			other.Die()
		}
	}
	before := of.arrivals.Load()
	time.Sleep(20 * time.Minute) // shorter than connections may be idle
	synctest.Wait()
	return of.arrivals.Load() == before
}

// settle waits until nothing moves any more. A client that has closed a connection gets
// nothing more on it, and the server ends it then, with its subscriptions.
func (c *controller) settle() {
	synctest.Wait()
	ended := false
	c.mu.Lock()
	c.waiting = slices.DeleteFunc(c.waiting, func(p *flight) bool {
		gone := p.kind != aRequest && p.conn.Gone()
		if gone {
			p.open <- false
			ended = true
		}
		return gone
	})
	c.mu.Unlock()
	if ended {
		synctest.Wait()
	}
}

// unknown says whether the explorer can't tell what a command does to the rest of a
// run, and fails: leases of a hash's fields, what a server tells a client of the
// keys that it has read, commands that wait at the server, and transactions.
func (c *controller) unknown(command string, args []string) bool {
	if command = strings.ToUpper(command); command == "CLIENT" && len(args) > 0 {
		command += " " + strings.ToUpper(args[0])
	}
	switch command {
	case "HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HSETEX", "HGETEX",
		"CLIENT TRACKING", "BLPOP", "BRPOP", "BLMOVE", "BLMPOP", "BRPOPLPUSH",
		"BZPOPMIN", "BZPOPMAX", "BZMPOP", "XREAD", "XREADGROUP", "WATCH", "MULTI":
		c.world.Fail("the explorer does not know what %s does", command)
		return true
	}
	return false
}

// place is a lock key on a node.
func place(node int, key string) history.Place {
	return history.Place{Node: node, Key: key}
}
