// Package network is the network between the clients and the nodes: it takes commands,
// replies and messages to their other end, late, or never, as the faults of a
// scenario say. Faults happen on the way, never inside a lock. Everything that
// passes is written to the history, with its effect on the lock's keys.
//
// The package knows neither what time it is in nor what a node is: it waits with
// an order.Order and asks a node.Node.
package network

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/lab/order"
)

// Net is the network of one world.
type Net struct {
	Order   order.Order
	Real    *order.Real // where time is real
	Log     *history.Log
	Names   *history.Names
	Latency time.Duration // everything is on its way for so long, each way
	Lease   time.Duration // how long an event of a scenario is waited for
	Ports   []*Port

	// Fate decides what happens to a client's n-th command since the recording
	// began, counted from 1, where that is not as the scenario says. It is asked
	// when the command would arrive. Nil leaves all to the scenario.
	Fate func(client string, nth int, now time.Duration) (Fault, bool)

	// Carry makes what takes commands and replies to the other end of a
	// connection; nil is the network with its faults.
	Carry func(*Conn) Carrier
}

// Carrier takes what comes on a connection to its other end.
type Carrier interface {
	// Refuse is the reply to a command that must not reach the server, or "".
	Refuse(args []string) string

	// Command takes a command to the server and its reply back. It is false when
	// the connection is over.
	Command(args []string) bool

	// Answer takes the reply to one of the driver's own commands back. It is
	// false when the connection is over.
	Answer(reply string) bool

	// Message takes a published message, which a person writes like the text, to
	// the client. It is false when the connection is over.
	Message(frame node.Pushed, text string) bool
}

// Port is where a node is connected to the network.
type Port struct {
	Node  node.Node
	Index int

	Refusing atomic.Bool // turns connections away
	Silent   atomic.Bool // accepts connections and never answers
	Muted    atomic.Bool // drops the messages to subscribers

	mu    sync.Mutex
	conns map[*Conn]struct{}
}

// Plug connects a node to the network.
func (n *Net) Plug(server node.Node) *Port {
	p := &Port{Node: server, Index: len(n.Ports), conns: map[*Conn]struct{}{}}
	n.Ports = append(n.Ports, p)
	return p
}

// Conns are the open connections.
func (p *Port) Conns() []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.conns))
}

// Has says whether a connection is open.
func (p *Port) Has(k *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, open := p.conns[k]
	return open
}

// Cut breaks all connections.
func (p *Port) Cut() {
	for _, k := range p.Conns() {
		k.Close()
	}
}

// keep remembers a connection, to cut it.
func (p *Port) keep(k *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[k] = struct{}{}
}

func (p *Port) drop(k *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, k)
}
