// Package etcd adapts the lock of etcd's own client library, unchanged, to the
// scenarios: go.etcd.io/etcd/client/v3/concurrency. It is a queue, as on
// ZooKeeper: every waiter writes a key under the lock's prefix that lives as
// long as its session's lease, the oldest has the lock, and everybody waits for
// the deletion of the one before it. The servers agree on every write (Raft).
package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/lockladder/lockladder/lock"
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
func New(client *clientv3.Client, name string, ttl time.Duration) (*Lock, error) {
	switch {
	case client == nil:
		return nil, fmt.Errorf("%w: there is no client", lock.ErrInvalid)
	case name == "":
		return nil, fmt.Errorf("%w: the name is empty", lock.ErrInvalid)
	case ttl < time.Millisecond:
		return nil, fmt.Errorf("%w: the ttl is %v, it must be at least 1ms",
			lock.ErrInvalid, ttl)
	}
	return &Lock{client: client, prefix: locks + name,
		ttl: int((ttl + time.Second - 1) / time.Second)}, nil
}

// locks is the prefix of all keys.
const locks = "/locks/"

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
	err := l.acquire(ctx, (*concurrency.Mutex).TryLock)
	if errors.Is(err, concurrency.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}

// Lock waits until the lock is granted or ctx ends.
func (l *Lock) Lock(ctx context.Context) error {
	return l.acquire(ctx, (*concurrency.Mutex).Lock)
}

func (l *Lock) acquire(ctx context.Context,
	how func(*concurrency.Mutex, context.Context) error) error {
	err := l.begin(ctx)
	if err == nil {
		err = how(l.mutex, ctx)
	}
	if err != nil {
		return lock.Failed(ctx, "acquire", l.prefix, err)
	}
	l.token = uint64(l.mutex.Header().Revision)
	l.lost = l.session.Done()
	return nil
}

// Unlock deletes the owner's key. It returns ErrNotHeld when there was none to
// delete, as far as the library tells.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.mutex == nil {
		return lock.Failed(ctx, "release", l.prefix, lock.ErrNotHeld)
	}
	err := l.mutex.Unlock(ctx)
	if errors.Is(err, concurrency.ErrLockReleased) ||
		errors.Is(err, concurrency.ErrSessionExpired) {
		err = lock.ErrNotHeld
	}
	if err != nil {
		return lock.Failed(ctx, "release", l.prefix, err)
	}
	return nil
}

// Token is the store's revision when the lock was granted: it rises with every
// write, whoever writes what.
func (l *Lock) Token() uint64 { return l.token }

// Lost is closed when the library notices that the session of the newest grant
// has ended. It counts from the newest reply, and looks twice a second, so
// another client may hold the lock before. scenarios.LossNotifier asks for more
// than that.
func (l *Lock) Lost() <-chan struct{} { return l.lost }
