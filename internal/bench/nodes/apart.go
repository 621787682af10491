package nodes

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Alone are the connections of one client that shares none with the others.
type Alone struct {
	servers *Servers
	nodes   []*redis.Client

	mu    sync.Mutex
	conns []net.Conn // of a lock that brings its own driver
	dead  bool
}

// Apart makes connections to the first n nodes for one client.
func (s *Servers) Apart(n int) *Alone {
	a := &Alone{servers: s}
	for node := range n {
		a.nodes = append(a.nodes, s.client(node, spare))
	}
	return a
}

// Clients are those of the nodes.
func (a *Alone) Clients() []redis.UniversalClient {
	var nodes []redis.UniversalClient
	for _, rdb := range a.nodes {
		nodes = append(nodes, rdb)
	}
	return nodes
}

// Dial connects to a node, until Close.
func (a *Alone) Dial(ctx context.Context, node int) (net.Conn, error) {
	conn, err := a.servers.Dial(ctx, node)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		conn.Close()
		return nil, net.ErrClosed
	}
	a.conns = append(a.conns, conn)
	return conn, nil
}

// Close cuts all connections, forever. It may be called twice.
func (a *Alone) Close() {
	a.mu.Lock()
	conns := a.conns
	a.conns, a.dead = nil, true
	a.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
	for _, rdb := range a.nodes {
		rdb.Close()
	}
}
