package nodes

import (
	"bytes"
	"context"
	"net"
	"time"

	"github.com/lockladder/lockladder/internal/servers/proxy"
)

// newNetwork makes servers seem farther away: requests, replies and messages to
// subscribers are on their way for half of the round-trip time. Without one there is
// no network.
//
// Where time is not the real one the driver's greeting takes none: a connection
// is there before it is used, as on real servers after the warming up. (The
// driver also holds a mutex meanwhile, and that would stop the clock.)
func newNetwork(rtt time.Duration, virtual bool) *proxy.Network {
	switch half := rtt / 2; {
	case half == 0:
		return nil
	case virtual:
		return proxy.NewVirtualNetwork(half, greets)
	default:
		return proxy.NewNetwork(half)
	}
}

// greets says whether a request begins with HELLO.
func greets(request []byte) bool {
	words := bytes.SplitN(request, []byte("\r\n"), 4)
	return len(words) > 2 && bytes.EqualFold(words[2], []byte("HELLO"))
}

// Dial connects to a node, counted from 0.
func (s *Servers) Dial(ctx context.Context, node int) (net.Conn, error) {
	conn, err := s.place.dial(ctx, node)
	if err != nil || s.network == nil {
		return conn, err
	}
	return s.network.Through(conn), nil
}
