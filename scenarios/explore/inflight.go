package explore

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// kind says what is on its way between a client and a node.
type kind int

// The kinds.
const (
	aMessage kind = iota // published, to a subscriber
	aRequest             // a command, to a node
	aReply               // its reply, to the client
)

// flight is something on its way, which waits to be let arrive.
type flight struct {
	kind  kind
	conn  *conn
	sent  time.Time
	args  []string
	raw   string // of a reply
	lose  bool   // the connection breaks instead
	fail  bool   // of a request: the node answers with an error
	drop  bool   // of a message: it never arrives, and the connection lives on
	early bool   // of a request: it was sent before its process stopped
	open  chan bool

	act    int64 // of the client that it came from, see client.act
	after  int   // of a reply: how many messages its connection brings before it
	behind bool  // its connection brings something else first

	text  string // the command as a person writes it
	exact string // no other command is written like this one
}

// is says whether an action may be about something on its way: its kind between a client
// and a node.
func (f *flight) is(a action) bool {
	return f.sign() == a.sign || f.kind == aReply && a.sign == lose ||
		f.sign() == request && a.sign == failing ||
		f.kind == aMessage && (a.sign == cut || a.sign == drop)
}

// stray says whether it is a request whose sender waits for the reply no more.
func (f *flight) stray() bool { return f.kind == aRequest && f.conn.Gone() }

// sign is that of the action that lets it arrive.
func (f *flight) sign() byte {
	switch {
	case f.kind == aReply:
		return reply
	case f.kind == aMessage:
		return message
	case f.stray():
		return stray
	}
	return request
}

// describe gives what waits its texts.
func (f *flight) describe() {
	if f.text == "" {
		f.text = f.conn.Names.Command(f.conn.client.Name, f.args)
		f.exact = f.conn.control.exact(f.args)
	}
}

// raw is a reply; no other reply is written like this one.
func (f *flight) reply() string {
	if f.kind != aReply {
		return ""
	}
	return f.conn.control.frame(f.raw)
}

// isBehind says whether something arrives before this on the same connection: a
// message that was published before the reply, or the other way round.
func (f *flight) isBehind(waiting []*flight) bool {
	if f.kind == aReply {
		return f.conn.heard < f.after
	}
	return f.kind == aMessage && slices.ContainsFunc(waiting, func(g *flight) bool {
		return g.conn == f.conn && g.kind == aReply && g.after <= f.conn.heard
	})
}

// onTheWay is what is on its way and can still have an effect, ordered by client,
// node and time of sending.
func (c *controller) onTheWay() []*flight {
	c.mu.Lock()
	waiting := slices.Clone(c.waiting)
	c.mu.Unlock()
	for _, p := range waiting {
		p.describe()
	}
	slices.SortStableFunc(waiting, func(a, b *flight) int {
		// Which of two goroutines came first is chance. Messages come from others' acts.
		return cmp.Or(cmp.Compare(a.conn.client.Name, b.conn.client.Name),
			cmp.Compare(a.conn.Port.Index, b.conn.Port.Index),
			a.sent.Compare(b.sent),
			cmp.Compare(min(a.kind, 1), min(b.kind, 1)),
			cmp.Compare(a.act, b.act),
			cmp.Compare(a.exact, b.exact))
	})
	return slices.DeleteFunc(waiting, func(f *flight) bool {
		f.behind = f.isBehind(waiting)
		if f.kind != aRequest {
			return f.conn.Gone() || f.conn.client.Dead()
		}
		return f.conn.client.Dead() && f.conn.client.Asleep() && !f.early
	})
}

// deliver lets one thing arrive. It has had its effect after settle.
func (c *controller) deliver(f *flight) {
	c.mu.Lock()
	i := slices.Index(c.waiting, f)
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.mu.Unlock()
	c.Busy()
	f.open <- true
}

// lose breaks the connection that a reply is on its way on.
func (c *controller) lose(f *flight) {
	f.lose = true
	c.note(f, "the reply to "+f.text+" is lost")
	c.deliver(f)
}

// fail lets a node answer a request with an error.
func (c *controller) fail(f *flight) {
	f.fail = true
	c.note(f, f.text+" -> "+busy)
	c.deliver(f)
}

// loseMessage lets a message get lost: with its connection, which breaks, or
// without anybody's notice.
func (c *controller) loseMessage(f *flight, breaks bool) {
	f.lose, f.drop = breaks, !breaks
	how := " is lost"
	if breaks {
		how = " is lost: its connection breaks"
	}
	c.note(f, f.text+how)
	c.deliver(f)
}

// note records what happens to something on its way.
func (c *controller) note(f *flight, text string) {
	c.world.Log().Add(&history.Entry{Client: f.conn.client.Name, Node: f.conn.Port.Index, Text: text})
}
