// Package proxy is a network that is late: it delays, holds back, swallows, cuts and
// half-closes. A Proxy is one between a client and a server; it also refuses
// connections, and lets them hang while they are dialed.
package proxy

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy passes connections on to a server. Close must be called.
type Proxy struct {
	*Network
	addr, upstream string

	mu       sync.Mutex
	listener *net.TCPListener // nil: connections are refused
	accepts  chan struct{}    // closed when the accepting goroutine has ended
}

// Listen starts a proxy on a loopback port, in front of the server at upstream.
func Listen(upstream string) (*Proxy, error) {
	p := &Proxy{Network: newNetwork(), addr: "127.0.0.1:0", upstream: upstream}
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

// Close ends all connections and joins all goroutines. Faults must have ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	if p.listener != nil {
		p.listener.Close()
	}
	p.mu.Unlock()
	p.Network.Close()
}

// pass connects a client with the server until both directions have ended.
func (p *Proxy) pass(client *net.TCPConn) {
	up, err := net.DialTimeout("tcp", p.upstream, time.Second)
	if err != nil { // it restarts
		client.SetLinger(0)
		client.Close()
		return
	}
	p.join(&pair{client: client, server: up.(*net.TCPConn)})
}
