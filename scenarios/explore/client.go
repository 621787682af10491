package explore

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// client is a client of the world, with what the explorer knows of it.
type client struct {
	*lab.Client
	control  *controller
	arrivals atomic.Int64 // how often its process has sent or done something
	commands atomic.Int64 // how many of those were commands
	acts     atomic.Int64 // see act

	index   int    // among the clients
	name    string // that its program's calls are about: key, or other
	players []*player
	refused bool              // see asks
	history [sha256.Size]byte // stands for all that it was answered, and when

	cold []bool // by node: it said NOSCRIPT, and the source follows
	seen []int  // by node: the version of the lock that it saw last

	// Of its newest call, a bit a node:
	asked uint64 // a command came to it
	owned uint64 // it had the client's grant when one came
	freed uint64 // one removed the client's grant from it
}

func (c *client) rewind() {
	c.arrivals.Store(0)
	c.commands.Store(0)
	c.acts.Store(0)
	nodes := c.control.world.Nodes
	c.cold, c.seen = make([]bool, nodes), make([]int, nodes)
	c.asked, c.owned, c.freed = 0, 0, 0
	c.name = key
	c.players, c.refused, c.history = nil, false, [sha256.Size]byte{}
}

// isDone says whether the programs of all its owners are.
func (c *client) isDone() bool {
	return !slices.ContainsFunc(c.players, func(p *player) bool { return !p.done })
}

// remember adds what the process was just answered to its history.
func (c *client) remember(what string, now time.Duration) {
	h := sha256.New()
	h.Write(c.history[:])
	fmt.Fprintf(h, "%d %s", now, what)
	h.Sum(c.history[:0])
}

// owns says whether the lock of a name is the client's on a node and its lease not over.
func (c *client) owns(node int, name string) bool {
	log, key := c.control.world.Log(), c.control.keys[name]
	g := log.Grants[place(node, key)]
	return g != nil && g.Owner == c.Name &&
		c.control.world.Node(node).Observe(key).Exists && !log.Over(g)
}

// ownsLock says whether a majority of the nodes has the client's grant of the name that
// its calls are about, and its lease is not over.
func (c *client) ownsLock() bool { return c.ownsName(c.name) }

func (c *client) ownsName(name string) bool {
	var nodes uint64
	for i := range c.control.world.Nodes {
		if c.owns(i, name) {
			nodes |= 1 << i
		}
	}
	return c.control.majority(nodes)
}

// beginCall says that the client's program calls the lock: foundOwn, freedOwn and
// wasRefused are about that call.
func (c *client) beginCall(call lab.Call) {
	c.Begin(call)
	c.asked, c.owned, c.freed = 0, 0, 0
}

// foundOwn says whether a majority of the nodes had the client's grant when a
// command of its newest call came to them.
func (c *client) foundOwn() bool { return c.control.majority(c.owned) }

// freedOwn says whether commands of the client's newest call have removed its own
// grant from a majority of the nodes, before its lease was over.
func (c *client) freedOwn() bool { return c.control.majority(c.freed) }

// wasRefused takes the state of the nodes that the refused call did not ask as seen.
func (c *client) wasRefused() {
	for i := range c.seen {
		if c.asked&(1<<i) == 0 {
			c.seen[i] = c.control.version(i)
		}
	}
}

// stale says whether the lock has changed on a node since the client saw it last:
// after a refusal it may be free.
func (c *client) stale() bool {
	for i := range c.seen {
		if c.seen[i] != c.control.version(i) {
			return true
		}
	}
	return false
}

// notice says that the client's program has got on by itself.
func (c *client) notice() {
	c.arrivals.Add(1)
	c.control.Notice()
}

// act says that something is about to happen to the client. The commands that it
// sends then come after all that it has sent before, at the same moment.
func (c *client) act() { c.acts.Add(1) }

// pause stops the process, or lets it go on.
func (c *client) pause(asleep bool) {
	c.control.mu.Lock()
	for _, p := range c.control.waiting {
		if p.conn.client == c {
			p.early = asleep
		}
	}
	c.control.mu.Unlock()
	c.Pause(asleep)
}

// majority says whether so many nodes, a bit each, are one.
func (c *controller) majority(nodes uint64) bool {
	return bits.OnesCount64(nodes) > c.world.Nodes/2
}

// version is how often the lock has changed on a node.
func (c *controller) version(node int) int { return c.world.Log().Version(node) }
