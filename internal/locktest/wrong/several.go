package wrong

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Locks on several nodes, and others with tokens, of which one line is wrong.

// forgetful is a fenced lock that has no token when its first reply was lost.
type forgetful struct {
	notifying
	failed bool
}

type notifying interface {
	lock.Lock
	lock.Fenced
	lock.LossNotifier
}

func forgetting(build lock.Build) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := build(env)
		if err != nil {
			return nil, err
		}
		return &forgetful{notifying: l.(notifying)}, nil
	}
}

func (f *forgetful) TryLock(ctx context.Context) (bool, error) {
	granted, err := f.notifying.TryLock(ctx)
	f.failed = f.failed || err != nil
	return granted, err
}

func (f *forgetful) Token() uint64 {
	if f.failed {
		return 0
	}
	return f.notifying.Token()
}

// majority is a small lock that needs so many of its nodes, and asks them in order.
type majority struct {
	need        int
	keeps       bool // what it got in vain
	believeLate bool // believes a grant that comes after its lease

	env   lock.Env
	token string
	next  func() string
}

// build makes an owner of the same lock.
func (m majority) build(env lock.Env) (lock.Lock, error) {
	o, err := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
	if err != nil {
		return nil, err
	}
	m.env, m.next = env, o.Token
	return sketch{m.try, m.unlock}, nil
}

func (m *majority) try(ctx context.Context) (bool, error) {
	sent := time.Now()
	m.token = m.next()
	granted := 0
	for _, rdb := range m.env.Nodes {
		if ok, _ := rdb.SetNX(ctx, m.env.Key, m.token, m.env.TTL).Result(); ok {
			granted++
		}
	}
	if granted >= m.need && (time.Since(sent) < m.env.TTL || m.believeLate) {
		return true, nil
	}
	if !m.keeps {
		m.free(ctx)
	}
	return false, nil
}

func (m *majority) unlock(ctx context.Context) error {
	if m.free(ctx) < m.need {
		return lock.ErrNotHeld
	}
	return nil
}

func (m *majority) free(ctx context.Context) (deleted int) {
	for _, rdb := range m.env.Nodes {
		n, _ := compareAndDelete.Run(ctx, rdb, []string{m.env.Key}, m.token).Int()
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
