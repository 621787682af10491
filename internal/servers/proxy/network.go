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
	clock  *clock                // nil: the runtime's timers
	free   func(say []byte) bool // a request that takes no time, nor does its reply
	joined sync.WaitGroup

	mu      sync.Mutex
	weather Weather
	changed chan struct{} // closed when the weather changes
	pairs   map[*pair]bool
	closed  bool
}

// NewNetwork is a network whose every piece of data is on its way for so long,
// exactly: the runtime's timers may be late by a millisecond. Close must be called.
func NewNetwork(delay time.Duration) *Network {
	n := newNetwork()
	n.clock = newClock()
	n.weather.Delay = delay
	return n
}

// NewVirtualNetwork is NewNetwork where time is not the real one. Requests that are
// free take no time, nor do their replies.
func NewVirtualNetwork(delay time.Duration, free func(request []byte) bool) *Network {
	n := newNetwork()
	n.free = free
	n.weather.Delay = delay
	return n
}

func newNetwork() *Network {
	return &Network{changed: make(chan struct{}), pairs: map[*pair]bool{}}
}

// end is one end of a connection, of TCP or of a kind that can be closed as a whole
// only.
type end interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

type whole struct{ net.Conn }

func (w whole) CloseWrite() error { return w.Close() }
func (whole) SetLinger(int) error { return nil }

// pair is a connection and its continuation.
type pair struct {
	client, server end

	// Guarded by the network's mutex.
	hung bool   // bytes of it are gone
	said []byte // what the client said first
	free bool   // its newest request takes no time
}

// Through is a connection to a server's end across the network.
func (n *Network) Through(server net.Conn) net.Conn {
	near, far := net.Pipe()
	n.joined.Go(func() { n.join(&pair{client: whole{far}, server: whole{server}}) })
	return near
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
	for _, end := range []end{c.client, c.server} {
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
	if n.clock != nil {
		n.clock.stop()
	}
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
	pass := func(to, from end, d Direction) {
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
	sent time.Time // zero: it takes no time
	data []byte
	err  error
}

// collect takes what one end sends, until that has ended.
func (n *Network) collect(c *pair, from end, way chan<- piece, d Direction) {
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
		c.free = n.free != nil && n.free(data)
	}
	if c.free {
		return piece{data: data}
	}
	return piece{sent: time.Now(), data: data}
}

// deliver gives the other end what is on its way.
func (n *Network) deliver(c *pair, to end, way <-chan piece, d Direction) {
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
		case w.Delay > 0 && (w.Slow == 0 || w.Slow&d != 0) && !sent.IsZero():
			n.until(sent.Add(w.Delay), changed)
		}
		return true
	}
}

// until waits for a moment, or until the weather changes.
func (n *Network) until(due time.Time, changed <-chan struct{}) {
	if n.clock != nil {
		n.clock.until(due)
		return
	}
	select {
	case <-time.After(time.Until(due)):
	case <-changed:
	}
}

func (n *Network) lost(c *pair) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return c.hung
}
