package node

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
)

// peer is what an embedded server knows of a connection.
type peer struct {
	node    *Embedded
	changes *tracking
	server  *server.Server
	peer    *server.Peer

	subscriber atomic.Bool
	inbox

	mu        sync.Mutex
	out       bytes.Buffer
	published int // how many messages there were so far

	tracking bool // the client is told of changes, see tracking.go
	noloop   bool // but not of its own
}

func newPeer(n *Embedded, of *server.Server, changes *tracking) *peer {
	p := &peer{node: n, changes: changes, server: of, inbox: newInbox()}
	p.peer = server.NewPeer(bufio.NewWriter(p))
	return p
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

// tell leaves a message for the connection.
func (p *peer) tell(message string) { p.put(Pushed{message, time.Now()}) }

// Close ends the subscriptions; the server keeps nothing else of a connection.
func (p *peer) Close() {
	if p.subscriber.Load() {
		p.dispatch([]string{"UNSUBSCRIBE"})
	}
}

func (p *peer) Execute(args []string) string {
	if strings.HasSuffix(strings.ToUpper(args[0]), "SUBSCRIBE") {
		p.subscriber.Store(true)
	}
	switch {
	case p.track(args):
		return "+OK\r\n"
	case OfDriver(args[0]):
		return p.dispatch(args)
	case p.tracking:
		return p.changes.reads(p, func() string { return p.dispatch(args) })
	}
	reply := p.script(args)
	p.changes.invalidate(p)
	return reply
}

// script is dispatch, but a script that is known to do something is not executed
// again. A server that has never seen the script says so.
func (p *peer) script(args []string) string {
	n := p.node
	if n.Scripts == nil || n.sent.isSpecial() || n.rate != 0 || len(args) < 2 ||
		n.memory.full.Load() ||
		!strings.EqualFold(args[0], "EVALSHA") ||
		!strings.HasSuffix(p.dispatch([]string{"SCRIPT", "EXISTS", args[1]}), ":1\r\n") {
		return p.dispatch(args)
	}
	reply := n.Scripts.Execute(n, AnyTime, args, p.dispatch)
	return reply
}

// dispatch lets the server execute a command and returns the raw reply.
func (p *peer) dispatch(args []string) string {
	if !OfDriver(args[0]) { // those are executed at any time
		p.node.memory.begins()
	}
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
	r := bufio.NewReaderSize(bytes.NewReader(b), 512)
	for {
		frame, err := proto.Read(r)
		if err != nil {
			return len(b), nil
		}
		if !isMessage(frame) {
			p.out.WriteString(frame)
			continue
		}
		p.tell(frame)
		p.published++
	}
}

func isMessage(frame string) bool {
	parts := strings.SplitN(frame, "\r\n", 4)
	return len(parts) > 2 && (parts[2] == "message" || parts[2] == "pmessage" ||
		parts[2] == "smessage" || parts[2] == "invalidate")
}

func (p *peer) Published() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.published
}

func (p *peer) Waiting() (frames []string) {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	for _, m := range p.messages {
		frames = append(frames, m.Frame)
	}
	return frames
}

// Queue is a connection that knows which messages are on their way to it.
type Queue interface {
	Published() int             // how many messages there were so far
	Waiting() (frames []string) // those that were not taken yet
}
