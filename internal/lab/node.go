package lab

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Node is one Redis server.
type Node struct {
	world *World
	index int

	mu       sync.Mutex
	redis    *miniredis.Miniredis
	retired  []*miniredis.Miniredis
	conns    map[*conn]struct{}
	refusing bool // turns connections away
	silent   bool // accepts connections and never answers
	muted    bool // drops the messages to subscribers

	version int // how often one of the lock's keys has changed
}

func newNode(w *World, index int) *Node {
	n := &Node{world: w, index: index, conns: map[*conn]struct{}{}}
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
	if seen := n.world.Seen; seen != nil {
		n.redis.Server().SetPreHook(
			func(from *server.Peer, command string, args ...string) bool {
				seen(n.index, from, command, args)
				return false
			})
	}
}

func (n *Node) close() {
	n.mu.Lock()
	servers := append(n.retired, n.redis)
	n.mu.Unlock()
	for _, server := range servers {
		server.Close()
	}
}

// Node returns one of the world's nodes, counted from 0.
func (w *World) Node(i int) *Node { return w.nodes[i] }

// Restart makes the node lose all its data and all its connections: a server
// without persistence that was restarted, or a promoted replica that had heard
// of nothing.
func (n *Node) Restart(what string) {
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
	n.world.note(n, "its clock jumps ahead by "+ahead.String())
}

// FlushScripts empties the node's script cache, as SCRIPT FLUSH does.
func (n *Node) FlushScripts() {
	n.operate("SCRIPT", "FLUSH")
	n.world.note(n, "an operator sends SCRIPT FLUSH")
}

// Delete removes the lock's keys, as an operator does.
func (n *Node) Delete() {
	n.operate(append([]string{"DEL"}, n.world.Keys...)...)
	n.world.forget(n)
	n.world.note(n, "an operator deletes the lock")
}

// operate executes a command that belongs to no client.
func (n *Node) operate(args ...string) {
	newPeer(n.server()).execute(args)
}

func (n *Node) server() *miniredis.Miniredis {
	n.mu.Lock()
	defer n.mu.Unlock()
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
}

// observe asks the node for a key without being a client of it.
func (n *Node) observe(key string) state {
	m := n.server()
	if !m.Exists(key) {
		return state{}
	}
	s := state{exists: true}
	if ttl := m.TTL(key); ttl > 0 {
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
// is gone or does not expire.
func (n *Node) LeaseLeft() time.Duration {
	s := n.observe(n.world.Keys[0])
	if s.ends.IsZero() {
		return 0
	}
	return time.Until(s.ends)
}
