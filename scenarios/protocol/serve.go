package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// Serve is the program's end of the protocol, for a lock in Go: it reads requests
// until in ends, and writes answers to out. Offers is what hello is answered with;
// its Type, ID and Protocol are filled in, and so are the features which a lock's
// methods offer: LossNotices, Fencing and ReadWrite. It returns an error of its streams, or of
// a line that it doesn't understand.
func Serve(in io.Reader, out io.Writer, offers Answer, build lock.Build) error {
	s := &server{out: json.NewEncoder(out), offers: offers, build: build,
		owners: map[string]lock.Lock{}, pending: map[int]context.CancelFunc{}}
	defer s.calls.Wait()
	defer s.cancelAll()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("understand a request: %w", err)
		}
		if err := s.serve(r); err != nil {
			return err
		}
	}
	return lines.Err()
}

// server is a lock.Build behind the protocol.
type server struct {
	offers Answer
	build  lock.Build
	nodes  []redis.UniversalClient
	owners map[string]lock.Lock
	calls  sync.WaitGroup

	mu      sync.Mutex // guards the following
	out     *json.Encoder
	pending map[int]context.CancelFunc
}

func (s *server) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.pending {
		cancel()
	}
}

func (s *server) answer(a Answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(a)
}

// serve answers a request at once, or begins a call that does.
func (s *server) serve(r Request) error {
	switch r.Type {
	case Hello:
		for _, n := range r.Nodes {
			s.nodes = append(s.nodes, redis.NewClient(&redis.Options{
				Addr: n.Address, Username: n.User, Password: n.Password,
				// A reply comes as late as the scenario wants it, and the lease
				// is longer where a scenario is run more slowly: go-redis's own
				// five seconds would end the wait. A call's context does.
				ContextTimeoutEnabled: true, ReadTimeout: -1, WriteTimeout: -1,
				MaxRetries: -1,
				PoolSize:   MostSections})) // owners that sell have one each
		}
		a := s.offers
		a.ID, a.Type, a.Protocol = r.ID, Hello, Version
		if err := s.look(&a); err != nil {
			return err
		}
		return s.answer(a)
	case Build:
		l, err := s.owner(r)
		if err != nil {
			return s.answer(failed(r.ID, err))
		}
		s.owners[r.Owner] = l
		return s.answer(Answer{ID: r.ID, Type: OK})
	case Cancel:
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel := s.pending[r.Of]; cancel != nil {
			cancel()
		}
		return nil
	case Sell:
		s.calls.Go(func() { s.answer(s.sell(r)) })
		return nil
	}
	l := s.owners[r.Owner]
	if l == nil {
		return s.answer(failed(r.ID, fmt.Errorf("there is no owner %q", r.Owner)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	if r.Deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, milliseconds(r.Deadline))
	}
	if r.Canceled {
		cancel()
	}
	s.mu.Lock()
	s.pending[r.ID] = cancel
	s.mu.Unlock()
	s.calls.Go(func() {
		a := s.call(ctx, l, r)
		s.mu.Lock()
		delete(s.pending, r.ID)
		s.mu.Unlock()
		cancel()
		var lost <-chan struct{}
		if a.Type == Granted {
			lost = lab.Lost(l) // the next call may come with the answer
		}
		s.answer(a) // whoever doesn't hear it has ended this process
		if lost != nil {
			go func() { // ends with the process
				<-lost
				s.answer(Answer{Type: Lost, Of: r.ID})
			}()
		}
	})
	return nil
}

// owner builds an owner as a request of build, or of sell, says.
func (s *server) owner(r Request) (lock.Lock, error) {
	options := []lock.Option{}
	if r.Poll > 0 {
		options = append(options, lock.PollEvery(milliseconds(r.Poll)))
	}
	if r.NodeTimeout > 0 {
		options = append(options, lock.NodeTimeout(milliseconds(r.NodeTimeout)))
	}
	if r.FixedLease {
		options = append(options, lock.FixedLease())
	}
	return s.build(lock.Env{Nodes: s.nodes, Key: r.Key, TTL: milliseconds(r.Lease),
		Now: time.Now, Options: options, Process: s})
}

// look finds out what a lock's methods offer.
func (s *server) look(a *Answer) error {
	nodes := s.nodes
	if s.offers.Servers > 1 && len(nodes) == 1 { // it is only being tried out
		nodes = nil
		for i := range s.offers.Servers { // nothing is sent to any of them
			nodes = append(nodes, redis.NewClient(&redis.Options{
				Addr: fmt.Sprintf("server-%d:6379", i)}))
		}
	}
	l, err := s.build(lock.Env{Nodes: nodes, Key: "hello", TTL: time.Second, Now: time.Now, Process: s})
	if err != nil {
		return fmt.Errorf("build an owner: %w", err)
	}
	if _, ok := l.(lock.LossNotifier); ok {
		a.Features = append(a.Features, LossNotices)
	}
	if _, ok := l.(lock.Fenced); ok {
		a.Features = append(a.Features, Fencing)
	}
	if _, ok := l.(lock.ReadWrite); ok {
		a.Features = append(a.Features, ReadWrite)
	}
	return nil
}

// call calls the lock, or its read side.
func (s *server) call(ctx context.Context, l lock.Lock, r Request) Answer {
	side := l
	if slices.Contains([]string{TryReadLock, ReadLock, ReadUnlock}, r.Type) {
		reads, ok := l.(lock.ReadWrite)
		if !ok {
			return failed(r.ID, errors.New("this lock has no read side"))
		}
		side = lab.ReadSide{Of: reads}
	}
	granted := true
	var err error
	switch r.Type {
	case TryLock, TryReadLock:
		granted, err = side.TryLock(ctx)
	case Lock, ReadLock:
		err = side.Lock(ctx)
	case Unlock, ReadUnlock:
		if err = side.Unlock(ctx); err == nil {
			return Answer{ID: r.ID, Type: OK}
		}
	default:
		err = fmt.Errorf("there is no request %q", r.Type)
	}
	switch {
	case err != nil:
		return failed(r.ID, err)
	case !granted:
		return Answer{ID: r.ID, Type: Refused}
	}
	return Answer{ID: r.ID, Type: Granted, Token: lab.Token(l)}
}

// failed is the answer of a call that returned an error.
func failed(id int, err error) Answer {
	return Answer{ID: id, Type: Error, Error: wordOf(err), Text: err.Error()}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
