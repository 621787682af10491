package network

import (
	"net"
	"sync"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/node"
)

// stream is a connection to a node whose protocol is not Redis's, and the network
// in between.
type stream struct {
	*Conn
	node   node.Opaque
	raw    net.Conn
	frames chan frame // from the client

	mu      sync.Mutex
	pending *request // the request that was not answered yet; or nil
}

// frame is a unit of the protocol on its way.
type frame struct {
	raw  []byte
	text string
}

// request is a request on its way and what becomes of its reply.
type request struct {
	text   string
	sent   time.Time
	fault  Fault
	before []history.State
}

// stream connects the client's side with the node.
func (k *Conn) stream(server node.Opaque, raw net.Conn) {
	s := &stream{Conn: k, node: server, raw: raw, frames: make(chan frame, 1024)}
	go func() { // ends with the connection, as the other one does
		<-k.ended
		k.far.Close()
		raw.Close()
		k.Port.drop(k)
	}()
	go s.read()
	go s.there()
	go s.back()
}

// read takes what the client sends as soon as it is sent, as its own machine
// would: a driver that waits for its bytes to leave sees no time-out.
func (s *stream) read() {
	defer close(s.frames)
	requests := s.node.Requests(s.far)
	for {
		raw, text, err := requests.Next()
		if err != nil {
			return
		}
		select {
		case s.frames <- frame{raw, text}:
		case <-s.ended:
			return
		}
	}
}

// there takes requests to the node. Requests sent before the client hung up
// arrive.
func (s *stream) there() {
	defer s.end()
	for f := range s.frames {
		if !s.passes() || f.text != "" && !s.send(f.text) {
			return
		}
		if _, err := s.raw.Write(f.raw); err != nil {
			return
		}
	}
}

// passes waits while nothing passes between the client and the network.
func (s *stream) passes() bool {
	for {
		held := s.Client.held()
		if held.IsZero() {
			return !s.Client.dead.Load()
		}
		if !s.turn(held, "frame") {
			return false
		}
	}
}

// send decides the fate of a request, and waits until it may be delivered. It is
// false when the connection is over.
func (s *stream) send(text string) bool {
	c, p := s.Client, s.Port
	r := &request{text: text, sent: time.Now()}
	s.Real.Take()
	var nth int
	var call Call
	r.fault, nth, call = c.fate()
	sends := c.sends(p, r.fault, nth, text)
	if r.fault.Hang {
		c.says(p, nth, text, "no answer")
	}
	s.Real.Give()
	if r.fault.Hang {
		<-s.ended
	}
	if !sends || r.fault.Hang {
		return false
	}
	if r.fault.Deliver > 0 {
		c.hold(r.fault)
		if !s.turn(s.Log.Moment(r.fault.Deliver), text) {
			return false
		}
	}
	s.Real.Take()
	defer s.Real.Give()
	if call == Release {
		for _, key := range s.Log.Keys {
			r.before = append(r.before, s.node.Observe(key))
		}
	}
	s.mu.Lock()
	s.pending = r
	s.mu.Unlock()
	return true
}

// back takes replies to the client.
func (s *stream) back() {
	defer s.end()
	replies := s.node.Replies(s.raw)
	for {
		raw, text, err := replies.Next()
		if err != nil {
			return
		}
		if text != "" && !s.reply(text) || !s.passes() {
			return
		}
		if _, err := s.far.Write(raw); err != nil {
			return
		}
	}
}

// reply records the reply to the pending request and does to it what was
// decided. It is false when the connection is over.
func (s *stream) reply(text string) bool {
	s.mu.Lock()
	r := s.pending
	s.pending = nil
	s.mu.Unlock()
	if r == nil {
		return true // more of a reply that has begun
	}
	c, log := s.Client, s.Log
	due := c.answered(r.fault, r.sent)
	s.Real.Take()
	for i, before := range r.before {
		after := s.node.Observe(log.Keys[i])
		if after.Value != before.Value {
			after = history.State{} // its new holder is told so later
		}
		at := history.Place{Node: s.Port.Index, Key: log.Keys[i]}
		if g := log.Grants[at]; g != nil && g.State.Value == before.Value {
			log.Executed(history.Command{Client: c.Name, Text: r.text,
				Sent: r.sent, Began: r.sent, Late: c.late(r.sent)}, at, before, after)
		}
	}
	c.records(&history.Entry{Client: c.Name, Node: s.Port.Index, Text: r.text,
		Reply: text, Command: r.text}, r.fault, r.sent)
	if r.fault.CrashAfter {
		c.Crash()
	}
	s.Real.Give()
	if r.fault.CrashAfter || r.fault.LoseReply {
		s.severed.Store(true)
		return false
	}
	if r.fault.Answer > 0 {
		c.hold(r.fault)
	}
	return !due.After(time.Now()) || s.turn(due, text)
}
