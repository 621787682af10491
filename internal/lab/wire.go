package lab

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
)

// conn is the server's end of a connection, and the network in between. It reads
// what the client sends as soon as it is sent: a client that waits for its own
// bytes to leave may hold a mutex of its driver.
type conn struct {
	client *Client
	node   *Node
	far    net.Conn

	commands chan []string
	server   backend
	answers  chan answer   // late replies; nil until there is one
	late     atomic.Int32  // how many have not arrived
	writing  chan struct{} // holds one element while somebody writes
	pushing  bool          // the goroutine for messages runs
	tracking bool          // the client is told of changes, see tracking.go
	noloop   bool          // but not of its own
	ended    chan struct{} // the server has closed the connection
	end      func()
	severed  atomic.Bool // the network or the server cut it, not the client
	gone     atomic.Bool // the client has closed it

	transaction     // in a steered world
	heard       int // in a steered world: messages that have arrived or got lost
}

// connect opens a connection and starts its goroutines; the server's close or
// the client's ends them.
func connect(c *Client, n *Node, addr string) (net.Conn, error) {
	near, far := net.Pipe()
	if err := serveConn(c, n, far, addr); err != nil {
		return nil, err
	}
	return near, nil
}

// serveConn takes the server's end of a connection, far, and connects it with the
// node at one of its addresses.
func serveConn(c *Client, n *Node, far net.Conn, addr string) error {
	ended := make(chan struct{})
	k := &conn{
		client: c, node: n, far: far,
		commands: make(chan []string, 1024),
		writing:  make(chan struct{}, 1),
		ended:    ended,
		end:      sync.OnceFunc(func() { close(ended) }),
	}
	if n.store() != nil {
		raw, err := net.DialTimeout("tcp", n.remote.Addr(), time.Second)
		if err != nil {
			return err
		}
		n.keep(k)
		k.serveStream(raw)
		return nil
	}
	var err error
	if k.server, err = n.accept(addr); err != nil {
		return err
	}
	n.keep(k)
	go k.read()
	go k.serve()
	return nil
}

// keep remembers a connection, to cut it.
func (n *Node) keep(k *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[k] = struct{}{}
}

// backend is a server's side of one connection.
type backend interface {
	// execute returns the raw reply, or nothing when the server is gone.
	execute(args []string) string
	// subscribe says that messages will come between the replies.
	subscribe()
	// news has an element when message has something.
	news() <-chan struct{}
	message() pushed
	close()
}

// pushed is a message to a subscriber; without a frame there is none.
type pushed struct {
	frame string
	at    time.Time // when it was published
}

// close cuts the connection.
func (k *conn) close() {
	k.severed.Store(true)
	k.end()
	k.far.Close()
}

func (k *conn) read() {
	defer close(k.commands)
	r := bufio.NewReader(k.far)
	for {
		args, err := readCommand(r)
		if err != nil {
			k.gone.Store(true)
			return
		}
		select {
		case k.commands <- args:
		case <-k.ended:
			return
		}
	}
}

// readCommand reads a request: an array of bulk strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if line[0] != kind || err != nil || n < 0 || kind == '*' && n == 0 {
		return 0, fmt.Errorf("not a Redis request: %q", line)
	}
	return n, nil
}

func (k *conn) serve() {
	for args := range k.commands {
		if !k.handle(args) {
			break
		}
	}
	k.node.mu.Lock()
	delete(k.node.conns, k)
	k.node.mu.Unlock()
	k.end()
	k.far.Close()
	k.server.close()
}

// handshake are commands that belong to the driver: they neither wait at the
// gate nor are recorded.
func handshake(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "HELLO", "AUTH", "CLIENT", "SELECT", "READONLY", "COMMAND", "PING",
		"QUIT", "INFO", "CLUSTER", "ASKING":
		return true
	}
	return false
}

// handle takes one command to the server and its reply back. It is false when
// the connection is over.
func (k *conn) handle(args []string) bool {
	w, c, n := k.client.world, k.client, k.node
	if w.steered && w.unknown(args[0], args[1:]) {
		return k.write("-ERR unknown to the explorer\r\n")
	}
	if k.track(args) {
		return k.queue("+OK\r\n")
	}
	if handshake(args) {
		w.gate.passed.Add(1) // for watch: something happens
		reply := k.server.execute(args)
		return reply != "" && k.queue(reply)
	}
	if w.steered {
		return k.steer(args)
	}
	text := w.text(c, args)
	sent := time.Now()
	if !w.gate.wait(sent.Add(c.latency()), c.Name, n.index, text) ||
		c.dead.Load() {
		return false
	}
	w.take()
	fault := c.fate()
	w.give()
	if fault.CrashBefore {
		w.take()
		defer w.give()
		w.record(&Entry{Client: c.Name, Node: n.index, Text: text,
			Reply: "never sent: " + c.Name + " dies"})
		c.Crash()
		return false
	}
	if fault.Refuse {
		w.take()
		defer w.give()
		w.record(&Entry{Client: c.Name, Node: n.index, Text: text,
			Reply: "never sent: connection error"})
		return false
	}
	if fault.Deliver > 0 {
		c.hold(fault)
	}
	delayed := fault.Deliver > 0 || c.Far > 0
	for {
		due := w.moment(fault.Deliver)
		if held := c.held(); held.After(due) {
			due = held
		}
		if !time.Now().Before(due) {
			break
		}
		delayed = true
		if !w.gate.wait(due, c.Name, n.index, text) || c.dead.Load() {
			return false
		}
	}
	if k.severed.Load() {
		return false
	}
	n.mu.Lock()
	silent := n.silent
	n.mu.Unlock()
	if silent || fault.Hang {
		w.take()
		w.record(&Entry{Client: c.Name, Node: n.index, Text: text,
			Reply: "no answer"})
		w.give()
		<-k.ended
		return false
	}
	w.take()
	if !delayed {
		w.tardy(time.Since(sent))
	}
	reply := k.execute(args, text, sent, fault)
	if fault.CrashAfter {
		c.Crash()
	}
	w.give()
	if fault.CrashAfter || reply == "" {
		return false
	}
	if fault.LoseReply {
		return false
	}
	return k.answer(answer{reply, text, sent, time.Now(), fault})
}

// answer is a reply on its way back.
type answer struct {
	frame string
	text  string // of the command
	sent  time.Time
	given time.Time // when the server gave it
	fault Fault
}

// answer takes a reply back. A late one keeps the later ones of its connection
// waiting, but not the commands: a driver may send them without waiting.
func (k *conn) answer(a answer) bool {
	if k.late.Load() == 0 && !time.Now().Before(k.due(a)) {
		return k.write(a.frame)
	}
	if k.answers == nil {
		k.answers = make(chan answer, cap(k.commands))
		go k.deliver()
	}
	k.late.Add(1)
	k.answers <- a
	return true
}

// queue takes a reply back that is on its way for no time. It must not overtake
// the others: a driver that sends without waiting knows them by their order.
func (k *conn) queue(frame string) bool {
	if k.late.Load() == 0 {
		return k.write(frame)
	}
	now := time.Now()
	return k.answer(answer{frame: frame, text: "handshake", sent: now,
		given: now.Add(-k.client.latency())})
}

// due is when a reply reaches the client.
func (k *conn) due(a answer) time.Time {
	w := k.client.world
	due := w.moment(a.fault.Answer)
	if a.fault.AnswerAfter > 0 {
		due = a.sent.Add(w.lasts(a.fault.AnswerAfter))
	}
	if arrives := a.given.Add(k.client.latency()); arrives.After(due) {
		due = arrives
	}
	if held := k.client.held(); held.After(due) {
		due = held
	}
	return due
}

// deliver takes late replies back, in their order.
func (k *conn) deliver() {
	defer k.far.Close()
	for {
		var a answer
		select {
		case a = <-k.answers:
		case <-k.ended:
			return
		}
		if a.fault.Answer > 0 {
			k.client.hold(a.fault)
		}
		for {
			due := k.due(a)
			if !time.Now().Before(due) {
				break
			}
			if !k.client.world.gate.wait(due, k.client.Name, k.node.index,
				"reply to "+a.text) || k.client.dead.Load() || k.severed.Load() {
				return
			}
		}
		if !k.write(a.frame) {
			return
		}
		k.late.Add(-1)
	}
}

// execute lets the server execute a command and records it, with what it did to
// the lock.
func (k *conn) execute(args []string, text string, sent time.Time,
	fault Fault) string {
	w, c, n := k.client.world, k.client, k.node
	before := make([]state, len(w.Keys))
	for i, key := range w.Keys {
		before[i] = n.observe(key)
	}
	if strings.Contains(strings.ToUpper(args[0]), "SUBSCRIBE") && !k.pushing {
		k.pushing = true
		k.server.subscribe()
		go k.push()
	}
	var reply string
	if k.tracking {
		reply = k.reads(args)
	} else {
		reply = k.ask(args)
		n.invalidate(k)
	}
	if reply == "" {
		return ""
	}
	for i, key := range w.Keys {
		after := n.observe(key)
		altered := w.altered(before[i], after)
		if altered {
			c.decides()
		}
		if altered && i == 0 {
			n.leased = time.Now()
		}
		w.account(n, key, c, sent, before[i], after, text)
	}
	w.learn(args, reply)
	e := &Entry{Client: c.Name, Node: n.index, Text: text,
		Reply: w.reply(c, reply), Command: strings.ToUpper(args[0]) +
			strings.TrimPrefix(strings.Join(args, " "), args[0])}
	e.Text += strings.TrimSuffix(c.late(sent), ",")
	switch {
	case fault.CrashAfter:
		e.Reply += ", and " + c.Name + " dies"
	case fault.LoseReply:
		e.Reply += ", which is lost"
	case fault.Answer > w.Now():
		e.Reply += ", which arrives at " + seconds(fault.Answer)
	case fault.AnswerAfter > 0:
		e.Reply += ", which arrives at " + w.clock(sent.Add(w.lasts(fault.AnswerAfter)))
	case c.held().After(time.Now()):
		e.Reply += ", which arrives at " + w.clock(c.held())
	}
	w.record(e)
	return reply
}

// push takes messages to a subscriber, through the gate like commands.
func (k *conn) push() {
	w, c, n := k.client.world, k.client, k.node
	for over := false; !over; {
		var message pushed
		select {
		case <-k.server.news():
		case <-k.ended:
			// What was published before the end takes its turn at the gate all
			// the same: which of the two comes first here is chance.
			over = true
		}
		for {
			if message = k.server.message(); message.frame == "" {
				break
			}
			text := "message " + w.reply(c, strings.TrimPrefix(message.frame,
				invalidation))
			if w.steered {
				if !k.hear(message.frame, text) {
					return
				}
				continue
			}
			if !w.gate.wait(message.at.Add(c.latency()), c.Name, n.index, text) ||
				c.dead.Load() {
				return
			}
			if k.gone.Load() {
				continue // nobody is there to hear it
			}
			n.mu.Lock()
			muted := n.muted
			n.mu.Unlock()
			if muted {
				w.take()
				w.record(&Entry{Client: c.Name, Node: n.index, Text: text,
					Reply: "which is lost"})
				w.give()
				continue
			}
			if held := c.held(); held.After(time.Now()) &&
				!w.gate.wait(held, c.Name, n.index, text) {
				return
			}
			w.take()
			w.record(&Entry{Client: c.Name, Node: n.index, Text: text})
			w.give()
			if !k.write(message.frame) {
				return
			}
		}
	}
}

// write sends a reply or a message to the client.
func (k *conn) write(frame string) bool {
	select {
	case k.writing <- struct{}{}:
	case <-k.ended:
		return false
	}
	defer func() { <-k.writing }()
	_, err := io.WriteString(k.far, frame)
	return err == nil
}

// peer is what a server knows of a connection.
type peer struct {
	server *server.Server
	peer   *server.Peer

	subscriber atomic.Bool
	pushed     chan struct{}

	mu        sync.Mutex
	out       bytes.Buffer
	messages  []pushed
	published int // how many messages there were so far
}

func newPeer(m *miniredis.Miniredis) *peer {
	p := &peer{server: m.Server(), pushed: make(chan struct{}, 1)}
	p.peer = server.NewPeer(bufio.NewWriter(p))
	return p
}

func (p *peer) subscribe()            { p.subscriber.Store(true) }
func (p *peer) news() <-chan struct{} { return p.pushed }

// close ends the subscriptions; the server keeps nothing else of a connection.
func (p *peer) close() {
	if p.subscriber.Load() {
		p.execute([]string{"UNSUBSCRIBE"})
	}
}

// execute dispatches a command and returns the raw reply.
func (p *peer) execute(args []string) string {
	p.server.Dispatch(p.peer, args)
	p.peer.Flush()
	p.mu.Lock()
	defer p.mu.Unlock()
	reply := p.out.String()
	p.out.Reset()
	return reply
}

// Write takes what the server has to say: replies, and messages to a subscriber
// that arrive at any time. It never blocks, for the server holds its own mutex.
func (p *peer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.subscriber.Load() {
		return p.out.Write(b)
	}
	r := bufio.NewReader(bytes.NewReader(b))
	for {
		frame, err := proto.Read(r)
		if err != nil {
			return len(b), nil
		}
		if !isMessage(frame) {
			p.out.WriteString(frame)
			continue
		}
		p.messages = append(p.messages, pushed{frame, time.Now()})
		p.published++
		select {
		case p.pushed <- struct{}{}:
		default:
		}
	}
}

func isMessage(frame string) bool {
	parts := strings.SplitN(frame, "\r\n", 4)
	return len(parts) > 2 && (parts[2] == "message" || parts[2] == "pmessage" ||
		parts[2] == "invalidate")
}

// message takes the oldest message, or none.
func (p *peer) message() pushed {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.messages) == 0 {
		return pushed{}
	}
	message := p.messages[0]
	p.messages = p.messages[1:]
	return message
}
