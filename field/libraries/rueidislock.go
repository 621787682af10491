package libraries

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
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
	// The library asks again after errors of the network too. Its release tells nothing and
	// takes no context: Unlock lasts until Redis has answered, one lease at most.
	locker := p.locker
	return scenarios.Held(func(ctx context.Context, wait bool) (context.Context, context.CancelFunc, error) {
		if wait {
			return locker.WithContext(ctx, env.Key)
		}
		return locker.TryWithContext(ctx, env.Key)
	}, rueidislock.ErrNotLocked), nil
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
