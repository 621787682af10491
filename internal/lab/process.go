package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/node"
)

// A process that is to be killed, or stopped, where time is real must be a real
// one. It is connected to the nodes through the lab's network.

// Entrance is where a process of a client's own finds a node.
type Entrance struct {
	node.Way
	Doors map[string]string // the node's addresses: where the lab listens for it
	Store bool              // it is no Redis: its driver comes by Dial
}

// Dial connects to one of the node's addresses; "" is its own.
func (e Entrance) Dial(ctx context.Context, addr string) (net.Conn, error) {
	door, ok := e.Doors[addr]
	if !ok {
		door = e.Doors[""]
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", door)
}

// NewClient is node.Way's.
func (e Entrance) NewClient() redis.UniversalClient {
	return e.Way.NewClient(e.Dial)
}

// Listen opens a port for each address of each node, where a process of the
// client's own is connected to it.
func (c *Client) Listen() ([]Entrance, error) {
	var entrances []Entrance
	for _, n := range c.world.nodes {
		e := Entrance{Way: n.port.Node.Way(), Doors: map[string]string{},
			Store: !n.SeesGrants()}
		for _, addr := range append([]string{""}, e.Masters...) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, fmt.Errorf("listen for a process: %w", err)
			}
			c.listeners = append(c.listeners, l)
			e.Doors[addr] = l.Addr().String()
			go c.Let(l, n.port, addr) // ends with the listener, which close closes
		}
		entrances = append(entrances, e)
	}
	return entrances, nil
}

// Lives says in which process the client lives, the leader of its group, and how
// to end it.
func (c *Client) Lives(process *os.Process, end func()) {
	c.process, c.End = process, end
}

// Apart says whether the client lives in a process of its own.
func (c *Client) Apart() bool { return c.process != nil }

// Stop stops the client's process for a time: one of its own by a signal, another
// by holding everything that it sends and receives. It is not stopped before the
// event where a machine may be late.
func (c *Client) Stop(from, to time.Duration, event func() bool) {
	w, apart := c.world, c.process != nil
	if !apart {
		c.Hold(from, to, event)
	}
	c.Go(func() {
		c.Sleep(from - w.Now())
		c.world.real.Await(event, c.Dead, w.TTL)
		c.Step("stops", func() {
			if apart {
				pause(c.process)
			}
			c.Pause(true)
		})
		c.Sleep(to - w.Now() - time.Microsecond) // before what was held back arrives
		c.Step("wakes up", func() {
			if apart {
				resume(c.process)
			}
			c.Pause(false)
		})
	})
}
