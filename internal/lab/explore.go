package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// A steered world is the gate in the hands of somebody else, the explorer: every
// command on its way to a node and every reply on its way back waits until it is
// told to arrive, and time stands still until it is told to move. One world can
// be steered through many runs, one after the other.

// Kind says what is on its way between a client and a node.
type Kind int

// The kinds.
const (
	Message Kind = iota // published, to a subscriber
	Request             // a command, to a node
	Reply               // its reply, to the client
)

// flight is what a pass at the gate of a steered world stands for.
type flight struct {
	kind Kind
	conn *conn
	args []string
	raw  string // of a reply
	lose bool   // the connection breaks instead
	drop bool   // of a message: it never arrives, and the connection lives on
	left bool   // of a request: it was sent before its process stopped

	act    int64 // of the client that it came from, see Act
	behind int   // of a reply: how many messages its connection brings before it

	text, exact string // made when they are first asked for
}

// Flight is one thing on its way.
type Flight struct {
	Kind   Kind
	Client *Client
	Node   int
	Text   string        // the command as a person writes it
	Exact  string        // no other command is written like this one
	Sent   time.Duration // when the command was sent
	Left   bool          // it was sent before its process stopped
	Stray  bool          // a request whose sender waits for the reply no more
	Behind bool          // its connection brings something else first

	pass *pass
}

// steering is what a steered world knows of itself.
type steering struct {
	steered    bool
	epoch      time.Time          // what the servers' clocks say when a run begins
	changed    bool               // the newest command has changed its node
	remembered map[string]*effect // what scripts do; nil when nothing is kept
}

// steered is what a steered world knows of a client.
type steered struct {
	asleep   atomic.Bool
	arrivals atomic.Int64 // how often its process has sent or done something
	acts     atomic.Int64 // see Act

	cold []bool // by node: it said NOSCRIPT, and the source follows
	seen []int  // by node: the version of the lock that it saw last

	// Of its newest call, a bit a node:
	asked uint64 // a command came to it
	owned uint64 // it had the client's grant when one came
	freed uint64 // one removed the client's grant from it
}

// transaction is what a server keeps for a connection from WATCH or MULTI to EXEC.
type transaction struct {
	queued  string // what was sent since MULTI, or nothing
	watched string // WATCH, and what its node has executed since; or nothing
}

// Steer makes commands and replies wait for Deliver from now on. Remember says
// that the world keeps what a script has done to a node and does the same again,
// without executing it, when it comes to a node that holds the same.
func (w *World) Steer(remember bool) {
	w.steered, w.epoch = true, time.Now()
	if remember {
		w.remembered = map[string]*effect{}
	}
	w.Rewind()
}

// Warm lets the clients do something one after the other, on a network without
// delays, so that the nodes know their scripts afterwards.
func (w *World) Warm(do func(c *Client)) {
	w.gate.flood(true)
	for _, c := range w.clients {
		done := make(chan struct{})
		go func() {
			defer close(done)
			do(c)
		}()
		<-done
	}
	w.Rewind()
}

// Silent says whether a client's process does nothing more by itself, watched for
// twenty minutes. The run is over then: all others have died meanwhile.
func (w *World) Silent(c *Client) bool {
	for _, other := range w.clients {
		if other != c {
			other.dead.Store(true)
		}
	}
	before := c.arrivals.Load()
	time.Sleep(20 * time.Minute) // shorter than connections may be idle
	synctest.Wait()
	return c.arrivals.Load() == before
}

// Rewind ends a run and makes the world as new, but for its nodes' script caches
// and the clients' connections. Whatever the run left behind ends: what is on
// its way is answered with an error, and every goroutine ends at its next
// command. Virtual time goes on meanwhile, so that all timers come up.
func (w *World) Rewind() {
	w.recording = false
	for _, c := range w.clients {
		c.dead.Store(true)
	}
	w.over.Store(true)
	w.gate.flood(true)
	time.Sleep(3*w.TTL + time.Minute)
	synctest.Wait()
	w.gate.flood(false)
	w.over.Store(false)
	for _, n := range w.nodes {
		n.server().FlushAll()
		n.version = 0
	}
	clear(w.grants)
	clear(w.aliases)
	clear(w.aliased)
	w.inside, w.held, w.touched = nil, 0, false
	w.entries, w.breaks, w.failures = nil, nil, nil
	for _, c := range w.clients {
		c.dead.Store(false)
		c.asleep.Store(false)
		c.arrivals.Store(0)
		c.acts.Store(0)
		c.cold = make([]bool, len(w.nodes))
		c.seen = make([]int, len(w.nodes))
		c.asked, c.owned, c.freed = 0, 0, 0
		clear(c.sent)
	}
	w.start = time.Now()
}

// serverTime is what the servers' clocks say: the same at the same moment of every
// run.
func (w *World) serverTime() time.Time { return w.epoch.Add(time.Since(w.start)) }

// flood lets everything pass the gate at once, or nothing any more.
func (g *gate) flood(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flooded.Store(open)
	for _, p := range g.waiting {
		p.open <- true
	}
	g.waiting = nil
}

// hear takes a message to its subscriber when it is told to. It is false when the
// connection is over.
func (k *conn) hear(message, text string) bool {
	f := &flight{kind: Message, text: text,
		exact: k.client.world.frame(message)}
	if !k.hold(f, time.Now()) || k.client.dead.Load() {
		return false
	}
	k.heard++
	switch {
	case f.lose:
		k.close()
		return false
	case f.drop, k.gone.Load():
		return true
	}
	k.client.world.record(&Entry{Client: k.client.Name, Node: k.node.index,
		Text: text})
	return k.write(message)
}

// published is how many messages the node has sent on the connection.
func (k *conn) published() int {
	p, ok := k.server.(*peer)
	if !ok {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.published
}

// steer takes one command to the server and its reply back, each when it is told
// to. It is false when the connection is over.
func (k *conn) steer(args []string) bool {
	w, c, n := k.client.world, k.client, k.node
	command := strings.ToUpper(args[0])
	sent := time.Now()
	// A script that the node does not know is sent again with its source: that
	// is one step, as it is when the node knows it.
	if !c.cold[n.index] || command != "EVAL" {
		c.arrivals.Add(1)
		if !k.hold(&flight{kind: Request, args: args}, sent) {
			return false
		}
	}
	if w.gate.flooded.Load() {
		if w.over.Load() {
			k.reset()
			return k.write("-ERR the run is over\r\n")
		}
		return k.write(k.server.execute(args))
	}
	// A request that has left its client arrives even when that has died.
	owned := w.owns(c, n)
	reply := k.execute(args, w.text(c, args), sent, Fault{})
	k.follow(args)
	c.asked |= 1 << n.index
	if owned {
		c.owned |= 1 << n.index
		if !w.owns(c, n) {
			c.freed |= 1 << n.index
		}
	}
	c.seen[n.index] = n.version
	c.cold[n.index] = command == "EVALSHA" &&
		strings.HasPrefix(reply, "-NOSCRIPT")
	if c.cold[n.index] {
		return k.write(reply)
	}
	if k.gone.Load() {
		return false
	}
	f := &flight{kind: Reply, args: args, raw: reply, behind: k.published()}
	return k.hold(f, sent) && !f.lose && k.write(reply)
}

// unknown says whether a steered world can't tell what a command does to the rest
// of a run, and fails: leases of a hash's fields, what a server tells a client of
// the keys that it has read, and commands that wait at the server.
func (w *World) unknown(command string, args []string) bool {
	if command = strings.ToUpper(command); command == "CLIENT" && len(args) > 0 {
		command += " " + strings.ToUpper(args[0])
	}
	switch command {
	case "HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT", "HSETEX", "HGETEX",
		"CLIENT TRACKING", "BLPOP", "BRPOP", "BLMOVE", "BLMPOP", "BRPOPLPUSH",
		"BZPOPMIN", "BZPOPMAX", "BZMPOP", "XREAD", "XREADGROUP":
		w.Fail("the explorer does not know what %s does", command)
		return true
	}
	return false
}

// follow keeps the transactions of the node's connections after a command of k's.
func (k *conn) follow(args []string) {
	n, command := k.node, strings.ToUpper(args[0])
	watching := n.watching()
	if len(watching) == 0 && k.queued == "" && command != "WATCH" &&
		command != "MULTI" {
		return
	}
	exact := k.client.world.exact(args)
	if len(watching) > 0 {
		dump := string(n.dump(nil))
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

// reset ends a transaction that a run has left behind on the connection.
func (k *conn) reset() {
	if k.queued != "" {
		k.server.execute([]string{"DISCARD"})
	} else if k.watched != "" {
		k.server.execute([]string{"UNWATCH"})
	}
	k.transaction = transaction{}
}

// watching are the connections that watch keys of the node: to them a command
// matters even when it changes nothing.
func (n *Node) watching() (watching []*conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for k := range n.conns {
		if k.watched != "" {
			watching = append(watching, k)
		}
	}
	return watching
}

// effect is what a script has answered and what its node held then.
type effect struct {
	reply string
	after []holding
}

// holding is a key of a node, with all that the node knows of it.
type holding struct {
	key    string
	value  string
	fields []string // of a hash: names and values in turn
	ttl    time.Duration
}

// ask lets the node execute a command. In a steered world a script that was
// executed before, on a node that held the same at the same time, is not executed
// again: the node is given what it held afterwards. Scripts cost the most time.
func (k *conn) ask(args []string) string {
	w, n := k.client.world, k.node
	if !w.steered {
		return k.server.execute(args)
	}
	before, plain := n.holdings()
	plain = plain && k.queued == "" && len(n.watching()) == 0
	known := ""
	if command := strings.ToUpper(args[0]); plain && w.remembered != nil &&
		(command == "EVALSHA" || command == "EVAL") {
		b := append(words(make([]byte, 0, 512), w.Now(), args), '\n')
		for _, h := range before {
			b = append(words(b, h.key, h.value, h.fields, h.ttl), '\n')
		}
		known = string(b)
	}
	if e := w.remembered[known]; e != nil {
		w.changed = !slices.EqualFunc(before, e.after, holding.equal)
		n.restore(e.after)
		return e.reply
	}
	reply := k.server.execute(args)
	after, still := n.holdings()
	w.changed = !plain || !still || !slices.EqualFunc(before, after, holding.equal)
	if known != "" && still && !strings.HasPrefix(reply, "-") {
		w.remembered[known] = &effect{reply, after}
	}
	return reply
}

// holdings are what a node holds. It is false when that is more than strings and
// hashes, or when somebody listens to messages.
func (n *Node) holdings() (holds []holding, plain bool) {
	m := n.server()
	if m.PubSubNumPat() > 0 || len(m.PubSubChannels("")) > 0 {
		return nil, false
	}
	for _, key := range m.Keys() {
		h := holding{key: key, ttl: m.TTL(key)}
		switch m.Type(key) {
		case "string":
			h.value, _ = m.Get(key)
		case "hash":
			fields, _ := m.HKeys(key)
			slices.Sort(fields)
			for _, field := range fields {
				h.fields = append(h.fields, field, m.HGet(key, field))
			}
		default:
			return nil, false
		}
		holds = append(holds, h)
	}
	return holds, true
}

func (h holding) equal(other holding) bool {
	return h.key == other.key && h.value == other.value && h.ttl == other.ttl &&
		slices.Equal(h.fields, other.fields)
}

// restore makes the node hold this and nothing else.
func (n *Node) restore(holds []holding) {
	m := n.server()
	m.FlushAll()
	for _, h := range holds {
		if h.fields != nil {
			m.HSet(h.key, h.fields...)
		} else {
			m.Set(h.key, h.value)
		}
		if h.ttl > 0 {
			m.SetTTL(h.key, h.ttl)
		}
	}
}

// hold waits at the gate.
func (k *conn) hold(f *flight, sent time.Time) bool {
	f.conn, f.act = k, k.client.acts.Load()
	return k.client.world.gate.hold(&pass{due: sent, client: k.client.Name,
		node: k.node.index, flight: f})
}

// owns says whether the lock on a node is the client's and its lease not over.
func (w *World) owns(c *Client, n *Node) bool {
	g := w.grants[place{n.index, w.Keys[0]}]
	return g != nil && g.Owner == c.Name && n.observe(w.Keys[0]).exists &&
		!w.leaseOver(g)
}

// majority says whether so many nodes, a bit each, are one.
func (w *World) majority(nodes uint64) bool {
	count := 0
	for ; nodes != 0; nodes &= nodes - 1 {
		count++
	}
	return count > len(w.nodes)/2
}

// Owns says whether a majority of the nodes has the client's grant, and its
// lease is not over.
func (c *Client) Owns() bool {
	var nodes uint64
	for _, n := range c.world.nodes {
		if c.world.owns(c, n) {
			nodes |= 1 << n.index
		}
	}
	return c.world.majority(nodes)
}

// BeginCall says that the client's program calls the lock: what FoundOwn,
// FreedOwn and Stale tell is about that call.
func (c *Client) BeginCall(call Call) {
	c.Begin(call)
	c.asked, c.owned, c.freed = 0, 0, 0
}

// FoundOwn says whether a majority of the nodes had the client's grant when a
// command of its newest call came to them.
func (c *Client) FoundOwn() bool { return c.world.majority(c.owned) }

// FreedOwn says whether commands of the client's newest call have removed its own
// grant from a majority of the nodes, before its lease was over.
func (c *Client) FreedOwn() bool { return c.world.majority(c.freed) }

// Refused takes the state of the nodes that the refused call did not ask as seen.
func (c *Client) Refused() {
	for i, n := range c.world.nodes {
		if c.asked&(1<<i) == 0 {
			c.seen[i] = n.version
		}
	}
}

// Stale says whether the lock has changed on a node since the client saw it last:
// after a refusal it may be free.
func (c *Client) Stale() bool {
	for i, n := range c.world.nodes {
		if c.seen[i] != n.version {
			return true
		}
	}
	return false
}

// Notice says that the client's program has got on by itself.
func (c *Client) Notice() {
	c.arrivals.Add(1)
	c.world.gate.notice()
}

// NoteAs is Note for one of several owners that share the client.
func (c *Client) NoteAs(owner, format string, args ...any) {
	c.world.record(&Entry{Client: owner, Node: -1,
		Text: fmt.Sprintf(format, args...)})
}

// Act says that something is about to happen to the client. What it sends then comes
// after all that it has sent before, at the same moment.
func (c *Client) Act() { c.acts.Add(1) }

// Dead says whether the client has crashed.
func (c *Client) Dead() bool { return c.dead.Load() }

// Die ends the process. What it has sent already is on its way and arrives; its
// goroutines end at their next command.
func (c *Client) Die() {
	c.dead.Store(true)
	c.world.leave(c, "")
	c.world.record(&Entry{Client: c.Name, Text: "dies", Node: -1})
}

// Pause stops the process, or lets it go on. A stopped process has been told
// nothing.
func (c *Client) Pause(asleep bool) {
	c.asleep.Store(asleep)
	g := c.world.gate
	g.mu.Lock()
	for _, p := range g.waiting {
		if p.flight != nil && p.flight.conn.client == c {
			p.flight.left = asleep
		}
	}
	g.mu.Unlock()
	what := "wakes up"
	if asleep {
		what = "stops: the whole process"
	}
	c.world.record(&Entry{Client: c.Name, Text: what, Node: -1})
}

// Asleep says whether the process is stopped.
func (c *Client) Asleep() bool { return c.asleep.Load() }

// Flights is what is on its way and can still have an effect, ordered by client,
// node and time of sending.
func (w *World) Flights() []Flight {
	w.gate.mu.Lock()
	waiting := slices.Clone(w.gate.waiting)
	w.gate.mu.Unlock()
	for _, p := range waiting {
		w.describe(p)
	}
	slices.SortStableFunc(waiting, func(a, b *pass) int {
		order := cmp.Or(cmp.Compare(a.client, b.client),
			cmp.Compare(a.node, b.node), a.due.Compare(b.due))
		if order == 0 && a.flight != nil && b.flight != nil {
			// Which of two goroutines came to the gate first is chance. Messages
			// come from others' acts.
			order = cmp.Or(cmp.Compare(min(a.flight.kind, 1), min(b.flight.kind, 1)),
				cmp.Compare(a.flight.act, b.flight.act),
				cmp.Compare(a.flight.exact, b.flight.exact))
		}
		return order
	})
	flights := make([]Flight, 0, len(waiting))
	for _, p := range waiting {
		f := Flight{Node: p.node, Text: p.text, Sent: p.due.Sub(w.start), pass: p}
		for _, c := range w.clients {
			if c.Name == p.client {
				f.Client = c
			}
		}
		if p.flight != nil {
			f.Kind, f.Left = p.flight.kind, p.flight.left
			f.Stray = p.flight.conn.gone.Load()
			if f.Kind != Request && f.Stray {
				continue
			}
			f.Text, f.Exact = p.flight.text, p.flight.exact
			f.Behind = p.behind(waiting)
		}
		if f.Client.Dead() && (f.Kind != Request ||
			f.Client.Asleep() && !f.Left) {
			continue
		}
		flights = append(flights, f)
	}
	return flights
}

// describe gives what waits at the gate its texts.
func (w *World) describe(p *pass) {
	if f := p.flight; f != nil && f.text == "" {
		f.text = w.text(f.conn.client, f.args)
		f.exact = w.exact(f.args)
	}
}

// behind says whether something arrives before this on the same connection: a
// message that was published before the reply, or the other way round.
func (p *pass) behind(waiting []*pass) bool {
	f := p.flight
	if f.kind == Reply {
		return f.conn.heard < f.behind
	}
	return f.kind == Message && slices.ContainsFunc(waiting, func(q *pass) bool {
		return q.flight != nil && q.flight.conn == f.conn &&
			q.flight.kind == Reply && q.flight.behind <= f.conn.heard
	})
}

// Raw is a reply; no other reply is written like this one.
func (f Flight) Raw() string {
	if f.Kind != Reply {
		return ""
	}
	return f.Client.world.frame(f.pass.flight.raw)
}

// frame writes down what a node has sent.
func (w *World) frame(raw string) string {
	value, err := proto.Parse(raw)
	if err != nil {
		return fmt.Sprintf(" %q", raw)
	}
	w.texts.Lock()
	defer w.texts.Unlock()
	b := append(make([]byte, 0, 128), ' ', raw[0], ' ')
	return string(w.exactly(b, value))
}

// exact writes a command down so that it is told apart from every other, but for
// random words, which differ from run to run and are known by their names.
func (w *World) exact(args []string) string {
	w.texts.Lock()
	defer w.texts.Unlock()
	b := make([]byte, 0, 256)
	for _, arg := range args {
		b = append(w.exactly(b, arg), ' ')
	}
	return string(b)
}

// exactly appends a value like that. The names of random words stand without
// quotes.
func (w *World) exactly(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "nil"...)
	case string:
		if alias, ok := w.aliases[v]; ok {
			// A time in nanoseconds is as long as a random word.
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return append(b, alias...)
			}
		}
		return quote(b, v)
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(w.exactly(b, e), ' ')
		}
		return append(b, ']')
	}
	return fmt.Appendf(b, "%T %v", value, value)
}

// Deliver lets one thing arrive. It has had its effect after Settle.
func (w *World) Deliver(f Flight) { w.pass(f.pass) }

// Lose breaks the connection that a reply is on its way on.
func (w *World) Lose(f Flight) {
	f.pass.flight.lose = true
	w.record(&Entry{Client: f.Client.Name, Node: f.Node,
		Text: "the reply to " + f.Text + " is lost"})
	w.pass(f.pass)
}

// LoseMessage lets a message get lost: with its connection, which breaks, or
// without anybody's notice.
func (w *World) LoseMessage(f Flight, breaks bool) {
	f.pass.flight.lose, f.pass.flight.drop = breaks, !breaks
	how := " is lost"
	if breaks {
		how = " is lost: its connection breaks"
	}
	w.record(&Entry{Client: f.Client.Name, Node: f.Node, Text: f.Text + how})
	w.pass(f.pass)
}

func (w *World) pass(p *pass) {
	g := w.gate
	g.mu.Lock()
	i := slices.Index(g.waiting, p)
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.mu.Unlock()
	g.passed.Add(1)
	p.open <- true
}

// Busy says that something gets on although nothing passes the gate.
func (w *World) Busy() { w.gate.passed.Add(1) }

// Changed says whether the newest command has changed what its node holds.
func (w *World) Changed() bool { return w.changed }

// Believers are the owners that believe to hold the lock.
func (w *World) Believers() []string {
	var believers []string
	for _, h := range w.inside {
		if !h.told() && !slices.Contains(believers, h.Owner) {
			believers = append(believers, h.Owner)
		}
	}
	return believers
}

// Settle waits until nothing moves any more.
func (w *World) Settle() { synctest.Wait() }

// Broken are all breaks that the world saw, in their order.
func (w *World) Broken() []*Break { return w.breaks }

// leaseEnd is when the lease of a key ends on a node; the zero time when there is
// none, or when it is over.
func (w *World) leaseEnd(n *Node, key string) time.Time {
	s := n.observe(key)
	if !s.exists || w.LeaseEnd == nil {
		return s.ends
	}
	// Who compares clocks calls a lease over only after its end.
	end, ok := w.LeaseEnd(s.value)
	if end = end.Add(time.Millisecond); ok && end.After(time.Now()) {
		return end
	}
	return time.Time{}
}

// nextLeaseEnd is when the first lease ends; the zero time when none does.
func (w *World) nextLeaseEnd() time.Time {
	var next time.Time
	for _, n := range w.nodes {
		for _, key := range w.Keys {
			end := w.leaseEnd(n, key)
			if !end.IsZero() && (next.IsZero() || end.Before(next)) {
				next = end
			}
		}
	}
	return next
}

// Leased says whether a lease will end on some node.
func (w *World) Leased() bool { return !w.nextLeaseEnd().IsZero() }

// Endless says whether the key of a client's grant has no lease on some node, so
// that only a command can free it.
func (w *World) Endless(c *Client) bool {
	for _, n := range w.nodes {
		for _, key := range w.Keys {
			g := w.grants[place{n.index, key}]
			if g == nil || g.Owner != c.Name {
				continue
			}
			s := n.observe(key)
			if !s.exists || !s.ends.IsZero() {
				continue
			}
			if w.LeaseEnd != nil {
				if _, ok := w.LeaseEnd(s.value); ok {
					continue
				}
			}
			return true
		}
	}
	return false
}

// MoveToLeaseEnd moves the clock to the next end of a lease. Whenever a client's
// timer makes it do something on the way, meanwhile is called at that moment.
func (w *World) MoveToLeaseEnd(meanwhile func()) {
	end := w.nextLeaseEnd()
	type lease struct {
		node *Node
		key  string
	}
	var ending []lease
	for _, n := range w.nodes {
		for _, key := range w.Keys {
			if w.leaseEnd(n, key).Equal(end) {
				ending = append(ending, lease{n, key})
			}
		}
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	for moving := true; moving; {
		select {
		case <-w.gate.arrived:
		case <-timer.C:
			moving = false
		}
		synctest.Wait() // all that is due at this very moment happens
		meanwhile()
	}
	for _, l := range ending {
		l.node.version++
		w.note(l.node, "the lease of "+l.key+" ends")
	}
}

// MoveToArrival moves the clock to when a timer makes a living, waking client
// send or do something, if that is before the next lease ends and within two
// leases. It is false when there was no such thing; then the run is over,
// because the clock has moved all the same.
func (w *World) MoveToArrival() bool {
	before := w.arrivals()
	timer := time.NewTimer(w.Horizon() - w.Now() - 1)
	defer timer.Stop()
	for {
		select {
		case <-w.gate.arrived:
		case <-timer.C:
			return false
		}
		synctest.Wait()
		if w.arrivals() != before {
			return true
		}
	}
}

// Horizon is when the clock must stop: at the next end of a lease, and in two
// leases at the latest.
func (w *World) Horizon() time.Duration {
	limit := time.Now().Add(2 * w.TTL)
	if end := w.nextLeaseEnd(); !end.IsZero() && end.Before(limit) {
		limit = end
	}
	return limit.Sub(w.start)
}

func (w *World) arrivals() int64 {
	var sum int64
	for _, c := range w.clients {
		if !c.dead.Load() && !c.asleep.Load() {
			sum += c.arrivals.Load()
		}
	}
	return sum
}

// Snapshot appends all that the rest of a run depends on: the clock, what the
// nodes hold and until when, whose grants they are, who believes to hold the
// lock, what is known of each client, and what is on its way. What the clients'
// processes themselves will do is not in it: they follow from what they were
// answered, and when.
func (w *World) Snapshot(b []byte, flights []Flight) []byte {
	b = append(words(b, w.Now()), '\n')
	for _, n := range w.nodes {
		b = n.dumpConnections(n.dump(b))
	}
	for _, c := range w.clients {
		if b = words(b, c.Name); c.dead.Load() {
			b = append(b, " dead\n"...)
			continue
		}
		b = words(b, c.asleep.Load(), c.asked, c.owned, c.freed)
		for i, n := range w.nodes {
			b = words(b, c.seen[i] == n.version)
		}
		b = append(b, '\n')
	}
	for _, h := range w.inside {
		b = append(words(b, bare("in"), h.Owner, h.Number, h.told()), '\n')
	}
	b = append(words(b, bare("held"), w.held), '\n')
	for _, f := range flights {
		b = words(b, f.Client.Name, int(f.Kind), f.Node, f.Sent, f.Left, f.Stray,
			f.Behind, f.Text, bare(f.Exact))
		if f.Kind == Reply {
			fl := f.pass.flight
			b = words(append(b, f.Raw()...), max(fl.behind-fl.conn.heard, 0))
		}
		b = append(b, '\n')
	}
	return b
}

// dump appends what a node holds, with the ends of leases, and whose it is.
func (n *Node) dump(b []byte) []byte {
	w, m := n.world, n.server()
	name := func(value string) string {
		if alias, ok := w.aliases[value]; ok {
			return alias
		}
		return value
	}
	for _, key := range m.Keys() {
		kind := m.Type(key)
		b = words(b, n.index, bare(kind), key)
		if ttl := m.TTL(key); ttl > 0 {
			b = words(b, bare("until"), w.Now()+ttl)
		}
		switch kind {
		case "string":
			value, _ := m.Get(key)
			b = words(b, name(value))
		case "hash":
			fields, _ := m.HKeys(key)
			slices.Sort(fields)
			for _, field := range fields {
				b = words(b, name(field), name(m.HGet(key, field)))
			}
		case "list":
			values, _ := m.List(key)
			for _, value := range values {
				b = words(b, name(value))
			}
		case "set":
			members, _ := m.Members(key)
			for _, member := range members {
				b = words(b, name(member))
			}
		case "zset":
			scores, _ := m.SortedSet(key)
			for _, member := range slices.Sorted(maps.Keys(scores)) {
				b = words(b, name(member), scores[member])
			}
		default:
			b = words(b, bare("never the same"), w.gate.passed.Load())
		}
		if g := w.grants[place{n.index, key}]; g != nil {
			b = words(b, bare("of"), bare(g.Owner), bare("since"), g.Since.Sub(w.start))
		}
		b = append(b, '\n')
	}
	return b
}

// dumpConnections appends what a node keeps for its connections: transactions, and
// messages that wait behind the one that is on its way.
func (n *Node) dumpConnections(b []byte) []byte {
	var lines []string
	n.mu.Lock()
	for k := range n.conns {
		line := k.queued + k.watched
		if p, ok := k.server.(*peer); ok && !k.gone.Load() {
			p.mu.Lock()
			for _, m := range p.messages {
				line += k.client.world.frame(m.frame)
			}
			p.mu.Unlock()
		}
		if line != "" {
			lines = append(lines, fmt.Sprintf("%d %s %s\n", n.index, k.client.Name,
				line))
		}
	}
	n.mu.Unlock()
	for _, line := range slices.Sorted(slices.Values(lines)) {
		b = append(b, line...)
	}
	return b
}

// Holds describes what the nodes hold, for people: a line a key.
func (w *World) Holds() []string {
	lines := []string{}
	for _, n := range w.nodes {
		holds, plain := n.holdings()
		if !plain {
			for line := range strings.Lines(string(n.dump(nil))) {
				lines = append(lines, strings.TrimSpace(line))
			}
			continue
		}
		for _, h := range holds {
			line := fmt.Sprintf("node %d: %s =", n.index+1, h.key)
			for _, word := range slices.Concat(h.fields, []string{h.value}) {
				if alias, ok := w.aliases[word]; ok {
					word = alias
				}
				if word != "" {
					line += " " + word
				}
			}
			if h.ttl > 0 {
				line += ", until " + seconds(w.Now()+h.ttl)
			}
			if g := w.grants[place{n.index, h.key}]; g != nil {
				line += ", " + g.Owner + "'s since " + w.clock(g.Since)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Snapshot is all that the storage's answers depend on.
func (s *Storage) Snapshot() string {
	return fmt.Sprintf("storage %d %d %d %d", s.value, s.version, s.highest,
		s.newest)
}

// Look is a string's value on the node, and how long it will be there: 0 when it is
// not there, or does not expire.
func (n *Node) Look(key string) (value string, left time.Duration) {
	m := n.server()
	value, err := m.Get(key)
	if err != nil {
		return "", 0
	}
	return value, m.TTL(key)
}
