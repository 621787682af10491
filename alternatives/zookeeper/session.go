package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockladder/lockladder/scenarios"
)

// Session is a connection to the servers for all locks of a process. A session
// that was lost is followed by a new one, and what was held in the old one is
// free.
type Session struct {
	conn    *zk.Conn
	servers []string
	timeout time.Duration

	mu    sync.Mutex // guards what follows; never held while a server is asked
	lost  chan struct{}
	timer *time.Timer // the deadline of a session without a connection
	cause error       // why the newest connection was not made
}

// Open begins a session. It does not wait for the servers: what is asked first
// does. timeout is how long the servers keep the session of a client that they
// do not hear of; they may choose another, within their own limits. Dial may be
// nil. Close must be called.
func Open(servers []string, timeout time.Duration,
	dial func(network, addr string, timeout time.Duration) (net.Conn, error)) (
	*Session, error) {
	if len(servers) == 0 {
		return nil, fmt.Errorf("%w: there are no servers", scenarios.ErrInvalid)
	}
	if timeout < time.Millisecond {
		return nil, fmt.Errorf("%w: the session timeout is %v, it must be at"+
			" least 1ms", scenarios.ErrInvalid, timeout)
	}
	if dial == nil {
		dial = net.DialTimeout
	}
	s := &Session{servers: servers, timeout: timeout, lost: make(chan struct{})}
	conn, _, err := zk.Connect(servers, timeout, zk.WithDialer(s.through(dial)),
		zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithEventCallback(s.hear))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(servers, ", "),
			err)
	}
	s.conn = conn
	return s, nil
}

// through keeps why a connection was not made, which the driver does not say.
func (s *Session) through(dial zk.Dialer) zk.Dialer {
	return func(network, addr string, wait time.Duration) (net.Conn, error) {
		c, err := dial(network, addr, wait)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cause = err
		return c, err
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// hear follows the state of the session. A client that is cut off hears nothing
// of its end, so it counts: the driver notices after two thirds of the timeout
// that nothing has come, and the servers end the session at the end of the third.
func (s *Session) hear(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		if s.timer != nil {
			s.timer.Stop()
			s.timer = nil
		}
	case zk.StateDisconnected:
		if s.timer == nil {
			s.timer = time.AfterFunc(s.timeout/4, s.end)
		}
	case zk.StateExpired:
		s.endLocked()
	}
}

func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked()
}

// endLocked tells everybody who holds something in this session that it is gone.
func (s *Session) endLocked() {
	close(s.lost)
	s.lost = make(chan struct{})
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// current is closed when the session that is now is lost.
func (s *Session) current() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Close ends the session, and frees what is held in it.
func (s *Session) Close() {
	s.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// ask calls the driver, which knows no contexts, and waits no longer than ctx.
// What it answers later goes to late, or nowhere.
func ask[T any](ctx context.Context, do func() (T, error), late func(T, error)) (
	T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	var decided atomic.Bool // either side may be first
	go func() {             // ends with the driver's answer, or with the session
		v, err := do()
		if decided.CompareAndSwap(false, true) {
			answers <- answer{v, err}
		} else if late != nil {
			late(v, err)
		}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
	}
	if decided.CompareAndSwap(false, true) {
		var none T
		return none, ctx.Err()
	}
	a := <-answers
	return a.value, a.err
}

// root is the persistent node that a lock's nodes are under.
const root = "/locks"

// under makes the persistent nodes of a path.
func (s *Session) under(ctx context.Context, path string) error {
	at := ""
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		at += "/" + part
		_, err := ask(ctx, func() (string, error) {
			return s.conn.Create(at, nil, 0, zk.WorldACL(zk.PermAll))
		}, nil)
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// remove deletes a node, for at most one timeout on a context of its own. When
// the connection breaks it asks again, if mine, where there is one, finds that
// the node is still one's own: it may have been deleted, and be another's.
func (s *Session) remove(ctx context.Context, path string,
	mine func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	for again := false; ; again = true {
		_, err := ask(ctx, func() (struct{}, error) {
			return struct{}{}, s.conn.Delete(path, -1)
		}, nil)
		if again && errors.Is(err, zk.ErrNoNode) {
			return nil // the first time it was done
		}
		if !errors.Is(err, zk.ErrConnectionClosed) {
			return err
		}
		for mine != nil && errors.Is(err, zk.ErrConnectionClosed) {
			var own bool
			if own, err = mine(ctx); err == nil && !own {
				return nil
			}
		}
		if err != nil && mine != nil {
			return err
		}
	}
}

// named refuses names that are no node's.
func named(s *Session, name string) error {
	if s == nil {
		return fmt.Errorf("%w: there is no session", scenarios.ErrInvalid)
	}
	if name == "" || strings.ContainsAny(name, "/\x00") || name == "." ||
		name == ".." {
		return fmt.Errorf("%w: %q is no name of a node: it must not be empty"+
			" and have no slash", scenarios.ErrInvalid, name)
	}
	return nil
}

// failed wraps an error with what was being done to which lock, and where the
// servers were looked for in vain.
func (s *Session) failed(ctx context.Context, doing, name string,
	err error) error {
	if errors.Is(err, zk.ErrNoServer) {
		s.mu.Lock()
		err = fmt.Errorf("%s: %w (%v)", strings.Join(s.servers, ", "), err,
			s.cause)
		s.mu.Unlock()
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%s %q: %w (%w)", doing, name, cause, err)
	}
	return fmt.Errorf("%s %q: %w", doing, name, err)
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
