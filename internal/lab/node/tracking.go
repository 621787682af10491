package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// Client-side caching, which miniredis does not have: a client that has sent
// CLIENT TRACKING is told once when a key that it read has changed or expired.
// See redis.io, "Client-side caching". OPTOUT, its plain form, is all there is.

// tracked is a key that clients were shown.
type tracked struct {
	state   history.State
	readers map[*peer]bool
}

// Tracks says whether a command is CLIENT TRACKING ON: messages may come from
// then on.
func Tracks(args []string) bool {
	return len(args) > 2 && strings.EqualFold(args[0], "CLIENT") &&
		strings.EqualFold(args[1], "TRACKING") && strings.EqualFold(args[2], "ON")
}

// track executes CLIENT TRACKING ON; it is false for another command.
func (p *peer) track(args []string) bool {
	if !Tracks(args) {
		return false
	}
	p.tracking = true
	p.noloop = slices.ContainsFunc(args, func(arg string) bool {
		return strings.EqualFold(arg, "NOLOOP")
	})
	return true
}

// saw keeps which keys the command under way has read, those inside scripts
// included, and not changed again since.
func (n *Embedded) saw(command string, args []string) {
	switch {
	case len(args) == 0 || OfDriver(command) || n.reading == nil:
	case command == "GET":
		n.reading[args[0]] = true
	default:
		delete(n.reading, args[0])
	}
}

// reads executes a command for a client that tracks what it reads.
func (p *peer) reads(args []string) string {
	n := p.node
	n.reading = map[string]bool{}
	reply := p.dispatch(args)
	read := slices.Sorted(maps.Keys(n.reading))
	n.reading = nil
	n.invalidate(p)
	for _, key := range read {
		n.show(key, p)
	}
	return reply
}

// show remembers that a client knows a key.
func (n *Embedded) show(key string, to *peer) {
	t := n.tracked[key]
	if t == nil {
		t = &tracked{readers: map[*peer]bool{}}
		n.tracked[key] = t
	}
	t.state = n.Observe(key)
	t.readers[to] = true
	if end := t.state.Ends; !end.IsZero() && !n.expiring[end] {
		n.expiring[end] = true
		go func() {
			if n.Expire(end) {
				delete(n.expiring, end)
				n.invalidate(nil)
			}
		}()
	}
}

// invalidate tells the readers of every key that is no longer as it was shown,
// and forgets them. The client that did it may not want to hear of it. A command
// that sets what was set already is not noticed.
func (n *Embedded) invalidate(by *peer) {
	for _, key := range slices.Sorted(maps.Keys(n.tracked)) {
		t := n.tracked[key]
		if now := n.Observe(key); now.Exists == t.state.Exists &&
			now.Value == t.state.Value && now.Ends.Equal(t.state.Ends) {
			continue
		}
		for reader := range t.readers {
			if reader != by || !by.noloop {
				reader.tell(Invalidation + fmt.Sprintf("*1\r\n$%d\r\n%s\r\n",
					len(key), key))
			}
		}
		delete(n.tracked, key)
	}
}

// Invalidation is how the message begins; the list of keys follows.
const Invalidation = ">2\r\n$10\r\ninvalidate\r\n"

// tell leaves a message for the connection.
func (p *peer) tell(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = append(p.messages, Pushed{message, time.Now()})
	select {
	case p.pushed <- struct{}{}:
	default:
	}
}
