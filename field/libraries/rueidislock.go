package libraries

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"github.com/lockladder/lockladder/lock"
)

// process is what the owners in one process share: a rueidislock.Locker and its
// connection, made by the first of them.
type process struct {
	option rueidislock.LockerOption

	mu     sync.Mutex
	locker rueidislock.Locker
}

// build makes an owner. The first one connects to env's first node and sets the
// validity of all. Errors about arguments wrap lock.ErrInvalid.
func (p *process) build(env lock.Env) (lock.Lock, error) {
	switch {
	case env.Key == "":
		return nil, fmt.Errorf("%w: the key is empty", lock.ErrInvalid)
	case env.TTL < time.Millisecond:
		return nil, fmt.Errorf("%w: the ttl is %v", lock.ErrInvalid, env.TTL)
	case env.Dial == nil:
		return nil, fmt.Errorf("%w: there is nothing to dial", lock.ErrInvalid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.locker == nil {
		option := p.option
		option.KeyValidity = env.TTL
		if timeout := nodeTimeout(env); timeout > 0 {
			option.TryNextAfter = timeout
		}
		option.ClientOption.InitAddress = []string{"127.0.0.1:1"} // not dialled
		option.ClientOption.DialCtxFn = func(ctx context.Context, _ string,
			_ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return env.Dial(ctx, 0)
		}
		locker, err := rueidislock.NewLocker(option)
		if err != nil {
			return nil, fmt.Errorf("connect for %q: %w", env.Key, err)
		}
		p.locker = locker
	}
	return &rueidisLock{locker: p.locker, key: env.Key}, nil
}

// nodeTimeout is what somebody has set with lock.NodeTimeout, or 0.
func nodeTimeout(env lock.Env) time.Duration {
	var o lock.Options
	for _, set := range env.Options {
		set(&o)
	}
	return o.NodeTimeout
}

// end closes the connection; the owners are of no use afterwards.
func (p *process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.locker != nil {
		p.locker.Close()
	}
}

// rueidisLock is one owner. The library's context means that the lock is held,
// not that the caller waits; so it gets one that the caller's can't end once the
// lock is granted.
type rueidisLock struct {
	locker rueidislock.Locker
	key    string

	release func()        // of the newest grant; nil before the first
	keep    func() bool   // stops watching it; false when it was lost before
	lost    chan struct{} // closed when it is lost
}

var _ lock.Lock = (*rueidisLock)(nil)
var _ lock.LossNotifier = (*rueidisLock)(nil)

// TryLock makes one attempt.
func (l *rueidisLock) TryLock(ctx context.Context) (bool, error) {
	err := l.acquire(ctx, l.locker.TryWithContext)
	if errors.Is(err, rueidislock.ErrNotLocked) && ctx.Err() == nil {
		return false, nil
	}
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	return true, nil
}

// Lock waits until the lock is granted or ctx ends. rueidislock asks again after
// errors of the network too.
func (l *rueidisLock) Lock(ctx context.Context) error {
	err := l.acquire(ctx, l.locker.WithContext)
	if err != nil {
		return lock.Failed(ctx, "wait for", l.key, err)
	}
	return nil
}

// acquire makes ctx end the waiting and nothing else.
func (l *rueidisLock) acquire(ctx context.Context, with func(context.Context,
	string) (context.Context, context.CancelFunc, error)) error {
	hold, end := context.WithCancel(context.WithoutCancel(ctx))
	waited := context.AfterFunc(ctx, end)
	held, release, err := with(hold, l.key)
	if !waited() && err == nil { // granted just as ctx ended
		release()
		err = ctx.Err()
	}
	if err != nil {
		end()
		return err
	}
	lost := make(chan struct{})
	l.release, l.lost = release, lost
	l.keep = context.AfterFunc(held, func() { close(lost) })
	return nil
}

// Unlock releases the newest grant. rueidislock's own release tells nothing and
// takes no context: Unlock lasts until Redis has answered, one lease at most, and
// returns lock.ErrNotHeld when the library had ended the grant before, or when
// there is none to release.
func (l *rueidisLock) Unlock(ctx context.Context) error {
	if l.release == nil || !l.keep() {
		return lock.Failed(ctx, "release", l.key, lock.ErrNotHeld)
	}
	l.release()
	return nil
}

// Lost is closed when the newest grant's context ended before Unlock; nil before
// the first.
func (l *rueidisLock) Lost() <-chan struct{} { return l.lost }
