package mutants

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Guard is the lock that the explorer's mutants are made of, without a mistake.
var Guard = guarded(knobs{})

// knobs are the mistakes.
type knobs struct {
	apart, oneToken, renewAny, recreate, believeLate, leaveLate, silent, untold,
	minority bool
}

var (
	freed = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then
return redis.call('DEL', KEYS[1]) end return 0`)
	kept = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then
return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
)

// guard is a small lock with a token, a lease that is renewed and a holder who is
// told, and with mistakes to turn on.
type guard struct {
	knobs
	env   lock.Env
	token string
	next  func() string
	lost  chan struct{}
	stop  func()
}

func guarded(k knobs) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		o, err := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
		if err != nil {
			return nil, err
		}
		return &guard{knobs: k, env: env, next: o.Token, stop: func() {}}, nil
	}
}

func (g *guard) TryLock(ctx context.Context) (bool, error) {
	rdb, sent := g.env.Nodes[0], time.Now()
	if g.token == "" || !g.oneToken {
		g.token = g.next()
	}
	granted, err := rdb.SetNX(ctx, g.env.Key, g.token, g.env.TTL).Result()
	if err != nil || !granted {
		return false, err
	}
	if time.Since(sent) >= g.env.TTL && !g.believeLate {
		if !g.leaveLate {
			g.free(ctx)
		}
		return false, nil
	}
	g.stop()
	g.watch(sent)
	return true, nil
}

func (g *guard) Lock(ctx context.Context) error { return errors.ErrUnsupported }

func (g *guard) Lost() <-chan struct{} { return g.lost }

func (g *guard) Unlock(ctx context.Context) error {
	g.stop()
	deleted, err := g.free(ctx)
	if err == nil && deleted == 0 && !g.silent {
		err = lock.ErrNotHeld
	}
	return err
}

func (g *guard) free(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, g.env.TTL)
	defer cancel()
	rdb := g.env.Nodes[0]
	if g.apart {
		held, err := rdb.Get(ctx, g.env.Key).Result()
		if errors.Is(err, redis.Nil) || err == nil && held != g.token {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		return rdb.Del(ctx, g.env.Key).Result()
	}
	return freed.Run(ctx, rdb, []string{g.env.Key}, g.token).Int64()
}

func (g *guard) watch(sent time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	lost, done, token := make(chan struct{}), make(chan struct{}), g.token
	lose := sync.OnceFunc(func() {
		if cancel(); !g.untold {
			close(lost)
		}
	})
	deadline := time.AfterFunc(time.Until(sent.Add(g.env.TTL)), lose)
	go func() {
		defer close(done)
		for lock.Sleep(ctx, g.env.TTL/3) == nil {
			sent := time.Now()
			if kept, err := g.renew(ctx, token); err == nil && !kept {
				lose()
			} else if err == nil {
				deadline.Reset(time.Until(sent.Add(g.env.TTL)))
			}
		}
	}()
	g.lost = lost
	g.stop = func() {
		cancel()
		if !g.recreate {
			<-done
		}
		deadline.Stop()
	}
}

func (g *guard) renew(ctx context.Context, token string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*g.env.TTL)
	defer cancel()
	rdb := g.env.Nodes[0]
	switch {
	case g.renewAny:
		return rdb.PExpire(ctx, g.env.Key, g.env.TTL).Result()
	case g.recreate:
		return true, rdb.Set(ctx, g.env.Key, token, g.env.TTL).Err()
	}
	return kept.Run(ctx, rdb, []string{g.env.Key}, token,
		g.env.TTL.Milliseconds()).Bool()
}

// forgetful is a fenced lock that has no token when its first reply was lost.
type forgetful struct {
	inner interface {
		lock.Lock
		lock.Fenced
		lock.LossNotifier
	}
	failed bool
}

func forgetting(build lock.Build) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := build(env)
		if err != nil {
			return nil, err
		}
		return &forgetful{inner: l.(interface {
			lock.Lock
			lock.Fenced
			lock.LossNotifier
		})}, nil
	}
}

func (f *forgetful) TryLock(ctx context.Context) (bool, error) {
	granted, err := f.inner.TryLock(ctx)
	f.failed = f.failed || err != nil
	return granted, err
}

func (f *forgetful) Lock(ctx context.Context) error   { return f.inner.Lock(ctx) }
func (f *forgetful) Unlock(ctx context.Context) error { return f.inner.Unlock(ctx) }
func (f *forgetful) Lost() <-chan struct{}            { return f.inner.Lost() }

func (f *forgetful) Token() uint64 {
	if f.failed {
		return 0
	}
	return f.inner.Token()
}

// majority is a small lock on a majority of nodes, asked in order.
type majority struct {
	knobs
	env   lock.Env
	token string
	next  func() string
}

func nodes(k knobs) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		o, err := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
		if err != nil {
			return nil, err
		}
		return &majority{knobs: k, env: env, next: o.Token}, nil
	}
}

func (m *majority) enough(n int64) bool {
	return n > int64(len(m.env.Nodes)/2) || m.minority && n > 0
}

func (m *majority) TryLock(ctx context.Context) (bool, error) {
	sent := time.Now()
	m.token = m.next()
	var granted int64
	for _, rdb := range m.env.Nodes {
		if ok, _ := rdb.SetNX(ctx, m.env.Key, m.token, m.env.TTL).Result(); ok {
			granted++
		}
	}
	if m.enough(granted) && (time.Since(sent) < m.env.TTL || m.believeLate) {
		return true, nil
	}
	m.free(ctx)
	return false, nil
}

func (m *majority) Lock(ctx context.Context) error { return errors.ErrUnsupported }

func (m *majority) Unlock(ctx context.Context) error {
	if !m.enough(m.free(ctx)) {
		return lock.ErrNotHeld
	}
	return nil
}

func (m *majority) free(ctx context.Context) (deleted int64) {
	for _, rdb := range m.env.Nodes {
		n, _ := freed.Run(ctx, rdb, []string{m.env.Key}, m.token).Int64()
		deleted += n
	}
	return deleted
}

// AfterADeath is a timestamp lock that finds the key of a holder who died long ago.
func AfterADeath(build lock.Build) lock.Build {
	return With(build, func(ctx context.Context, env lock.Env, inner lock.Lock) (
		bool, error) {
		if err := env.Nodes[0].SetNX(ctx, env.Key, "1", 0).Err(); err != nil {
			return false, err
		}
		return inner.TryLock(ctx)
	})
}

// TakesOverBlindly is silver/timestamp that takes over without a look at what
// GETSET returns.
var TakesOverBlindly = With(Rung("silver/timestamp"), func(ctx context.Context,
	env lock.Env, _ lock.Lock) (bool, error) {
	rdb, now := env.Nodes[0], env.Now()
	deadline := strconv.FormatInt(now.Add(env.TTL).UnixMilli(), 10)
	granted, err := rdb.SetNX(ctx, env.Key, deadline, 0).Result()
	if granted || err != nil {
		return granted, err
	}
	held, err := rdb.Get(ctx, env.Key).Int64()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil || now.UnixMilli() <= held {
		return false, err
	}
	err = rdb.Do(ctx, "GETSET", env.Key, deadline).Err()
	return err == nil || errors.Is(err, redis.Nil), nil
})
