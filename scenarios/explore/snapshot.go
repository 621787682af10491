package explore

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab/node"
)

// snapshot appends what the rest of a run depends on and is no client's: the clock,
// what the nodes hold and until when, whose grants they are, and who believes to hold
// the lock.
func (c *controller) snapshot(b []byte) []byte {
	log := c.world.Log()
	b = append(words(b, log.Now()), '\n')
	for n := range c.world.Nodes {
		b = c.dumpConnections(c.dump(b, n), n)
	}
	for _, h := range log.Inside {
		b = append(words(b, bare("in"), h.Owner, h.Number, h.Told(),
			h.Shared), '\n')
	}
	return append(words(b, bare("held"), log.Held), '\n')
}

// dumpConnections appends what a node keeps for its connections: transactions, and
// messages that wait behind the one that is on its way.
func (c *controller) dumpConnections(b []byte, n int) []byte {
	var lines []string
	for _, open := range c.world.Node(n).Port().Conns() {
		k := open.Carrier.(*conn)
		line := k.queued + k.watched
		if !k.Gone() {
			for _, frame := range k.Server.(node.Queue).Waiting() {
				line += c.frame(frame)
			}
		}
		if line != "" {
			lines = append(lines, fmt.Sprintf("%d %s %s\n", n, k.client.Name, line))
		}
	}
	for _, line := range slices.Sorted(slices.Values(lines)) {
		b = append(b, line...)
	}
	return b
}

// look is a string's value on the node, and how long it will be there: 0 when it is
// not there, or does not expire.
func (c *controller) look(node int, key string) (value string, left time.Duration) {
	m := c.server(node)
	value, err := m.Get(key)
	if err != nil {
		return "", 0
	}
	return value, m.TTL(key)
}

// snapshot appends what is known of the client, and what of it is on its way.
func (c *client) snapshot(b []byte, flights []*flight) []byte {
	log := c.control.world.Log()
	if b = words(b, c.Name); c.Dead() {
		b = append(b, " dead\n"...)
	} else {
		b = words(b, c.Asleep(), c.asked, c.owned, c.freed)
		for n, seen := range c.seen {
			b = words(b, seen == log.Version(n))
		}
		b = append(b, '\n')
	}
	for _, f := range flights {
		if f.conn.client != c {
			continue
		}
		b = words(b, int(f.kind), f.conn.Port.Index, f.sent.Sub(log.Start), f.left,
			f.stray(), f.behind, f.text, bare(f.exact))
		if f.kind == aReply {
			b = words(append(b, f.reply()...), max(f.after-f.conn.heard, 0))
		}
		b = append(b, '\n')
	}
	return b
}
