// Package lock is what the rungs share and what is not about locking: the Lock
// interface, the options, the errors, the poll loop, and how commands are sent. It
// sends no Redis command of its own.
//
// A lock takes any redis.UniversalClient: go-redis's own, or a type that embeds one.
// From the watchdog on, a lock sends its scripts and SET NX with that client's method
// Process, so that hooks, and a Process of the type's own, see each of them. An Eval,
// EvalSha or SetNX of the type's own isn't called: one that prefixes keys or counts
// commands there must do it in a hook or in Process.
package lock

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lock is what every rung offers. One value is one owner, used by one
// goroutine at a time.
type Lock interface {
	// TryLock makes one attempt and does not wait for another owner. (true,
	// nil) means granted, (false, nil) means refused. (false, err) means
	// unknown: the lock may have been granted at the server, and then nobody
	// releases it before its lease ends.
	TryLock(ctx context.Context) (bool, error)

	// Lock waits until the lock is granted or ctx ends. It returns network
	// errors at once, and they mean the same as TryLock's. A command in flight
	// ends with a deadline of ctx if it was sent with Bounded or Once, or if the
	// driver has ContextTimeoutEnabled. A plain cancellation never ends it: the
	// driver's ReadTimeout does. A grant that comes too late is given back before
	// either call returns, for at most a lease on a context of its own.
	Lock(ctx context.Context) error

	// Unlock releases the lock. It returns ErrNotHeld when the server says
	// that the lock was not this owner's. After any other error the lock may
	// still be held at the server, until its lease ends. A driver that repeats
	// a release on its own account may turn a lost reply into ErrNotHeld.
	Unlock(ctx context.Context) error
}

// Fenced is offered by a lock that hands out fencing tokens.
type Fenced interface {
	// Token is the fencing token of the newest grant, 0 before the first. It
	// protects only a storage that refuses tokens older than the newest that
	// it saw.
	Token() uint64
}

// LossNotifier is offered by a lock that tells its holder when the lease is gone.
type LossNotifier interface {
	// Lost is the channel of the newest acquisition, nil when there was none.
	// It is closed when the server says that the lease is gone, or when the
	// lease has ended by the local clock, counted from before the command was
	// sent. Unlock does not close it.
	Lost() <-chan struct{}
}

// IsLost says whether the lease of the newest grant is gone. Ask before each write.
func IsLost(l LossNotifier) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

// ReadWrite is offered by a lock that many readers or one writer may hold. The
// methods of Lock are the writer's. An owner that has the write lock may take a
// read lock as well, and keeps it when it unlocks: a downgrade. One that has only
// a read lock is denied the write lock, with ErrUpgrade. Each lock of either
// kind has an unlock of its kind.
type ReadWrite interface {
	Lock

	// TryRLock makes one attempt to read, with TryLock's results. It may be
	// refused for a writer that waits.
	TryRLock(ctx context.Context) (bool, error)

	// RLock waits until the read lock is granted or ctx ends, with Lock's errors.
	RLock(ctx context.Context) error

	// RUnlock releases a read lock, with Unlock's errors.
	RUnlock(ctx context.Context) error
}

// Env is all that a scenario knows of the world when it builds a lock: one call
// of a Build with it makes one owner.
type Env struct {
	Nodes   []redis.UniversalClient // one client a node; nil for other stores
	Key     string                  // the name of the lock
	TTL     time.Duration           // the lease
	Now     func() time.Time        // this client's clock; it may be wrong
	Options []Option                // seeded tokens and jitter, for a rung's New

	// Dial connects to a node, counted from 0, for a lock that brings its own
	// driver; nil where there are only Nodes.
	Dial func(ctx context.Context, node int) (net.Conn, error)

	// Done is closed when the scenario has ended, for a lock that keeps a goroutine while
	// it's held; nil where nothing ends.
	Done <-chan struct{}

	// Process is the same for all owners that live in one process, and can be
	// the key of a map, for a lock whose owners share a session; nil where all
	// do.
	Process any
}

// Build makes one owner of the lock that env names. It sends nothing.
type Build func(env Env) (Lock, error)
