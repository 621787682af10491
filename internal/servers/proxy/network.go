// Package proxy is a network whose latency the program chooses: bytes between a client
// and a server are on their way for a while.
package proxy

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Network passes bytes between clients and servers. Every piece of data arrives a delay
// after it was sent, whatever is on its way before it.
type Network struct {
	delay  time.Duration
	clock  *clock                // nil: the runtime's timers
	free   func(say []byte) bool // a request that takes no time, nor does its reply
	open   context.Context       // ends with Close
	close  context.CancelFunc
	joined sync.WaitGroup
}

// NewNetwork is a network whose every piece of data is on its way for so long,
// exactly: the runtime's timers may be late by a millisecond. Close must be called.
func NewNetwork(delay time.Duration) *Network {
	n := NewVirtualNetwork(delay, func([]byte) bool { return false })
	n.clock = newClock()
	return n
}

// NewVirtualNetwork is NewNetwork where time is not the real one. Requests that are
// free take no time, nor do their replies.
func NewVirtualNetwork(delay time.Duration, free func(request []byte) bool) *Network {
	n := &Network{delay: delay, free: free}
	n.open, n.close = context.WithCancel(context.Background())
	return n
}

// Through is a connection to a server's end across the network.
func (n *Network) Through(server net.Conn) net.Conn {
	near, far := net.Pipe()
	n.joined.Go(func() { n.join(far, server) })
	return near
}

// Close ends all connections, forever, and joins all goroutines. It may be called
// twice.
func (n *Network) Close() {
	n.close()
	n.joined.Wait()
	if n.clock != nil {
		n.clock.stop()
	}
}

// join passes bytes both ways until one end has closed.
func (n *Network) join(client, server net.Conn) {
	defer context.AfterFunc(n.open, func() {
		client.Close()
		server.Close()
	})()
	var free atomic.Bool // the newest request takes no time
	var both sync.WaitGroup
	pass := func(to, from net.Conn, asks bool) {
		way := make(chan piece, 16)
		both.Go(func() {
			defer close(way)
			collect(from, func(data []byte) {
				if asks {
					free.Store(n.free(data))
				}
				way <- piece{time.Now(), data, free.Load()}
			})
		})
		both.Go(func() { n.deliver(to, way) })
	}
	pass(server, client, true)
	pass(client, server, false)
	both.Wait()
}

// piece is data on its way.
type piece struct {
	sent time.Time
	data []byte
	free bool // it takes no time
}

// collect takes what one end sends, until that has ended.
func collect(from net.Conn, take func([]byte)) {
	buffer := make([]byte, 4096)
	for {
		read, err := from.Read(buffer)
		if read > 0 {
			take(bytes.Clone(buffer[:read]))
		}
		if err != nil {
			return
		}
	}
}

// deliver gives an end what is on its way to it, and closes it after the last piece.
func (n *Network) deliver(to net.Conn, way <-chan piece) {
	defer to.Close()
	for p := range way {
		switch due := p.sent.Add(n.delay); {
		case p.free:
		case n.clock != nil:
			n.clock.until(due)
		default:
			time.Sleep(time.Until(due))
		}
		if _, err := to.Write(p.data); err != nil {
			to.Close() // and whoever still sends to it is told
		}
	}
}

// Forward connects all who come to l with what dial connects to. It ends with l.
func Forward(l net.Listener, dial func() (net.Conn, error)) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go func() { // ends with either connection
			defer from.Close()
			to, err := dial()
			if err != nil {
				return
			}
			defer to.Close()
			go func() {
				defer from.Close()
				defer to.Close()
				io.Copy(to, from)
			}()
			io.Copy(from, to)
		}()
	}
}
