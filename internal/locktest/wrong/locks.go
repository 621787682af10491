package wrong

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// Rung builds a lock of the ladder, which may be run in scenarios that it doesn't
// claim to hold.
func Rung(name string) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		rung, err := ladder.Find(name)
		if err != nil {
			return nil, err
		}
		return rung.Build(env)
	}
}

// With gives the locks that build makes another TryLock.
func With(build lock.Build, try func(ctx context.Context, env lock.Env,
	inner lock.Lock) (bool, error)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := build(env)
		if err != nil {
			return nil, err
		}
		return sketch{unlock: l.Unlock,
			try: func(ctx context.Context) (bool, error) {
				return try(ctx, env, l)
			}}, nil
	}
}

// sketch is a lock of two functions; its Lock asks ten times a second.
type sketch struct {
	try    func(context.Context) (bool, error)
	unlock func(context.Context) error
}

func (s sketch) TryLock(ctx context.Context) (bool, error) { return s.try(ctx) }
func (s sketch) Unlock(ctx context.Context) error          { return s.unlock(ctx) }

func (s sketch) Lock(ctx context.Context) error {
	for {
		if granted, err := s.try(ctx); granted || err != nil {
			return err
		}
		if err := lock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// noLock asks nobody. The key is a mark for the lab: whoever comes overwrites it.
func noLock(env lock.Env) (lock.Lock, error) {
	rdb := env.Nodes[0]
	return sketch{
		try: func(ctx context.Context) (bool, error) {
			return true, rdb.Set(ctx, env.Key, "taken", env.TTL).Err()
		},
		unlock: func(ctx context.Context) error {
			return rdb.Del(ctx, env.Key).Err()
		},
	}, nil
}

// Beside gives locks a client that sends a command twice beside each of theirs, each on
// a connection of its own, as a health check or a metric does: for so many of them, or
// always when it's 0.
func Beside(most int64, words ...any) func(lock.Build) lock.Build {
	return hooked(func() redis.Hook { return &beside{most: most, words: words} })
}

// hooked gives locks clients with a hook each.
func hooked(hook func() redis.Hook) func(lock.Build) lock.Build {
	var known sync.Map // the clients; owners may share one
	return func(build lock.Build) lock.Build {
		return func(env lock.Env) (lock.Lock, error) {
			for _, rdb := range env.Nodes {
				if _, hooked := known.LoadOrStore(rdb, true); !hooked {
					rdb.AddHook(hook())
				}
			}
			return build(env)
		}
	}
}

type beside struct {
	locktest.Around // leaves dialing and pipelines alone
	most            int64
	sent            atomic.Int64
	words           []any
}

// ProcessHook sends the other command with the same context.
func (b *beside) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		drivers := slices.Contains([]string{"hello", "client", "ping"}, cmd.Name())
		if drivers || b.sent.Add(1) > b.most && b.most > 0 {
			return next(ctx, cmd)
		}
		var asked sync.WaitGroup
		for range 2 {
			asked.Go(func() { next(ctx, redis.NewCmd(ctx, b.words...)) })
		}
		defer asked.Wait()
		return next(ctx, cmd)
	}
}

// knowsClosed gives a lock clients that refuse the next SET, without sending it, after a
// command failed on its way: some drivers see that a connection was closed before they
// use it again.
func knowsClosed() func(lock.Build) lock.Build {
	return hooked(func() redis.Hook {
		var closed atomic.Bool
		return locktest.Around(func(cmd redis.Cmder, send func() error) error {
			if cmd.Name() == "set" && closed.Swap(false) {
				return net.ErrClosed
			}
			err := send()
			if answer := redis.Error(nil); err != nil && !errors.As(err, &answer) {
				closed.Store(true)
			}
			return err
		})
	})
}

// changed is gold with another reading of what the server said.
func changed(read func(bool, error) (bool, error)) lock.Build {
	return With(Rung("gold"), func(ctx context.Context, _ lock.Env,
		gold lock.Lock) (bool, error) {
		return read(gold.TryLock(ctx))
	})
}

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

func panics(env lock.Env) (lock.Lock, error) {
	return sketch{try: func(context.Context) (bool, error) {
		panic("not a lock at all")
	}}, nil
}

// asksWithoutEnd polls without a pause.
var asksWithoutEnd = With(Rung("gold"), func(ctx context.Context, _ lock.Env,
	gold lock.Lock) (bool, error) {
	for {
		if granted, err := gold.TryLock(ctx); granted || err != nil {
			return granted, err
		}
	}
})

// leaksConnections asks on a connection of its own each time and gives none back.
func leaksConnections(env lock.Env) (lock.Lock, error) {
	gold, err := Rung("gold")(env)
	return sketch{
		try: func(ctx context.Context) (bool, error) {
			own := env.Nodes[0].(*redis.Client).Conn()
			return own.SetNX(ctx, env.Key, "taken", env.TTL).Result()
		},
		unlock: gold.Unlock,
	}, err
}

// unreleased is diamond whose release finds another value than it has set.
func unreleased(env lock.Env) (lock.Lock, error) {
	diamond, err := Rung("diamond")(env)
	return sketch{try: diamond.TryLock,
		unlock: func(context.Context) error { return lock.ErrNotHeld }}, err
}
