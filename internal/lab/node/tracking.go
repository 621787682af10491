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

// tracking is what a server knows of the clients that it tells of changes.
type tracking struct {
	observe func(key string) history.State
	expire  func(end time.Time) bool // see Embedded.Expire

	shown    map[string]*tracked // what clients were shown
	expiring map[time.Time]bool  // when one of them ends
	reading  map[string]bool     // what the command under way has read; or nil
}

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

// saw keeps which keys the command under way has read, those inside scripts
// included, and not changed again since.
func (n *tracking) saw(command string, args []string) {
	switch {
	case len(args) == 0 || OfDriver(command) || n.reading == nil:
	case command == "GET":
		n.reading[args[0]] = true
	default:
		delete(n.reading, args[0])
	}
}

// reads keeps what a client reads that tracks it, while do executes its command.
func (n *tracking) reads(to *peer, do func() (reply string)) string {
	n.reading = map[string]bool{}
	reply := do()
	read := slices.Sorted(maps.Keys(n.reading))
	n.reading = nil
	n.invalidate(to)
	for _, key := range read {
		n.show(key, to)
	}
	return reply
}

// show remembers that a client knows a key.
func (n *tracking) show(key string, to *peer) {
	t := n.shown[key]
	if t == nil {
		t = &tracked{readers: map[*peer]bool{}}
		n.shown[key] = t
	}
	t.state = n.observe(key)
	t.readers[to] = true
	if end := t.state.Ends; !end.IsZero() && !n.expiring[end] {
		n.expiring[end] = true
		go func() {
			if n.expire(end) {
				delete(n.expiring, end)
				n.invalidate(nil)
			}
		}()
	}
}

// invalidate tells the readers of every key that is no longer as it was shown,
// and forgets them. The client that did it may not want to hear of it. A command
// that sets what was set already is not noticed.
func (n *tracking) invalidate(by *peer) {
	for _, key := range slices.Sorted(maps.Keys(n.shown)) {
		t := n.shown[key]
		if now := n.observe(key); now.Exists == t.state.Exists &&
			now.Value == t.state.Value && now.Ends.Equal(t.state.Ends) {
			continue
		}
		for to := range t.readers {
			if to != by || !to.noloop {
				to.tell(Invalidation + fmt.Sprintf("*1\r\n$%d\r\n%s\r\n",
					len(key), key))
			}
		}
		delete(n.shown, key)
	}
}

// Invalidation is how the message begins; the list of keys follows.
const Invalidation = ">2\r\n$10\r\ninvalidate\r\n"
