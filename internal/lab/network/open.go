package network

import (
	"errors"
	"net"
	"sync"
	"syscall"

	"github.com/lockladder/lockladder/internal/lab/node"
)

// ErrDead is what a dead client's driver is told; no lock code ever sees it.
var ErrDead = errors.New("the process has died")

// Open connects the client to one of a node's addresses; "" is the node's own.
func (c *Endpoint) Open(p *Port, addr string) (net.Conn, error) {
	if c.dead.Load() {
		return nil, ErrDead
	}
	if p.Refusing.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	near, far := net.Pipe()
	k, err := c.serve(p, far, addr)
	if err != nil {
		return nil, err
	}
	return &held{Conn: near, to: k}, nil
}

// held is the client's end of a connection.
type held struct {
	net.Conn
	to *Conn
}

func (h *held) Close() error {
	if h.to.severed.Load() {
		h.to.Client.broken.Add(1)
	}
	return h.Conn.Close()
}

// Broken is how many connections the client's driver has given up because the network
// or the server had cut them: it finds that only when it uses one.
func (c *Endpoint) Broken() int64 { return c.broken.Load() }

// Opened is how many connections the client has to a node.
func (c *Endpoint) Opened(p *Port) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.conns {
		if k.Client == c {
			n++
		}
	}
	return n
}

// Let connects all who come to a listener with one of a node's addresses. It ends
// with the listener.
func (c *Endpoint) Let(l net.Listener, p *Port, addr string) {
	for {
		far, err := l.Accept()
		if err != nil {
			return
		}
		if c.dead.Load() {
			far.Close()
		} else if _, err := c.serve(p, far, addr); err != nil {
			far.Close()
		}
	}
}

// serve takes the server's end of a connection, far, and connects it with the node
// at one of its addresses. The server's close or the client's ends the goroutines.
func (c *Endpoint) serve(p *Port, far net.Conn, addr string) (*Conn, error) {
	ended := make(chan struct{})
	k := &Conn{
		Net: c.net, Client: c, Port: p, far: far, ended: ended,
		end: sync.OnceFunc(func() { close(ended) }),
	}
	switch server := p.Node.(type) {
	case node.Opaque:
		raw, err := server.Open()
		if err != nil {
			return nil, err
		}
		p.keep(k)
		k.stream(server, raw)
	case node.Redis:
		var err error
		if k.Server, err = server.Accept(addr); err != nil {
			return nil, err
		}
		p.keep(k)
		k.start()
	}
	return k, nil
}

// start starts the goroutines of a connection to a Redis node.
func (k *Conn) start() {
	k.commands = make(chan []string, 128)
	k.writing = make(chan struct{}, 1)
	if k.Carry != nil {
		k.Carrier = k.Carry(k)
	} else {
		k.Carrier = &faulty{Conn: k}
	}
	go k.read()
	go k.serve()
}
