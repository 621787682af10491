// Package proxy is the network between one worker and one server: a TCP proxy that
// delays, holds back, swallows, cuts, half-closes, refuses, and lets connections
// hang while they are dialed.
package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
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
}

// Proxy passes connections on to a server. Close must be called.
type Proxy struct {
	addr, upstream string
	joined         sync.WaitGroup

	mu       sync.Mutex
	listener *net.TCPListener // nil: connections are refused
	accepts  chan struct{}    // closed when the accepting goroutine has ended
	weather  Weather
	changed  chan struct{} // closed when the weather changes
	pairs    map[*pair]bool
	closed   bool
}

// pair is a connection and its continuation.
type pair struct {
	client, server *net.TCPConn
	hung           bool // bytes of it are gone
}

// Listen starts a proxy on a loopback port, in front of the server at upstream.
func Listen(upstream string) (*Proxy, error) {
	p := &Proxy{addr: "127.0.0.1:0", upstream: upstream,
		changed: make(chan struct{}), pairs: map[*pair]bool{}}
	if err := p.open(); err != nil {
		return nil, err
	}
	return p, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.addr }

// open listens and starts to accept.
func (p *Proxy) open() error {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("listen for a worker: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addr = l.Addr().String()
	p.listener = l.(*net.TCPListener)
	p.resume()
	return nil
}

// resume starts the accepting goroutine. The caller has the mutex.
func (p *Proxy) resume() {
	l, ended := p.listener, make(chan struct{})
	p.accepts = ended
	l.SetDeadline(time.Time{})
	p.joined.Go(func() {
		defer close(ended)
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return // closed, or its deadline says that accepting pauses
			}
			p.joined.Go(func() { p.pass(c) })
		}
	})
}

// suspend ends the accepting goroutine and keeps the listener.
func (p *Proxy) suspend() *net.TCPListener {
	p.mu.Lock()
	l, ended := p.listener, p.accepts
	p.mu.Unlock()
	l.SetDeadline(time.Unix(1, 0))
	<-ended
	return l
}

// Set changes the weather for all connections, old and new ones. Data that was
// held back is delivered.
func (p *Proxy) Set(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// Cut resets all connections, as a router does that has forgotten them.
func (p *Proxy) Cut() { p.cut(func(*pair) bool { return true }) }

// Reset resets the connections that have lost bytes.
func (p *Proxy) Reset() { p.cut(func(c *pair) bool { return c.hung }) }

func (p *Proxy) cut(which func(*pair) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
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
func (p *Proxy) HalfClose(d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		if d&Requests != 0 {
			c.server.CloseWrite()
		}
		if d&Replies != 0 {
			c.client.CloseWrite()
		}
	}
}

// Refuse closes the port to new connections.
func (p *Proxy) Refuse() {
	l := p.suspend()
	l.Close()
	p.mu.Lock()
	p.listener = nil
	p.mu.Unlock()
}

// Admit opens the port again after Refuse. Meanwhile another program may have
// taken it for a moment.
func (p *Proxy) Admit() error {
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if err = p.open(); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// HangDials lets new connections hang in connect(2): nobody accepts, and the
// queue in front is full. The function that it returns ends that.
func (p *Proxy) HangDials() (end func(), err error) {
	l := p.suspend()
	resume := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.resume()
	}
	if err := setBacklog(l, 0); err != nil {
		resume()
		return nil, err
	}
	var fill []net.Conn
	for range 8 { // the system rounds the length of the queue
		c, err := net.DialTimeout("tcp", p.addr, 50*time.Millisecond)
		if err != nil {
			break
		}
		fill = append(fill, c)
	}
	return func() {
		for _, c := range fill {
			c.Close()
		}
		setBacklog(l, 128)
		resume()
	}, nil
}

// Open is how many connections there are.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

// Close ends all connections and joins all goroutines. Faults must have ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		p.listener.Close()
	}
	p.mu.Unlock()
	p.Set(Weather{})
	p.Cut()
	p.joined.Wait()
}

// pass connects a client with the server until both directions have ended.
func (p *Proxy) pass(client *net.TCPConn) {
	up, err := net.DialTimeout("tcp", p.upstream, time.Second)
	if err != nil { // it restarts
		client.SetLinger(0)
		client.Close()
		return
	}
	c := &pair{client: client, server: up.(*net.TCPConn)}
	p.mu.Lock()
	closed := p.closed
	p.pairs[c] = true
	p.mu.Unlock()
	if closed {
		c.reset()
	}
	var both sync.WaitGroup
	both.Go(func() { p.copy(c, c.server, c.client, Requests) })
	both.Go(func() { p.copy(c, c.client, c.server, Replies) })
	both.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
	c.client.Close()
	c.server.Close()
}

// copy passes one direction on.
func (p *Proxy) copy(c *pair, to, from *net.TCPConn, d Direction) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && p.arrive(c, d) {
			if _, err := to.Write(buffer[:n]); err != nil {
				c.reset()
				return
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && !p.isHung(c):
			to.CloseWrite()
			return
		case errors.Is(err, io.EOF):
			return // the end is swallowed as well, the other side waits
		default:
			c.reset()
			return
		}
	}
}

// arrive waits as the weather says, and says whether the data may arrive.
func (p *Proxy) arrive(c *pair, d Direction) bool {
	for {
		p.mu.Lock()
		w, changed := p.weather, p.changed
		if w.Swallow&d != 0 {
			c.hung = true
		}
		hung := c.hung
		p.mu.Unlock()
		switch {
		case hung:
			return false
		case w.Hold&d != 0:
			<-changed // and look again
		case w.Delay > 0 && (w.Slow == 0 || w.Slow&d != 0):
			select {
			case <-time.After(w.Delay):
			case <-changed:
			}
			return true
		default:
			return true
		}
	}
}

func (p *Proxy) isHung(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.hung
}
