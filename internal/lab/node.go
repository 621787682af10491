package lab

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// Node is one Redis server.
type Node struct {
	world *World
	index int

	mu       sync.Mutex
	redis    *miniredis.Miniredis
	retired  []*miniredis.Miniredis
	remote   Server                // instead of redis, in real time
	observer redis.UniversalClient // of the remote server
	conns    map[*conn]struct{}
	refusing bool // turns connections away
	silent   bool // accepts connections and never answers
	muted    bool // drops the messages to subscribers

	tracked  map[string]*tracked // what clients were shown, see tracking.go
	expiring map[time.Time]bool  // when one of them ends
	reading  map[string]bool     // what the command under way has read; or nil

	version int       // how often one of the lock's keys has changed
	leased  time.Time // when a command last changed the first key, see LeasedAt

	rate    float64   // how fast its clock runs; 0 is as fast as all others
	drifted time.Time // what its clock said when it was given that rate
	since   time.Time // which was then
}

func newNode(w *World, index int) *Node {
	n := &Node{world: w, index: index, conns: map[*conn]struct{}{}}
	if w.real() {
		n.remote = w.Servers[index]
		if n.store() == nil {
			n.observer = n.newObserver()
		}
		return n
	}
	n.boot()
	return n
}

// boot starts an empty server.
func (n *Node) boot() {
	n.redis = miniredis.NewMiniRedis()
	// Inside the bubble only: outside, the baseline would be the real date, and
	// keys would never expire.
	n.redis.ClockTTL(true)
	// Dial is what starts a server without a listener.
	if c, err := n.redis.Dial(); err == nil {
		c.Close()
	}
	n.tracked, n.expiring = map[string]*tracked{}, map[time.Time]bool{}
	n.redis.Server().SetPreHook(
		func(from *server.Peer, command string, args ...string) bool {
			n.saw(command, args)
			if n.world.steered {
				n.world.unknown(command, args)
			}
			if seen := n.world.Seen; seen != nil {
				seen(n.index, from, command, args)
			}
			return false
		})
}

func (n *Node) close() {
	if n.remote != nil {
		n.tidy()
		return
	}
	n.mu.Lock()
	servers := append(n.retired, n.redis)
	n.mu.Unlock()
	for _, server := range servers {
		server.Close()
	}
}

// Node returns one of the world's nodes, counted from 0.
func (w *World) Node(i int) *Node { return w.nodes[i] }

// Replicate gives the node a replica that hears of nothing that happens from now
// on. In virtual time every replica is like that.
func (n *Node) Replicate() {
	if n.remote != nil {
		n.must("start a replica", n.own().Replicate())
	}
}

// Promote makes the node die before it has replicated the lock, and a replica
// take its place.
func (n *Node) Promote() {
	if n.remote == nil {
		n.Restart("dies; a replica that has not heard of the lock is promoted")
		return
	}
	n.must("promote a replica", n.own().Promote())
	n.disconnect()
	n.world.forget(n)
	n.world.note(n, "dies; a replica that has not heard of the lock is promoted")
}

// Restart makes the node lose all its data and all its connections: a server
// without persistence that was restarted, or a promoted replica that had heard
// of nothing.
func (n *Node) Restart(what string) {
	if n.remote != nil {
		n.host().Kill()
		n.disconnect()
		n.must("restart", n.host().Restart())
		n.world.forget(n)
		n.world.note(n, what)
		return
	}
	n.mu.Lock()
	n.retired = append(n.retired, n.redis)
	n.boot()
	n.mu.Unlock()
	n.disconnect()
	n.world.forget(n)
	n.world.note(n, what)
}

// Refuse makes the node turn connections away, or accept them again.
func (n *Node) Refuse(refusing bool) {
	n.mu.Lock()
	n.refusing = refusing
	n.mu.Unlock()
	if n.remote != nil && refusing {
		n.host().Kill()
	} else if n.remote != nil {
		n.must("restart", n.host().Restart())
	}
	if refusing {
		n.disconnect()
		n.world.note(n, "goes down: connections are refused")
	} else {
		n.world.note(n, "is up again")
	}
}

// Hang makes the node accept connections and commands and never answer. It does
// not execute what it was sent.
func (n *Node) Hang() {
	n.mu.Lock()
	n.silent = true
	n.mu.Unlock()
	if n.remote != nil {
		n.must("pause", n.host().Pause())
	}
	n.world.note(n, "hangs: it accepts commands and never answers")
}

// Mute makes the node drop the messages to subscribers.
func (n *Node) Mute(muted bool) {
	n.mu.Lock()
	n.muted = muted
	n.mu.Unlock()
}

// JumpClock moves the node's clock ahead.
func (n *Node) JumpClock(ahead time.Duration) {
	n.server().FastForward(ahead)
	n.invalidate(nil)
	n.world.note(n, "its clock jumps ahead by "+ahead.String())
}

// Drift lets the node's clock run at another rate from now on: at 1.01 it gains
// ten milliseconds in a second. Only a virtual node can.
func (n *Node) Drift(rate float64) {
	n.mu.Lock()
	n.drifted, n.since, n.rate = n.clock(), time.Now(), rate
	n.mu.Unlock()
	n.world.note(n, fmt.Sprintf("its clock runs %.4g times as fast", rate))
}

// clock is what the node's clock says.
func (n *Node) clock() time.Time {
	if n.rate == 0 {
		return time.Now()
	}
	return n.drifted.Add(time.Duration(float64(time.Since(n.since)) * n.rate))
}

// Evict removes every key that isn't the lock's own, as a virtual server does that
// is out of memory.
func (n *Node) Evict() {
	for _, key := range n.server().Keys() {
		if !slices.Contains(n.world.Keys, key) {
			n.operate("DEL", key)
		}
	}
	n.world.note(n, "evicts every key but the lock's")
}

// FlushScripts empties the node's script cache, as SCRIPT FLUSH does.
func (n *Node) FlushScripts() {
	n.operate("SCRIPT", "FLUSH")
	n.world.note(n, "an operator sends SCRIPT FLUSH")
}

// Delete removes the lock's keys, as an operator does.
func (n *Node) Delete() {
	if s := n.store(); s != nil {
		n.must("delete the lock", s.Delete(n.world.ctx, n.world.Key))
	} else {
		n.operate(append([]string{"DEL"}, n.world.Keys...)...)
	}
	n.world.forget(n)
	n.world.note(n, "an operator deletes the lock")
}

// operate executes a command that belongs to no client.
func (n *Node) operate(args ...string) {
	if n.remote != nil {
		n.order(args)
		return
	}
	newPeer(n.server()).execute(args)
	n.invalidate(nil)
}

func (n *Node) server() *miniredis.Miniredis {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.world.steered {
		n.redis.SetTime(n.world.serverTime())
	} else if n.rate != 0 {
		n.redis.SetTime(n.clock())
	}
	return n.redis
}

// disconnect closes all connections.
func (n *Node) disconnect() {
	n.mu.Lock()
	var conns []*conn
	for c := range n.conns {
		conns = append(conns, c)
	}
	n.mu.Unlock()
	for _, c := range conns {
		c.close()
	}
}

// state is what a node says of a key.
type state struct {
	exists bool
	value  string    // of a hash: its fields
	ends   time.Time // zero: it does not expire

	// serverEnds is ends by the clock of a real server, in milliseconds, and
	// serverNow when it looked: two looks compare by it, however long this process
	// was stopped in between.
	serverEnds, serverNow int64
}

// observe asks the node for a key without being a client of it.
func (n *Node) observe(key string) state {
	if n.remote != nil {
		return n.observeRemote(key)
	}
	m := n.server()
	if !m.Exists(key) {
		return state{}
	}
	s := state{exists: true}
	if ttl := m.TTL(key); ttl > 0 {
		if n.rate != 0 {
			ttl = time.Duration(float64(ttl) / n.rate)
		}
		s.ends = time.Now().Add(ttl)
	}
	switch m.Type(key) {
	case "string":
		s.value, _ = m.Get(key)
	case "hash":
		fields, _ := m.HKeys(key)
		slices.Sort(fields)
		s.value = strings.Join(fields, " ")
	default:
		s.value = m.Type(key)
	}
	return s
}

// Lasting are the keys on virtual nodes that no expiry will ever remove.
func (w *World) Lasting() []string {
	var keys []string
	for _, n := range w.nodes {
		if n.remote != nil {
			continue
		}
		m := n.server()
		for _, key := range m.Keys() {
			if m.TTL(key) == 0 && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Left are the Lasting keys at the end of the world, several leases after the
// last client's death.
func (w *World) Left() []string { return w.left }

// Free says whether none of the lock's keys exists on the node.
func (n *Node) Free() bool {
	for _, key := range n.world.Keys {
		if n.observe(key).exists {
			return false
		}
	}
	return true
}

// LeaseLeft is what remains of the lease of the lock's first key; 0 when the key
// is gone or has no lease.
func (n *Node) LeaseLeft() time.Duration {
	s := n.observe(n.world.Keys[0])
	if end := n.world.LeaseEnd; end != nil && s.exists {
		if at, ok := end(s.value); ok {
			return n.world.told(time.Until(at))
		}
	}
	if s.ends.IsZero() {
		return 0
	}
	return n.world.told(time.Until(s.ends))
}

// LeasedAt is when a client's command last changed the lock's first key or its
// lease.
func (n *Node) LeasedAt() time.Duration {
	return n.world.told(n.leased.Sub(n.world.start))
}

// Flush removes all data from the node, as an operator's FLUSHALL does. Only a
// virtual node can: on a real one there is more than a story's data.
func (n *Node) Flush() {
	n.operate("FLUSHALL")
	n.world.forget(n)
	n.world.note(n, "an operator sends FLUSHALL")
}
