package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Direction is a set of the two ways that bytes take.
type Direction int

// Requests go to the server, replies to the client.
const (
	Requests Direction = 1 << iota
	Replies
	Both = Requests | Replies
)

// Weather is what happens to the bytes that pass. The zero value is calm.
type Weather struct {
	Delay   time.Duration // every piece of data arrives that much later
	Slow    Direction     // on these ways, 0: both
	Hold    Direction     // held back; delivered when the weather changes
	Swallow Direction     // gone; the connection hangs until Reset

	// Said restricts it to connections whose client has said that in the first
	// kilobyte.
	Said string
}

// Network passes bytes between clients and servers, as its weather says.
type Network struct {
	joined sync.WaitGroup

	mu      sync.Mutex
	weather Weather
	changed chan struct{} // closed when the weather changes
	pairs   map[*pair]bool
	closed  bool
}

func newNetwork() *Network {
	return &Network{changed: make(chan struct{}), pairs: map[*pair]bool{}}
}

// pair is a connection and its continuation.
type pair struct {
	client, server *net.TCPConn

	// Guarded by the network's mutex.
	hung bool   // bytes of it are gone
	said []byte // what the client said first
}

// Set changes the weather for all connections, old and new ones. Data that was
// held back is delivered.
func (n *Network) Set(w Weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.weather = w
	close(n.changed)
	n.changed = make(chan struct{})
}

// Cut resets all connections, as a router does that has forgotten them.
func (n *Network) Cut() { n.cut(func(*pair) bool { return true }) }

// Reset resets the connections that have lost bytes.
func (n *Network) Reset() { n.cut(func(c *pair) bool { return c.hung }) }

func (n *Network) cut(which func(*pair) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.pairs {
		if which(c) {
			c.reset()
		}
	}
}

func (c *pair) reset() {
	for _, end := range []*net.TCPConn{c.client, c.server} {
		end.SetLinger(0)
		end.Close()
	}
}

// HalfClose ends one direction of all connections: their reader finds the end of
// the stream, and may go on writing.
func (n *Network) HalfClose(d Direction) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.pairs {
		if d&Requests != 0 {
			c.server.CloseWrite()
		}
		if d&Replies != 0 {
			c.client.CloseWrite()
		}
	}
}

// Open is how many connections there are.
func (n *Network) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pairs)
}

// Close ends all connections, forever, and joins all goroutines. It may be called
// twice.
func (n *Network) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.Set(Weather{})
	n.Cut()
	n.joined.Wait()
}

// join passes bytes both ways until both directions have ended.
func (n *Network) join(c *pair) {
	n.mu.Lock()
	closed := n.closed
	n.pairs[c] = true
	n.mu.Unlock()
	if closed {
		c.reset()
	}
	var both sync.WaitGroup
	pass := func(to, from *net.TCPConn, d Direction) {
		way := make(chan piece, 16)
		both.Go(func() { n.collect(c, from, way, d) })
		both.Go(func() { n.deliver(c, to, way, d) })
	}
	pass(c.server, c.client, Requests)
	pass(c.client, c.server, Replies)
	both.Wait()
	n.mu.Lock()
	delete(n.pairs, c)
	n.mu.Unlock()
	c.client.Close()
	c.server.Close()
}

// piece is data on its way, or why there will be no more.
type piece struct {
	sent time.Time
	data []byte
	err  error
}

// collect takes what one end sends, until that has ended.
func (n *Network) collect(c *pair, from *net.TCPConn, way chan<- piece, d Direction) {
	defer close(way)
	buffer := make([]byte, 4096)
	for {
		read, err := from.Read(buffer)
		if read > 0 {
			way <- n.stamp(c, bytes.Clone(buffer[:read]), d)
		}
		if err != nil {
			way <- piece{err: err}
			return
		}
	}
}

// stamp notes when data was sent, and what a client said.
func (n *Network) stamp(c *pair, data []byte, d Direction) piece {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d == Requests {
		c.said = append(c.said, data[:min(len(data), 1024-len(c.said))]...)
	}
	return piece{sent: time.Now(), data: data}
}

// deliver gives the other end what is on its way.
func (n *Network) deliver(c *pair, to *net.TCPConn, way <-chan piece, d Direction) {
	for p := range way {
		switch {
		case errors.Is(p.err, io.EOF) && n.lost(c):
			// The end is swallowed as well, and the other side waits.
		case errors.Is(p.err, io.EOF):
			to.CloseWrite()
		case p.err != nil:
			c.reset()
		case n.arrives(c, p.sent, d):
			if _, err := to.Write(p.data); err != nil {
				c.reset()
			}
		}
	}
}

// arrives waits as the weather says, and says whether the data may arrive.
func (n *Network) arrives(c *pair, sent time.Time, d Direction) bool {
	for {
		n.mu.Lock()
		w, changed := n.weather, n.changed
		if w.Said != "" && !strings.Contains(string(c.said), w.Said) {
			w = Weather{}
		}
		c.hung = c.hung || w.Swallow&d != 0
		hung := c.hung
		n.mu.Unlock()
		switch {
		case hung:
			return false
		case w.Hold&d != 0:
			<-changed // and look again
			continue
		case w.Delay > 0 && (w.Slow == 0 || w.Slow&d != 0):
			select {
			case <-time.After(time.Until(sent.Add(w.Delay))):
			case <-changed:
			}
		}
		return true
	}
}

func (n *Network) lost(c *pair) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return c.hung
}
