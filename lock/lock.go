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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
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

var (
	// ErrNotHeld says that the lock is not this owner's: it was never granted,
	// it was released before, or its lease has ended.
	ErrNotHeld = errors.New("the lock is not held by this owner")

	// ErrLost says that a handle which held the lock asked for it once more
	// and found that its lease is gone.
	ErrLost = errors.New("the lease was lost while the lock was held")

	// ErrBusy says that another goroutine is inside a call on the same handle.
	ErrBusy = errors.New("another goroutine is using this handle")

	// ErrUpgrade says that an owner which reads asked for the write lock. It
	// would wait for itself, and two such owners for each other: read unlock
	// first, lock, and look again at what was read.
	ErrUpgrade = errors.New("a reader can't become the writer: call RUnlock first")

	// ErrInvalid is wrapped by every error about an argument of a constructor.
	ErrInvalid = errors.New("invalid argument")
)

// Failed wraps err with what was being done to which key. Drivers report an
// ended context in ways of their own, so the context's own error is added:
// errors.Is then finds context.DeadlineExceeded or context.Canceled.
func Failed(ctx context.Context, doing, key string, err error) error {
	cause := ContextErr(ctx)
	said := errors.Is(err, ErrNotHeld) || errors.Is(err, ErrLost) ||
		errors.Is(err, ErrBusy) || errors.Is(err, ErrUpgrade) ||
		errors.Is(err, cause)
	if cause != nil && !said {
		return fmt.Errorf("%s %q: %w (%w)", doing, key, cause, err)
	}
	return fmt.Errorf("%s %q: %w", doing, key, err)
}

// IgnoreNotHeld is err, or nil if that is ErrNotHeld: a grant that is given back may
// be gone already.
func IgnoreNotHeld(err error) error {
	if errors.Is(err, ErrNotHeld) {
		return nil
	}
	return err
}

// ContextErr is the context's error, or nil while it has not ended. It looks at the
// clock as well: a connection's deadline may fire just before the context's own
// timer.
func ContextErr(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		return cmp.Or(ctx.Err(), context.DeadlineExceeded)
	}
	return ctx.Err()
}

// SecondKey names another key of the lock at key so that Redis Cluster keeps both
// in one slot. A key which has a hash tag keeps it; another becomes the tag. Two
// keys never share a second one, so "{stock}" gets two colons: with one its
// counter would be that of "stock". Of a key with a stray brace, such as "a}b",
// no second key can be in the slot.
func SecondKey(key, what string) string {
	if open := strings.IndexByte(key, '{'); open >= 0 &&
		strings.IndexByte(key[open+1:], '}') > 0 {
		return key + "::" + what
	}
	return "{" + key + "}:" + what
}

// Flaw names what a lock is known to break: an invariant of a scenario.
type Flaw struct {
	Scenario  string // as in the catalogue: "overrun_release"
	Invariant string // "foreign release"
}

// Flaws lists what a scenario's invariants are broken by: "slow_get: foreign
// release" is one entry, and several invariants are separated by commas.
func Flaws(entries ...string) []Flaw {
	var flaws []Flaw
	for _, entry := range entries {
		scenario, invariants, _ := strings.Cut(entry, ": ")
		for _, invariant := range strings.Split(invariants, ", ") {
			flaws = append(flaws, Flaw{scenario, invariant})
		}
	}
	return flaws
}
