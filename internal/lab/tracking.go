package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Client-side caching, which miniredis does not have: a client that has sent
// CLIENT TRACKING is told once when a key that it read has changed or expired.
// See redis.io, "Client-side caching". OPTOUT, its plain form, is all there is.

// tracked is a key that clients were shown.
type tracked struct {
	state   state
	readers map[*conn]bool
}

// track executes CLIENT TRACKING ON; it is false for another command, and on a
// real server, which tracks by itself.
func (k *conn) track(args []string) bool {
	if len(args) < 3 || !strings.EqualFold(args[0], "CLIENT") ||
		!strings.EqualFold(args[1], "TRACKING") ||
		!strings.EqualFold(args[2], "ON") {
		return false
	}
	if !k.pushing {
		k.pushing = true
		go k.push()
	}
	if _, virtual := k.server.(*peer); !virtual {
		return false
	}
	k.tracking = true
	k.noloop = slices.ContainsFunc(args, func(arg string) bool {
		return strings.EqualFold(arg, "NOLOOP")
	})
	return true
}

// saw keeps which keys the command under way has read, those inside scripts
// included, and not changed again since.
func (n *Node) saw(command string, args []string) {
	switch {
	case len(args) == 0 || handshake([]string{command}) || n.reading == nil:
	case command == "GET":
		n.reading[args[0]] = true
	default:
		delete(n.reading, args[0])
	}
}

// reads executes a command for a client that tracks what it reads.
func (k *conn) reads(args []string) string {
	k.node.reading = map[string]bool{}
	reply := k.server.execute(args)
	read := slices.Sorted(maps.Keys(k.node.reading))
	k.node.reading = nil
	k.node.invalidate(k)
	for _, key := range read {
		k.node.show(key, k)
	}
	return reply
}

// show remembers that a client knows a key.
func (n *Node) show(key string, to *conn) {
	t := n.tracked[key]
	if t == nil {
		t = &tracked{readers: map[*conn]bool{}}
		n.tracked[key] = t
	}
	t.state = n.observe(key)
	t.readers[to] = true
	if end := t.state.ends; !end.IsZero() && !n.expiring[end] {
		n.expiring[end] = true
		go func() {
			if n.world.gate.wait(end, "", n.index, "expiry") {
				delete(n.expiring, end)
				n.invalidate(nil)
			}
		}()
	}
}

// invalidate tells the readers of every key that is no longer as it was shown,
// and forgets them. The client that did it may not want to hear of it. A command
// that sets what was set already is not noticed.
func (n *Node) invalidate(by *conn) {
	for _, key := range slices.Sorted(maps.Keys(n.tracked)) {
		t := n.tracked[key]
		if now := n.observe(key); now.exists == t.state.exists &&
			now.value == t.state.value && now.ends.Equal(t.state.ends) {
			continue
		}
		for reader := range t.readers {
			if reader != by || !by.noloop {
				reader.server.(*peer).tell(invalidation + fmt.Sprintf("*1\r\n$%d\r\n%s\r\n",
					len(key), key))
			}
		}
		delete(n.tracked, key)
	}
}

// invalidation is how the message begins; the list of keys follows.
const invalidation = ">2\r\n$10\r\ninvalidate\r\n"

// tell leaves a message for the connection.
func (p *peer) tell(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = append(p.messages, pushed{message, time.Now()})
	select {
	case p.pushed <- struct{}{}:
	default:
	}
}
