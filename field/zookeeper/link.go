package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
)

// link is one session at the servers, on a driver of its own. The driver would
// resume a session that its holders have been told the loss of, and keep their
// nodes alive; so with the loss the driver is closed, and nobody keeps the
// session any longer.
type link struct {
	session *Session
	conn    *zk.Conn
	ready   chan struct{} // closed when the session has begun
	lost    chan struct{} // closed when it is over

	// The session's mutex guards these.
	timeout time.Duration // what the servers grant
	timer   *time.Timer   // the deadline of a session without a connection
	wire    net.Conn      // the newest connection
	why     error         // it is over
}

// beginLocked makes the link that is now.
func (s *Session) beginLocked() error {
	k := &link{session: s, ready: make(chan struct{}), lost: make(chan struct{}),
		timeout: s.timeout}
	conn, _, err := zk.Connect(s.servers, s.timeout, zk.WithDialer(k.dial),
		zk.WithHostProvider(&round{}), zk.WithLogger(log.New(io.Discard, "", 0)),
		zk.WithLogInfo(false), zk.WithEventCallback(k.hear))
	if err != nil {
		return err
	}
	k.conn = conn
	k.timer = time.AfterFunc(patience, k.end)
	s.now = k
	return nil
}

// endLocked tells everybody who holds something in this session that it is gone,
// and sees to it that this becomes true: the driver tells the servers, if it can
// at once, and is never connected again.
func (s *Session) endLocked(k *link, why error) {
	if isClosed(k.lost) {
		return
	}
	k.why = why
	close(k.lost)
	if k.timer != nil {
		k.timer.Stop()
	}
	if s.now == k {
		s.now = nil
	}
	s.joined.Go(func() {
		k.conn.Close()
		s.mu.Lock()
		wire := k.wire
		s.mu.Unlock()
		if wire != nil {
			wire.Close() // the driver may be waiting for its first answer
		}
	})
}

// end is for the timer.
func (k *link) end() {
	s := k.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(k, errors.New("no answer in time"))
}

// hear follows the state of the session. A client that is cut off hears nothing
// of its end, so it counts: the driver notices after two thirds of the timeout
// that nothing has come, and the servers end the session at the end of the third.
func (k *link) hear(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	s := k.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if isClosed(k.lost) {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		if k.timer != nil {
			k.timer.Stop()
			k.timer = nil
		}
		if !isClosed(k.ready) {
			close(k.ready)
		}
	case zk.StateDisconnected:
		if k.timer == nil {
			k.timer = time.AfterFunc(k.timeout/4, k.end)
		}
	case zk.StateExpired:
		s.endLocked(k, zk.ErrSessionExpired)
	}
}

// dial is the driver's dialer. It makes no connection for a session that is over.
func (k *link) dial(network, addr string, wait time.Duration) (net.Conn, error) {
	if isClosed(k.lost) {
		return nil, errClosed
	}
	s := k.session
	c, err := s.dial(network, addr, wait)
	s.mu.Lock()
	defer s.mu.Unlock()
	if isClosed(k.lost) {
		if err == nil {
			c.Close()
		}
		return nil, errClosed
	}
	if err != nil {
		return nil, err
	}
	k.wire = c
	return &wire{Conn: c, of: k}, nil
}

// wire is a connection. It reads what the driver does not tell: the timeout in
// the servers' first answer.
type wire struct {
	net.Conn
	of   *link
	head []byte // of the first answer: length, version, timeout
}

const headLength = 12

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	missing := headLength - len(w.head)
	if missing == 0 {
		return n, err
	}
	w.head = append(w.head, b[:min(n, missing)]...)
	if len(w.head) < headLength {
		return n, err
	}
	granted := time.Duration(int32(binary.BigEndian.Uint32(w.head[8:]))) * time.Millisecond
	if granted > 0 { // an ended session has none
		s := w.of.session
		s.mu.Lock()
		defer s.mu.Unlock()
		w.of.timeout = granted
	}
	return n, err
}

// round has the driver try one server after the other. Names are looked up by
// the dialer: the driver's own list looks them up while it is made, however long
// that takes.
type round struct {
	servers     []string
	next, tried int
}

func (r *round) Init(servers []string) error {
	r.servers = servers
	return nil
}

func (r *round) Len() int { return len(r.servers) }

// Next also says that all were tried, and the driver pauses.
func (r *round) Next() (server string, again bool) {
	if r.tried == len(r.servers) {
		again, r.tried = true, 0
	}
	server = r.servers[r.next]
	r.next = (r.next + 1) % len(r.servers)
	r.tried++
	return server, again
}

func (r *round) Connected() { r.tried = 0 }

// ask calls the driver, which knows no contexts, and waits no longer than ctx.
// A later answer goes to late, or nowhere.
func ask[T any](ctx context.Context, k *link, do func() (T, error),
	late func(T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if !k.session.enter() {
		return none, errClosed
	}
	answers := make(chan answer, 1)
	var decided atomic.Bool // either side may be first
	go func() {             // ends with the answer or the link; Close joins it
		defer k.session.joined.Done()
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
		return none, ctx.Err()
	}
	a := <-answers
	return a.value, a.err
}

// wait is ask where the answer is an error, or none.
func (k *link) wait(ctx context.Context, do func() error) error {
	_, err := ask(ctx, k, func() (struct{}, error) { return struct{}{}, do() }, nil)
	return err
}

// unanswered says whether no server has answered; whether the request was
// executed is unknown.
func unanswered(err error) bool {
	_, unsent := errors.AsType[net.Error](err)
	return unsent || errors.Is(err, zk.ErrConnectionClosed) ||
		errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrClosing)
}

// retry says whether it is worth asking again. The driver waits for a connection
// meanwhile, and the link's end bounds it.
func (k *link) retry(err error) bool {
	return unanswered(err) && !isClosed(k.lost)
}

// under makes the persistent nodes of a path.
func (k *link) under(ctx context.Context, path string) error {
	at := ""
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		at += "/" + part
		_, err := ask(ctx, k, func() (string, error) {
			return k.conn.Create(at, nil, 0, zk.WorldACL(zk.PermAll))
		}, nil)
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// create makes an ephemeral node of an owner, and says false when it is somebody
// else's. When the reply is lost it looks whose it is. With an error no node
// remains that outlasts the link.
func (k *link) create(path, owner string) (bool, error) {
	for sent := false; ; {
		_, err := k.conn.Create(path, []byte(owner), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, zk.ErrNodeExists):
			if !sent {
				return false, nil
			}
			return k.owns(path, owner)
		case !sent && errors.Is(err, zk.ErrNoServer), !k.retry(err):
			return false, err
		}
		sent = true
	}
}

// owns says whether a node is an owner's. The server may lag behind others, so
// it is to catch up first.
func (k *link) owns(path, owner string) (bool, error) {
	for {
		_, err := k.conn.Sync(path)
		var data []byte
		if err == nil {
			data, _, err = k.conn.Get(path)
		}
		if errors.Is(err, zk.ErrNoNode) {
			return false, nil
		}
		if !k.retry(err) {
			return string(data) == owner, err
		}
	}
}

// enqueue makes an ephemeral node with a number, and returns its path. When the
// reply is lost it looks for the node. With an error none remains that outlasts
// the link.
func (k *link) enqueue(queue string) (string, error) {
	name := uuid.NewString() + "-"
	for sent := false; ; {
		path, err := k.conn.Create(queue+"/"+name, nil,
			zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if err == nil || !sent && errors.Is(err, zk.ErrNoServer) || !k.retry(err) {
			return path, err
		}
		sent = true
		for unanswered(err) {
			var nodes []string
			if _, err = k.conn.Sync(queue); err == nil {
				nodes, _, err = k.conn.Children(queue)
			}
			for _, node := range nodes {
				if err == nil && strings.HasPrefix(node, name) {
					return queue + "/" + node, nil
				}
			}
			if err != nil && !k.retry(err) {
				return "", err
			}
		}
	}
}

// drop deletes a node. When the connection breaks it asks again, and before that,
// if there is an owner, whether the node is still the owner's: it may have been
// deleted, and be another's. With an error the node goes with the link.
func (k *link) drop(path, owner string) error {
	for again := false; ; again = true {
		if again && owner != "" {
			if own, err := k.owns(path, owner); err != nil || !own {
				return err
			}
		}
		err := k.conn.Delete(path, -1)
		if again && errors.Is(err, zk.ErrNoNode) {
			return nil // the first time it was done
		}
		if !k.retry(err) {
			return err
		}
	}
}

// release waits for a drop, for at most one timeout on a context of its own. The
// drop goes on after that, until it is answered or the link is lost.
func (k *link) release(ctx context.Context, path, owner string) error {
	k.session.mu.Lock()
	wait := k.timeout
	k.session.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	return k.wait(ctx, func() error { return k.drop(path, owner) })
}

// children are the names of the nodes below one.
func (k *link) children(ctx context.Context, path string) ([]string, error) {
	return ask(ctx, k, func() ([]string, error) {
		nodes, _, err := k.conn.Children(path)
		return nodes, err
	}, nil)
}

// watch returns what is closed, or has an element, when a node has changed; at
// once when it is not there.
func (k *link) watch(ctx context.Context, path string) (<-chan zk.Event, error) {
	return ask(ctx, k, func() (<-chan zk.Event, error) {
		there, _, events, err := k.conn.ExistsW(path)
		if err == nil && !there {
			done := make(chan zk.Event)
			close(done)
			return done, nil
		}
		return events, err
	}, nil)
}

// changed waits until a node has changed or is not there, the link is lost, or ctx ends.
func (k *link) changed(ctx context.Context, path string) error {
	events, err := k.watch(ctx, path)
	if err != nil {
		return err
	}
	select {
	case <-events:
	case <-k.lost:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
