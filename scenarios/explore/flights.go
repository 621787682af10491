package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/lab/wire"
)

// kind says what is on its way between a client and a node.
type kind int

// The kinds.
const (
	aMessage kind = iota // published, to a subscriber
	aRequest             // a command, to a node
	aReply               // its reply, to the client
)

// pass is something on its way, which waits to be let arrive.
type pass struct {
	kind kind
	conn *conn
	sent time.Time
	args []string
	raw  string // of a reply
	lose bool   // the connection breaks instead
	drop bool   // of a message: it never arrives, and the connection lives on
	left bool   // of a request: it was sent before its process stopped
	open chan bool

	act    int64 // of the client that it came from, see client.act
	behind int   // of a reply: how many messages its connection brings before it

	text, exact string // made when they are first asked for
}

// flight is one thing on its way.
type flight struct {
	kind   kind
	client *client
	node   int
	text   string        // the command as a person writes it
	exact  string        // no other command is written like this one
	sent   time.Duration // when the command was sent
	left   bool          // it was sent before its process stopped
	stray  bool          // a request whose sender waits for the reply no more
	behind bool          // its connection brings something else first

	pass *pass
}

// sign is that of the action that lets it arrive.
func (f flight) sign() byte {
	switch {
	case f.kind == aReply:
		return reply
	case f.kind == aMessage:
		return message
	case f.stray:
		return stray
	}
	return request
}

// transaction is what a server keeps for a connection from WATCH or MULTI to EXEC.
type transaction struct {
	queued  string // what was sent since MULTI, or nothing
	watched string // WATCH, and what its node has executed since; or nothing
}

// conn is the network of one connection: commands, replies and messages arrive when
// the run lets them.
type conn struct {
	*wire.Conn
	control *controller
	client  *client
	transaction
	channels []string // that it listens to
	heard    int      // messages that have arrived or got lost
}

// Refuse is wire.Carrier's.
func (k *conn) Refuse(args []string) string {
	if k.control.unknown(args[0], args[1:]) {
		return "-ERR unknown to the explorer\r\n"
	}
	return ""
}

// Answer is wire.Carrier's.
func (k *conn) Answer(reply string) bool { return k.Write(reply) }

// Message is wire.Carrier's.
func (k *conn) Message(message node.Pushed, text string) bool {
	f := &pass{kind: aMessage, text: text, exact: k.control.frame(message.Frame)}
	if !k.hold(f, time.Now()) || k.client.Dead() {
		return false
	}
	k.heard++
	switch {
	case f.lose:
		k.Close()
		return false
	case f.drop, k.Gone():
		return true
	}
	k.Log.Add(&history.Entry{Client: k.client.Name, Node: k.Port.Index,
		Text: text})
	return k.Write(message.Frame)
}

// published is how many messages the node has sent on the connection.
func (k *conn) published() int { return k.Server.(node.Queue).Published() }

// Command is wire.Carrier's.
func (k *conn) Command(args []string) bool {
	c, n := k.client, k.Port.Index
	command := strings.ToUpper(args[0])
	sent := time.Now()
	// A script that the node does not know is sent again with its source: that
	// is one step, as it is when the node knows it.
	p := &pass{kind: aRequest, conn: k, args: args}
	if !c.cold[n] || command != "EVAL" {
		c.arrivals.Add(1)
		c.commands.Add(1)
		if !k.hold(p, sent) {
			return false
		}
	}
	if k.control.flooded.Load() {
		if k.control.world.Over() {
			if command == "MULTI" || k.transaction != (transaction{}) {
				k.Close() // the driver would leave the replies to the others unread
				return false
			}
			return k.Write("-ERR the run is over\r\n")
		}
		k.Names.Learn(args) // the walk begins with scripts that the nodes know
		return k.Write(k.Server.Execute(args))
	}
	// A request that has left its client arrives even when that has died.
	// Time stands still while commands are sent, so a grant that this one makes
	// began only now.
	owned := c.owns(n)
	p.describe()
	reply := k.Execute(wire.Exchange{Args: args, Text: p.text, Sent: sent,
		Began: time.Now(), Ask: k.ask})
	k.follow(args)
	c.asked |= 1 << n
	if owned {
		c.owned |= 1 << n
		if !c.owns(n) {
			c.freed |= 1 << n
		}
	}
	c.seen[n] = k.control.version(n)
	c.cold[n] = command == "EVALSHA" &&
		strings.HasPrefix(reply, "-NOSCRIPT")
	if c.cold[n] {
		return k.Write(reply)
	}
	if k.Gone() {
		return false
	}
	f := &pass{kind: aReply, args: args, raw: reply, behind: k.published(),
		text: p.text, exact: p.exact}
	return k.hold(f, sent) && !f.lose && k.Write(reply)
}

// ask lets the node execute a command, see node.Scripts: scripts cost the most time.
func (k *conn) ask(args []string) string {
	c := k.control
	watched := k.queued != "" || len(k.watching()) > 0 ||
		strings.EqualFold(args[0], "WATCH")
	reply, changed, counts := c.scripts.Execute(k.Port.Node.(*node.Embedded), c.world.Now(), args,
		watched, k.Server.Execute)
	c.changed, c.counts = changed, counts
	return reply
}

// follow keeps the transactions of the node's connections after a command of k's.
func (k *conn) follow(args []string) {
	command := strings.ToUpper(args[0])
	k.subscribes(command, args[1:])
	watching := k.watching()
	if len(watching) == 0 && k.queued == "" && command != "WATCH" &&
		command != "MULTI" {
		return
	}
	exact := k.control.exact(args)
	if len(watching) > 0 {
		dump := string(k.control.dump(nil, k.Port.Index))
		for _, other := range watching {
			other.watched += exact + dump
		}
	}
	switch command {
	case "WATCH":
		k.watched += exact
	case "UNWATCH":
		if k.queued == "" {
			k.watched = ""
		}
	case "MULTI":
		k.queued = exact
	case "EXEC", "DISCARD":
		k.transaction = transaction{}
	default:
		if k.queued != "" {
			k.queued += exact
		}
	}
}

// watching are the connections that watch keys of the same node: to them a command
// matters even when it changes nothing.
func (k *conn) watching() (watching []*conn) {
	for _, other := range k.Port.Conns() {
		if other := other.Carrier.(*conn); other.watched != "" {
			watching = append(watching, other)
		}
	}
	return watching
}

// hold waits until the run lets something pass that was sent at a time.
func (k *conn) hold(p *pass, sent time.Time) bool {
	p.conn, p.sent, p.act = k, sent, k.client.acts.Load()
	return k.control.hold(p)
}

// onTheWay is what is on its way and can still have an effect, ordered by client,
// node and time of sending.
func (c *controller) onTheWay() []flight {
	c.mu.Lock()
	waiting := slices.Clone(c.waiting)
	c.mu.Unlock()
	for _, p := range waiting {
		p.describe()
	}
	slices.SortStableFunc(waiting, func(a, b *pass) int {
		// Which of two goroutines came first is chance. Messages come from others'
		// acts.
		return cmp.Or(cmp.Compare(a.conn.client.Name, b.conn.client.Name),
			cmp.Compare(a.conn.Port.Index, b.conn.Port.Index),
			a.sent.Compare(b.sent),
			cmp.Compare(min(a.kind, 1), min(b.kind, 1)),
			cmp.Compare(a.act, b.act),
			cmp.Compare(a.exact, b.exact))
	})
	flights := make([]flight, 0, len(waiting))
	for _, p := range waiting {
		f := flight{kind: p.kind, client: p.conn.client, node: p.conn.Port.Index,
			text: p.text, exact: p.exact, left: p.left, stray: p.conn.Gone(),
			sent: p.sent.Sub(c.world.Log().Start), pass: p}
		if f.kind != aRequest && f.stray {
			continue
		}
		f.behind = p.isBehind(waiting)
		if f.client.Dead() && (f.kind != aRequest ||
			f.client.Asleep() && !f.left) {
			continue
		}
		flights = append(flights, f)
	}
	return flights
}

// describe gives what waits its texts.
func (p *pass) describe() {
	if p.text == "" {
		p.text = p.conn.Names.Command(p.conn.client.Name, p.args)
		p.exact = p.conn.control.exact(p.args)
	}
}

// isBehind says whether something arrives before this on the same connection: a
// message that was published before the reply, or the other way round.
func (p *pass) isBehind(waiting []*pass) bool {
	if p.kind == aReply {
		return p.conn.heard < p.behind
	}
	return p.kind == aMessage && slices.ContainsFunc(waiting, func(q *pass) bool {
		return q.conn == p.conn && q.kind == aReply && q.behind <= p.conn.heard
	})
}

// raw is a reply; no other reply is written like this one.
func (f flight) raw() string {
	if f.kind != aReply {
		return ""
	}
	return f.pass.conn.control.frame(f.pass.raw)
}

// frame writes down what a node has sent.
func (c *controller) frame(raw string) string {
	value, err := c.world.Names().Parse(raw)
	if err != nil {
		return fmt.Sprintf(" %q", raw)
	}
	b := append(make([]byte, 0, 128), ' ', raw[0], ' ')
	return string(c.exactly(b, value))
}

// exact writes a command down so that it is told apart from every other, but for
// random words, which differ from run to run and are known by their names.
func (c *controller) exact(args []string) string {
	b := make([]byte, 0, 256)
	for _, arg := range args {
		b = append(c.exactly(b, arg), ' ')
	}
	return string(b)
}

// exactly appends a value like that. The names of random words stand without
// quotes.
func (c *controller) exactly(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "nil"...)
	case string:
		if alias, ok := c.world.Names().Alias(v); ok {
			// A time in nanoseconds is as long as a random word.
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return append(b, alias...)
			}
		}
		return quote(b, v)
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(c.exactly(b, e), ' ')
		}
		return append(b, ']')
	}
	return fmt.Appendf(b, "%T %v", value, value)
}

// deliver lets one thing arrive. It has had its effect after settle.
func (c *controller) deliver(f flight) {
	c.mu.Lock()
	i := slices.Index(c.waiting, f.pass)
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.mu.Unlock()
	c.Busy()
	f.pass.open <- true
}

// lose breaks the connection that a reply is on its way on.
func (c *controller) lose(f flight) {
	f.pass.lose = true
	c.note(f, "the reply to "+f.text+" is lost")
	c.deliver(f)
}

// loseMessage lets a message get lost: with its connection, which breaks, or
// without anybody's notice.
func (c *controller) loseMessage(f flight, breaks bool) {
	f.pass.lose, f.pass.drop = breaks, !breaks
	how := " is lost"
	if breaks {
		how = " is lost: its connection breaks"
	}
	c.note(f, f.text+how)
	c.deliver(f)
}

// note records what happens to something on its way.
func (c *controller) note(f flight, text string) {
	c.world.Log().Add(&history.Entry{Client: f.client.Name, Node: f.node,
		Text: text})
}
