// Package proxy is a network that is late: it delays, holds back, swallows, cuts and
// half-closes. A Proxy is one between a client and a server; it also refuses
// connections.
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
	listener net.Listener // closed: connections are refused
}

// Listen starts a proxy on a loopback port, in front of the server at upstream.
func Listen(upstream string) (*Proxy, error) {
	p := &Proxy{Network: newNetwork(), addr: "127.0.0.1:0", upstream: upstream}
	if err := p.open(); err != nil {
		return nil, err
	}
	p.addr = p.listener.Addr().String()
	return p, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.addr }

// open listens, and accepts until the listener is closed.
func (p *Proxy) open() error {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("listen for a worker: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = l
	p.joined.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			p.joined.Go(func() { p.pass(c.(*net.TCPConn)) })
		}
	})
	return nil
}

// Refuse closes the port to new connections.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener.Close()
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

// Close ends all connections and joins all goroutines. Faults must have ended.
func (p *Proxy) Close() {
	p.Refuse()
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
