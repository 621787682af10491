// Package storage is what the critical sections of a soak read and write: a
// register for each key, in the soak's own process, reached over TCP past all
// faults. It writes down what it has done, and that history is judged.
//
// A section reads the name of the section that wrote last, and writes its own. A
// fenced section sends its fencing token with both, and the storage refuses tokens
// older than the newest that it saw. Refusing old writes alone is not enough: a
// holder that has read before an older one writes would overwrite that write.
package storage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
)

// request is one line to the storage. The event is written to the log as it is,
// with the storage's time and value.
type request struct{ event.Event }

type reply struct {
	Value   string `json:"value"`
	Refused bool   `json:"refused,omitempty"`
}

type register struct {
	value string
	token uint64 // the highest one
}

// Server is a storage. Close must be called.
type Server struct {
	listener net.Listener
	log      *event.Log
	joined   sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	registers map[string]*register
	conns     map[net.Conn]bool
	writes    int
	failed    error
}

// Serve starts a storage on a loopback port.
func Serve(log *event.Log) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the storage: %w", err)
	}
	s := &Server{listener: l, log: log, registers: map[string]*register{},
		conns: map[net.Conn]bool{}}
	s.joined.Go(s.accept)
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Writes is how many writes it has accepted.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			c.Close()
			return
		}
		s.conns[c] = true
		s.joined.Go(func() { s.serve(c) })
		s.mu.Unlock()
	}
}

func (s *Server) serve(c net.Conn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	requests, replies := json.NewDecoder(bufio.NewReader(c)), json.NewEncoder(c)
	for {
		var r request
		if requests.Decode(&r) != nil {
			return // the client has gone, or was killed
		}
		answer, err := s.apply(r.Event)
		if err != nil || replies.Encode(answer) != nil {
			return
		}
	}
}

// apply does what a request asks, and logs it before it is answered. The log's
// order is the order of what was done.
func (s *Server) apply(e event.Event) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.registers[e.Key]
	if r == nil {
		r = &register{}
		s.registers[e.Key] = r
	}
	e.At = event.Now()
	refused := e.Token < r.token && !e.Shared
	switch {
	case refused:
		e.Op, e.Kind = string(e.Kind), event.Refused
	case e.Kind == event.Write:
		r.value, r.token = e.Section, e.Token
		s.writes++
	case !e.Shared: // a reader has no token
		r.token = e.Token
	}
	e.Value = r.value
	if err := s.log.Write(e); err != nil {
		s.failed = err
		return reply{}, err
	}
	return reply{Value: r.value, Refused: refused}, nil
}

// Close ends the storage and everything in it. Its error is that of the log: a
// history with holes must not be judged.
func (s *Server) Close() error {
	s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.joined.Wait()
	return s.failed
}

// ErrRefused says that the storage has seen a higher fencing token.
var ErrRefused = errors.New("the storage has seen a higher fencing token")

// Client is one goroutine's connection to the storage.
type Client struct {
	conn     net.Conn
	requests *json.Encoder
	replies  *json.Decoder
}

// Dial connects to a storage.
func Dial(addr string) (*Client, error) {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("connect to the storage: %w", err)
	}
	return &Client{c, json.NewEncoder(c), json.NewDecoder(bufio.NewReader(c))},
		nil
}

// Do sends a Read or a Write and returns the value that the storage then has, or
// ErrRefused.
func (c *Client) Do(e event.Event) (string, error) {
	var r reply
	if err := c.requests.Encode(request{e}); err != nil {
		return "", fmt.Errorf("ask the storage: %w", err)
	}
	if err := c.replies.Decode(&r); err != nil {
		return "", fmt.Errorf("ask the storage: %w", err)
	}
	if r.Refused {
		return r.Value, ErrRefused
	}
	return r.Value, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }
