// Package etcd adapts the lock of etcd's own client library, unchanged, to the
// stories: go.etcd.io/etcd/client/v3/concurrency. It is a queue, as on ZooKeeper:
// every waiter writes a key under the lock's prefix that lives as long as its
// session's lease, the oldest has the lock, and everybody waits for the deletion
// of the one before it. The servers agree on every write (Raft).
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/lockladder/lockladder/scenarios"
)

// Lock is one owner of a concurrency.Mutex. It has a session of its own, begun
// with its first attempt: two owners in one session would be one.
type Lock struct {
	client *clientv3.Client
	prefix string
	ttl    int // seconds

	session *concurrency.Session
	mutex   *concurrency.Mutex
	token   uint64
	lost    <-chan struct{}
}

// New makes an owner of the lock of that name. It sends nothing. A session's
// lease is counted in seconds: ttl is rounded up.
func New(client *clientv3.Client, name string, ttl time.Duration) (*Lock,
	error) {
	switch {
	case client == nil:
		return nil, fmt.Errorf("%w: there is no client", scenarios.ErrInvalid)
	case name == "":
		return nil, fmt.Errorf("%w: the name is empty", scenarios.ErrInvalid)
	case ttl < time.Millisecond:
		return nil, fmt.Errorf("%w: the ttl is %v, it must be at least 1ms",
			scenarios.ErrInvalid, ttl)
	}
	return &Lock{client: client, prefix: "/locks/" + name,
		ttl: int((ttl + time.Second - 1) / time.Second)}, nil
}

// Open makes a client of the server at an address, and waits until it answers:
// the client's own calls would wait for it for ever. An error is one line with
// the address and the cause, within five seconds. The client must be closed.
func Open(ctx context.Context, addr string) (*clientv3.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// The client says of a refused connection only that time has run out.
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the etcd server at %s can't be reached: %w",
			addr, err)
	}
	c.Close()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"http://" + addr}, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", addr, err)
	}
	if _, err := client.Status(ctx, "http://"+addr); err != nil {
		client.Close()
		return nil, fmt.Errorf("the etcd server at %s can't be used: %w", addr,
			err)
	}
	return client, nil
}

// begin has a session that is not lost.
func (l *Lock) begin(ctx context.Context) error {
	if l.session != nil {
		select {
		case <-l.session.Done():
			l.session = nil
		default:
			return nil
		}
	}
	// WithContext would end the session, and its lock, with ctx.
	lease, err := l.client.Grant(ctx, int64(l.ttl))
	if err != nil {
		return err
	}
	s, err := concurrency.NewSession(l.client, concurrency.WithLease(lease.ID),
		concurrency.WithTTL(l.ttl))
	if err != nil {
		return err
	}
	l.session = s
	l.mutex = concurrency.NewMutex(s, l.prefix)
	return nil
}

// TryLock makes one attempt.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	err := l.begin(ctx)
	if err == nil {
		err = l.mutex.TryLock(ctx)
	}
	if errors.Is(err, concurrency.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, l.failed(ctx, "acquire", err)
	}
	l.granted()
	return true, nil
}

// Lock waits until the lock is granted or ctx ends.
func (l *Lock) Lock(ctx context.Context) error {
	err := l.begin(ctx)
	if err == nil {
		err = l.mutex.Lock(ctx)
	}
	if err != nil {
		return l.failed(ctx, "acquire", err)
	}
	l.granted()
	return nil
}

func (l *Lock) granted() {
	l.token = uint64(l.mutex.Header().Revision)
	l.lost = l.session.Done()
}

// Unlock deletes the owner's key. It returns ErrNotHeld when there was none to
// delete, as far as the library tells.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.mutex == nil {
		return l.failed(ctx, "release", scenarios.ErrNotHeld)
	}
	err := l.mutex.Unlock(ctx)
	if errors.Is(err, concurrency.ErrLockReleased) ||
		errors.Is(err, concurrency.ErrSessionExpired) {
		err = scenarios.ErrNotHeld
	}
	if err != nil {
		return l.failed(ctx, "release", err)
	}
	return nil
}

// Token is the store's revision when the lock was granted: it rises with every
// write, whoever writes what.
func (l *Lock) Token() uint64 { return l.token }

// Lost is closed when the library notices that the session of the newest grant
// has ended. It counts from the newest reply, and looks twice a second: somebody
// else may hold the lock before. What scenarios.Losable asks for is not claimed.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// Close ends the session, and frees what is held in it.
func (l *Lock) Close() error {
	if l.session == nil {
		return nil
	}
	return l.session.Close()
}

func (l *Lock) failed(ctx context.Context, doing string, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%s %q: %w (%w)", doing, l.prefix, cause, err)
	}
	return fmt.Errorf("%s %q: %w", doing, l.prefix, err)
}
