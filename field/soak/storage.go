package main

import (
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"sync"
)

// Reply is what the storage answers.
type Reply struct {
	Value   string
	Refused bool
}

type register struct {
	value string
	token uint64 // the highest one
}

// storage is what the critical sections of a soak read and write: a
// register for each key, in the soak's own process, reached over TCP past all
// faults. It writes down what it has done, and that history is judged.
//
// A section reads the name of the section that wrote last, and writes its own. A
// fenced section sends its fencing token with both, and the storage refuses tokens
// older than the newest that it saw. Refusing old writes alone is not enough: a
// holder that has read before an older one writes would overwrite that write.
//
// Close must be called, when all of its clients have ended.
type storage struct {
	listener net.Listener
	log      *eventLog
	joined   sync.WaitGroup

	mu        sync.Mutex
	registers map[string]register
	writes    int
	failed    error
}

// serveStorage starts a storage on a loopback port.
func serveStorage(log *eventLog) (*storage, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the storage: %w", err)
	}
	s := &storage{listener: l, log: log, registers: map[string]register{}}
	calls := rpc.NewServer()
	if err := calls.RegisterName("Storage", calling{s}); err != nil {
		return nil, fmt.Errorf("start the storage: %w", errors.Join(err, l.Close()))
	}
	s.joined.Go(func() { s.accept(calls) })
	return s, nil
}

// Addr is where it listens.
func (s *storage) Addr() string { return s.listener.Addr().String() }

// Writes is how many writes it has accepted.
func (s *storage) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func (s *storage) accept(calls *rpc.Server) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.joined.Go(func() { calls.ServeConn(c) })
	}
}

// calling is what its clients call.
type calling struct{ *storage }

// Apply does what a request asks, and logs the event as it is, with the storage's time
// and value, before it is answered. The log's order is the order of what was done.
func (s calling) Apply(e Event, answer *Reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.registers[e.Key]
	e.At = clock()
	refused := e.Token < r.token && !e.Shared
	switch {
	case refused:
		e.Op, e.Kind = string(e.Kind), Refused
	case e.Kind == Write:
		r.value, r.token = e.Section, e.Token
		s.writes++
	case !e.Shared: // a reader has no token
		r.token = e.Token
	}
	s.registers[e.Key] = r
	e.Value = r.value
	if err := s.log.Write(e); err != nil {
		s.failed = err
		return err
	}
	*answer = Reply{Value: r.value, Refused: refused}
	return nil
}

// Close ends the storage, and joins what has served its clients. Its error is that of
// the log: a history with holes must not be judged.
func (s *storage) Close() error {
	s.listener.Close()
	s.joined.Wait()
	return s.failed
}

// errRefused says that the storage has seen a higher fencing token.
var errRefused = errors.New("the storage has seen a higher fencing token")

// storageClient is one goroutine's connection to the storage. Close must be called.
type storageClient struct{ *rpc.Client }

// dialStorage connects to a storage.
func dialStorage(addr string) (*storageClient, error) {
	c, err := rpc.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to the storage: %w", err)
	}
	return &storageClient{c}, nil
}

// Do sends a Read or a Write and returns the value that the storage then has, or ErrRefused.
func (c *storageClient) Do(e Event) (string, error) {
	var r Reply
	if err := c.Call("Storage.Apply", e, &r); err != nil {
		return "", fmt.Errorf("ask the storage: %w", err)
	}
	if r.Refused {
		return r.Value, errRefused
	}
	return r.Value, nil
}
