package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockladder/lockladder/lock"
)

// Session is a connection to the servers for all locks of a process. A session
// that was lost is over for good: its locks become free, and the next request
// begins another session.
type Session struct {
	servers []string
	timeout time.Duration
	dial    zk.Dialer

	mu     sync.Mutex // guards what follows, and the links; never held long
	now    *link      // nil after a loss
	closed bool
	joined sync.WaitGroup
}

// patience is how long a request waits for a session to begin.
const patience = 4 * time.Second

var errClosed = errors.New("the session is closed")

// Open begins a session. It does not wait for the servers: the first request
// does, for at most four seconds. timeout is how long the servers keep the
// session of a client that they do not hear of; they may choose another, within
// their own limits, and then it is that. Dial may be nil. Close must be called.
func Open(servers []string, timeout time.Duration,
	dial func(network, addr string, timeout time.Duration) (net.Conn, error)) (
	*Session, error) {
	if len(servers) == 0 {
		return nil, fmt.Errorf("%w: there are no servers", lock.ErrInvalid)
	}
	if timeout < time.Millisecond {
		return nil, fmt.Errorf("%w: the session timeout is %v, it must be at"+
			" least 1ms", lock.ErrInvalid, timeout)
	}
	if dial == nil {
		dial = net.DialTimeout
	}
	s := &Session{servers: servers, timeout: timeout, dial: dial}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.beginLocked(); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.where(), err)
	}
	return s, nil
}

// begun is a link whose session has begun. Its error has no address yet.
func (s *Session) begun(ctx context.Context) (*link, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	if s.now == nil {
		if err := s.beginLocked(); err != nil {
			s.mu.Unlock()
			return nil, err
		}
	}
	k := s.now
	s.mu.Unlock()
	select {
	case <-k.ready:
		return k, nil
	case <-k.lost:
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, fmt.Errorf("no session: %w", k.why)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: no session yet", ctx.Err())
	}
}

// enter counts a request that Close waits for; leaving it is joined.Done.
func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.joined.Add(1)
	}
	return !s.closed
}

// Close ends the session, and frees what is held in it. When no server can be
// told within a second or so, that is free after the session's timeout.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	if s.now != nil {
		s.endLocked(s.now, errClosed)
	}
	s.mu.Unlock()
	s.joined.Wait()
}

// root is the persistent node that a lock's nodes are under.
const root = "/locks"

// named refuses names that are no node's.
func named(s *Session, name string) error {
	if s == nil {
		return fmt.Errorf("%w: there is no session", lock.ErrInvalid)
	}
	if name == "" || strings.ContainsAny(name, "/\x00") || name == "." ||
		name == ".." {
		return fmt.Errorf("%w: %q is no name of a node: it must not be empty"+
			" and have no slash", lock.ErrInvalid, name)
	}
	return nil
}

func (s *Session) where() string { return strings.Join(s.servers, ", ") }

// failed wraps an error with what was being done to which lock, and with the
// servers' addresses.
func (s *Session) failed(ctx context.Context, doing, name string, err error) error {
	return lock.Failed(ctx, doing, name, fmt.Errorf("%s: %w", s.where(), err))
}

// isClosed says whether a channel is closed; nil is not.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return c != nil
	default:
		return false
	}
}
