package lab

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// Store is a real server of another kind than Redis. What it holds, and for
// whom, it says itself; how its protocol is cut into requests, too.
type Store interface {
	Server

	// Holder says what the store has for the lock of that name: a text that
	// differs from grant to grant, "" when the lock is free; and when the lease
	// ends, zero when it has none or lasts as long as a session.
	Holder(ctx context.Context, key string) (holder string, ends time.Time,
		err error)

	// Delete frees the lock as an operator does, and takes it from its holder.
	Delete(ctx context.Context, key string) error

	// Tidy removes all that locks whose names contain key have left behind.
	Tidy(ctx context.Context, key string) error

	// Requests reads what a client sends, and Replies what a server sends.
	Requests(from io.Reader) Frames
	Replies(from io.Reader) Frames
}

// OwnStore is a store that was started for the stories. It keeps its data.
type OwnStore interface {
	Store
	Kill()
	Restart() error
	Pause() error
	Resume() error
}

// Frames are the units of a protocol in one direction of a connection, one after
// the other. What a driver or a server sends on its own account, a greeting or a
// keep-alive, has no text.
type Frames interface {
	Next() (raw []byte, text string, err error)
}

// Store says whether the world's lock lives in a store that is not Redis.
func (w *World) Store() bool {
	if !w.real() {
		return false
	}
	_, ok := w.Servers[0].(Store)
	return ok
}

// store is the node's server when it is no Redis.
func (n *Node) store() Store {
	s, _ := n.remote.(Store)
	return s
}

// observeStore is observe on a store. One that does not answer has nothing to
// say.
func (n *Node) observeStore(key string) state {
	n.mu.Lock()
	away := n.refusing || n.silent
	n.mu.Unlock()
	if away {
		return state{}
	}
	ctx, cancel := context.WithTimeout(n.world.ctx, time.Second)
	defer cancel()
	holder, ends, err := n.store().Holder(ctx, key)
	if err != nil || holder == "" {
		return state{}
	}
	return state{exists: true, value: holder, ends: ends,
		serverEnds: ends.UnixMilli()}
}

// granted keeps the books of a store's grants: who was told that it has the lock
// has what the store shows.
func (w *World) granted(c *Client) {
	for _, key := range w.Keys {
		s := w.nodes[0].observe(key)
		if !s.exists {
			continue
		}
		w.touched = true
		// Who believes to hold what the store still has for another has nothing.
		if g := w.grants[place{0, key}]; g == nil || g.state.value != s.value {
			w.grants[place{0, key}] = &Grant{Owner: c.Name, Since: time.Now(),
				state: s}
		}
	}
}

// stream is a connection to a store, and the network in between.
type stream struct {
	*conn
	raw    net.Conn
	frames chan frame // from the client

	mu      sync.Mutex
	pending *flightOf // the request that was not answered yet; or nil
}

// flightOf is a request on its way and what becomes of its reply.
type flightOf struct {
	text   string
	sent   time.Time
	fault  Fault
	call   Call
	before []state
}

// serveStream connects far, the client's side, with the store.
func (k *conn) serveStream(raw net.Conn) {
	s := &stream{conn: k, raw: raw, frames: make(chan frame, 1024)}
	go func() { // ends with the connection, as the other one does
		<-k.ended
		k.far.Close()
		raw.Close()
		k.node.mu.Lock()
		delete(k.node.conns, k)
		k.node.mu.Unlock()
	}()
	go s.read()
	go s.there()
	go s.back()
}

// frame is a unit of the protocol on its way.
type frame struct {
	raw  []byte
	text string
}

// read takes what the client sends as soon as it is sent, as its own machine
// would: a driver that waits for its bytes to leave sees no time-out.
func (s *stream) read() {
	defer close(s.frames)
	requests := s.node.store().Requests(s.far)
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

// there takes requests to the store. What was sent before the client hung up
// arrives.
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
		held := s.client.held()
		if held.IsZero() {
			return !s.client.dead.Load()
		}
		if !s.client.world.gate.sleep(held) {
			return false
		}
	}
}

// send decides the fate of a request, and waits until it may be delivered. It is
// false when the connection is over.
func (s *stream) send(text string) bool {
	w, c, n := s.client.world, s.client, s.node
	f := &flightOf{text: text, sent: time.Now()}
	w.take()
	f.fault, f.call = c.fate(), c.calls()
	note := func(reply string) {
		w.record(&Entry{Client: c.Name, Node: n.index, Text: text, Reply: reply})
	}
	switch {
	case f.fault.CrashBefore:
		note("never sent: " + c.Name + " dies")
		c.Crash()
		w.give()
		return false
	case f.fault.Refuse:
		note("never sent: connection error")
		w.give()
		return false
	}
	if f.fault.Hang {
		note("no answer")
		w.give()
		<-s.ended
		return false
	}
	w.give()
	if f.fault.Deliver > 0 {
		c.hold(f.fault)
		if !w.gate.sleep(w.moment(f.fault.Deliver)) || c.dead.Load() {
			return false
		}
	}
	w.take()
	defer w.give()
	if f.call == Release {
		for _, key := range w.Keys {
			f.before = append(f.before, n.observe(key))
		}
	}
	s.mu.Lock()
	s.pending = f
	s.mu.Unlock()
	return true
}

// back takes replies to the client.
func (s *stream) back() {
	defer s.end()
	replies := s.node.store().Replies(s.raw)
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
	f := s.pending
	s.pending = nil
	s.mu.Unlock()
	if f == nil {
		return true // more of a reply that has begun
	}
	w, c, n := s.client.world, s.client, s.node
	due := w.moment(f.fault.Answer)
	if f.fault.AnswerAfter > 0 {
		due = f.sent.Add(w.lasts(f.fault.AnswerAfter))
	}
	w.take()
	for i, before := range f.before {
		after := n.observe(w.Keys[i])
		if after.value != before.value {
			after = state{} // who got it meanwhile is told so later
		}
		at := place{n.index, w.Keys[i]}
		if g := w.grants[at]; g != nil && g.state.value == before.value {
			w.account(n, w.Keys[i], c, f.sent, before, after, f.text)
		}
	}
	e := &Entry{Client: c.Name, Node: n.index, Text: f.text + c.late(f.sent),
		Reply: text, Command: f.text}
	switch {
	case f.fault.CrashAfter:
		e.Reply += ", and " + c.Name + " dies"
	case f.fault.LoseReply:
		e.Reply += ", which is lost"
	case due.After(time.Now()):
		e.Reply += ", which arrives at " + w.clock(due)
	}
	w.record(e)
	if f.fault.CrashAfter {
		c.Crash()
	}
	w.give()
	if f.fault.CrashAfter || f.fault.LoseReply {
		s.severed.Store(true)
		return false
	}
	if f.fault.Answer > 0 {
		c.hold(f.fault)
	}
	return !due.After(time.Now()) || w.gate.sleep(due) && !c.dead.Load()
}
