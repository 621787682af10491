package wrong

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/ladder"
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

// mutexPerService excludes whoever is in the same service, and nobody else. The
// clients belong to four services in turn.
func mutexPerService() lock.Build {
	type service struct {
		key    string
		number int
	}
	mutexes := map[service]chan struct{}{}
	clients := map[string]int{}
	return func(env lock.Env) (lock.Lock, error) {
		of := service{env.Key, clients[env.Key] % 4}
		clients[env.Key]++
		if mutexes[of] == nil {
			mutexes[of] = make(chan struct{}, 1)
		}
		mutex := mutexes[of]
		marked, err := noLock(env)
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				select {
				case mutex <- struct{}{}:
					return marked.TryLock(ctx)
				default:
					return false, nil
				}
			},
			unlock: func(ctx context.Context) error {
				defer func() { <-mutex }()
				return marked.Unlock(ctx)
			},
		}, err
	}
}

// Beside gives locks a client that sends a command twice beside each of theirs, each on
// a connection of its own, as a health check or a metric does: for so many of them, or
// always when it's 0.
func Beside(most int, words ...any) func(lock.Build) lock.Build {
	return hooked(func() redis.Hook { return &beside{most: int64(most), words: words} })
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
	most  int64
	sent  atomic.Int64
	words []any
}

// knowsClosed gives a lock clients that refuse the next SET, without sending it, after a
// command failed on its way: some drivers see that a connection was closed before they
// use it again.
func knowsClosed() func(lock.Build) lock.Build {
	return hooked(func() redis.Hook { return &closedOnce{} })
}

type closedOnce struct{ closed atomic.Bool }

func (c *closedOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *closedOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "set" && c.closed.Swap(false) {
			return net.ErrClosed
		}
		err := next(ctx, cmd)
		if answer := redis.Error(nil); err != nil && !errors.As(err, &answer) {
			c.closed.Store(true)
		}
		return err
	}
}

func (c *closedOnce) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *beside) DialHook(next redis.DialHook) redis.DialHook { return next }

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

func (b *beside) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// readCheckSet is the lock variable that [inventory] begins with: between its GET
// and its SET, ten milliseconds later, everybody else finds the lock free.
func readCheckSet(env lock.Env) (lock.Lock, error) {
	rdb := env.Nodes[0]
	return sketch{
		try: func(ctx context.Context) (bool, error) {
			found, err := rdb.Exists(ctx, env.Key).Result()
			if found == 1 || err != nil {
				return false, err
			}
			if err := lock.Sleep(ctx, 10*time.Millisecond); err != nil {
				return false, err
			}
			return true, rdb.Set(ctx, env.Key, "taken", env.TTL).Err()
		},
		unlock: func(ctx context.Context) error {
			return rdb.Del(ctx, env.Key).Err()
		},
	}, nil
}

// changed is gold with another reading of what the server said.
func changed(read func(bool, error) (bool, error)) lock.Build {
	return With(Rung("gold"), func(ctx context.Context, _ lock.Env,
		gold lock.Lock) (bool, error) {
		return read(gold.TryLock(ctx))
	})
}

// renews is platinum with so many renewals at most, which have no time limit.
func renews(most int) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		platinum, err := Rung("platinum")(env)
		renewing, stop := context.WithCancel(context.Background())
		stop()
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				granted, err := platinum.TryLock(ctx)
				if !granted || err != nil {
					return granted, err
				}
				renewing, stop = context.WithCancel(context.Background())
				go func(ctx context.Context) {
					for n := 0; n < most && lock.Sleep(ctx, env.TTL/3) == nil; n++ {
						env.Nodes[0].PExpire(ctx, env.Key, env.TTL)
					}
				}(renewing)
				return true, nil
			},
			unlock: func(ctx context.Context) error {
				stop()
				return platinum.Unlock(ctx)
			},
		}, err
	}
}

// alarmist is diamond with a Lost that is closed a fifth of a lease after each grant.
type alarmist struct {
	sketch
	lost chan struct{}
}

func alarms(env lock.Env) (lock.Lock, error) {
	diamond, err := Rung("diamond")(env)
	a := &alarmist{}
	a.sketch = sketch{unlock: diamond.Unlock,
		try: func(ctx context.Context) (bool, error) {
			granted, err := diamond.TryLock(ctx)
			if granted {
				lost := make(chan struct{})
				time.AfterFunc(env.TTL/5, func() { close(lost) })
				a.lost = lost
			}
			return granted, err
		}}
	return a, err
}

// Lost is lock.LossNotifier's.
func (a *alarmist) Lost() <-chan struct{} { return a.lost }

// silentIsDead is gold with a list of those who wait at the server. A waiter that
// is silent for a twentieth of the lease is taken for dead, and begins anew.
func silentIsDead() lock.Build {
	acquire := redis.NewScript(`
		local waits = redis.call('EXISTS', KEYS[2]) == 1
		local lives = redis.call('EXISTS', KEYS[3]) == 1
		if redis.call('EXISTS', KEYS[1]) == 1 or waits and not lives then
			redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
			redis.call('SET', KEYS[3], 1, 'PX', math.floor(ARGV[1] / 20))
			return 0
		end
		redis.call('DEL', KEYS[2], KEYS[3])
		redis.call('SET', KEYS[1], 'taken', 'PX', ARGV[1])
		return 1`)
	owners := 0
	return func(env lock.Env) (lock.Lock, error) {
		owners++
		rdb := env.Nodes[0]
		keys := []string{env.Key, lock.SecondKey(env.Key, fmt.Sprint(owners, ":waits")),
			lock.SecondKey(env.Key, fmt.Sprint(owners, ":lives"))}
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				return acquire.Run(ctx, rdb, keys, env.TTL.Milliseconds()).Bool()
			},
			unlock: func(ctx context.Context) error {
				return rdb.Del(ctx, env.Key).Err()
			},
		}, nil
	}
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
