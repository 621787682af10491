package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/network"
	"github.com/lockladder/lockladder/internal/lab/node"
)

// Node is one server, as a scenario sees it. An operation that it can't do
// fails the scenario.
type Node struct {
	world *World
	log   *history.Log
	index int
	port  *network.Port
}

// Port is where the node is connected to the network.
func (n *Node) Port() *network.Port { return n.port }

// Embedded is the node's server in a virtual world.
func (n *Node) Embedded() *node.Embedded { return n.port.Node.(*node.Embedded) }

// Observe asks for a key without being a client.
func (n *Node) Observe(key string) history.State { return n.port.Node.Observe(key) }

// must reports that a server did not do what the scenario needs.
func (n *Node) must(err error) {
	if err != nil {
		n.world.Fail("node %d: %w", n.index+1, err)
	}
}

// note records what befalls the node.
func (n *Node) note(what string) { n.log.Befalls(n.index, what) }

// lost is note when the node has lost the lock.
func (n *Node) lost(what string) {
	n.log.Lost(n.index)
	n.note(what)
}

// Replicate gives the node a replica that hears of nothing that happens from now
// on. In virtual time every replica is like that.
func (n *Node) Replicate() { n.must(n.port.Node.Replicate()) }

// Promote makes the node die before it has replicated the lock, and a replica
// take its place.
func (n *Node) Promote() {
	n.must(n.port.Node.Promote(n.port.Cut))
	n.lost("dies; a replica that has not heard of the lock is promoted")
}

// Restart makes the node lose all its data, unless it keeps them, and all its
// connections.
func (n *Node) Restart(what string) {
	n.must(n.port.Node.Restart(n.port.Cut))
	n.lost(what)
}

// Refuse makes the node turn connections away, or accept them again.
func (n *Node) Refuse(refusing bool) {
	n.port.Refusing.Store(refusing)
	n.must(n.port.Node.Refuse(refusing))
	if !refusing {
		n.note("is up again")
		return
	}
	n.port.Cut()
	n.note("goes down: connections are refused")
}

// Hang makes the node accept connections and commands and never answer. It does
// not execute what it was sent.
func (n *Node) Hang() {
	n.port.Silent.Store(true)
	n.must(n.port.Node.Hang())
	n.note("hangs: it accepts commands and never answers")
}

// Fill makes the node's memory full for the rest of the scenario.
func (n *Node) Fill() {
	n.must(n.port.Node.Fill())
	n.note("is full: it refuses commands that need memory")
}

// Mute makes the node drop the messages to subscribers.
func (n *Node) Mute(muted bool) { n.port.Muted.Store(muted) }

// JumpClock moves the node's clock ahead. Only a virtual node can.
func (n *Node) JumpClock(ahead time.Duration) {
	n.Embedded().JumpClock(ahead)
	n.note("its clock jumps ahead by " + ahead.String())
}

// Drift lets the node's clock run at another rate from now on: at 1.01 it gains
// ten milliseconds in a second. Only a virtual node can.
func (n *Node) Drift(rate float64) {
	n.Embedded().Drift(rate)
	n.note(fmt.Sprintf("its clock runs %.4g times as fast", rate))
}

// Evict removes every key that isn't the lock's own, as a virtual server does that
// is out of memory.
func (n *Node) Evict() {
	n.Embedded().Evict(n.world.Keys)
	n.note("evicts every key but the lock's")
}

// FlushScripts empties the node's script cache, as SCRIPT FLUSH does.
func (n *Node) FlushScripts() {
	n.must(n.port.Node.Operate("SCRIPT", "FLUSH"))
	n.note("an operator sends SCRIPT FLUSH")
}

// Delete removes the lock's keys, as an operator does.
func (n *Node) Delete() {
	n.must(n.port.Node.Delete(n.world.Keys...))
	n.lost("an operator deletes the lock")
}

// Flush removes all data from the node, as an operator's FLUSHALL does. Only a
// virtual node can: on a real one there is more than a scenario's data.
func (n *Node) Flush() {
	n.must(n.Embedded().Operate("FLUSHALL"))
	n.lost("an operator sends FLUSHALL")
}

// SeesGrants says whether commands to the node show what they do to the lock. Where
// they don't, a client that was told it has the lock is taken for its owner.
func (n *Node) SeesGrants() bool {
	_, sees := n.port.Node.(node.Redis)
	return sees
}

// Free says whether none of the lock's keys exists on the node.
func (n *Node) Free() bool {
	return !slices.ContainsFunc(n.log.Keys, func(key string) bool {
		return n.Observe(key).Exists
	})
}

// LeaseLeft is what remains of the lease of the lock's first key; 0 when the key
// is gone or has no lease.
func (n *Node) LeaseLeft() time.Duration {
	s := n.Observe(n.log.Keys[0])
	if end := n.log.LeaseEnd; end != nil && s.Exists {
		if at, ok := end(s.Value); ok {
			return n.log.Unscaled(time.Until(at))
		}
	}
	if s.Ends.IsZero() {
		return 0
	}
	return n.log.Unscaled(time.Until(s.Ends))
}

// Leased says between which moments a client's command last changed the lock's first key
// or its lease. In virtual time they are one.
func (n *Node) Leased() (from, to time.Duration) {
	span := n.log.Leased[n.index]
	return n.log.Of(span.From), n.log.Of(span.To)
}
