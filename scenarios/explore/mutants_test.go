package explore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/pages/generated"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// mutation is a mistake that a lock's author could make and that shows only in
// some order of events. The lock without it is held to the same bounds.
type mutation struct {
	name   string
	breaks explore.Invariant
	right  lock.Build
	wrong  lock.Build
	bounds explore.Bounds
	long   bool

	sound func(t *testing.T, m mutation) explore.Report // walks right
}

func mutations() []mutation {
	expiry := explore.Bounds{Expiries: 1}
	once := []explore.Program{explore.Once}
	timestamp, _ := ladder.Find("silver/timestamp")
	fencedLock, _ := ladder.Find("reentrant/fenced")
	all := []mutation{
		{name: "the release reads, and then deletes",
			breaks: explore.ForeignRelease, wrong: guarded(knobs{apart: true}),
			bounds: explore.Bounds{Expiries: 1, Strays: 1}},
		{name: "one token for all grants of a handle",
			breaks: explore.ForeignRelease, wrong: guarded(knobs{oneToken: true}),
			bounds: explore.Bounds{Clients: 1, Expiries: 1, Strays: 1,
				Programs: []explore.Program{explore.Twice}}},
		{name: "the renewal does not compare",
			breaks: explore.ForeignRenewal, wrong: guarded(knobs{renewAny: true}),
			bounds: explore.Bounds{Expiries: 1, Timers: 1}, long: true},
		{name: "the renewal sets the key again, and Unlock does not wait for it",
			breaks: explore.ForeignRelease, wrong: guarded(knobs{recreate: true}),
			bounds: explore.Bounds{Timers: 1}},
		{name: "a grant that comes late is believed",
			breaks: explore.ToldALie, wrong: guarded(knobs{believeLate: true}),
			bounds: expiry},
		{name: "a grant that comes late is refused and not released",
			breaks: explore.SelfDeadlock, wrong: guarded(knobs{leaveLate: true}),
			bounds: expiry},
		{name: "Unlock returns nil after the loss of the lock",
			breaks: explore.ToldALie, wrong: guarded(knobs{silent: true}),
			bounds: expiry},
		{name: "the holder is not told that its lease is over",
			breaks: explore.TwoHolders, wrong: guarded(knobs{untold: true}),
			bounds: expiry},
		{name: "no fencing token after a lost reply",
			breaks: explore.StaleWrite, right: fencedLock.Build,
			wrong:  forgetting(fencedLock.Build),
			bounds: explore.Bounds{Expiries: 1, LostReplies: 1}, long: true},
		{name: "the takeover does not look at what GETSET returns",
			breaks: explore.TwoHolders, right: afterADeath(timestamp.Build),
			wrong:  afterADeath(with(timestamp.Build, withoutComparing)),
			bounds: explore.Bounds{LeaseInValue: deadline}},
		{name: "one node of three is a majority",
			breaks: explore.TwoHolders, right: nodes(knobs{}),
			wrong:  nodes(knobs{minority: true}),
			bounds: explore.Bounds{Nodes: 3, Attempts: 1}},
		{name: "the time that the majority took is not counted",
			breaks: explore.ToldALie, right: nodes(knobs{}),
			wrong:  nodes(knobs{believeLate: true}),
			bounds: explore.Bounds{Clients: 1, Nodes: 3, Expiries: 1}},
	}
	// The guard without a mistake is walked once for each bounds.
	var mu sync.Mutex
	known := map[string]explore.Report{}
	for i := range all {
		m := &all[i]
		if m.bounds.Programs == nil {
			m.bounds.Programs = once
		}
		m.sound = func(t *testing.T, m mutation) explore.Report {
			return explore.Run(t, m.right, m.bounds)
		}
		if m.right == nil {
			m.right = guarded(knobs{})
			m.sound = func(t *testing.T, m mutation) explore.Report {
				mu.Lock()
				defer mu.Unlock()
				name := fmt.Sprint(m.bounds, m.bounds.Programs)
				report, ok := known[name]
				if !ok {
					report = explore.Run(t, m.right, m.bounds)
					known[name] = report
				}
				return report
			}
		}
	}
	return all
}

func TestTheExplorerFindsTheMutantsThatNeedAnInterleaving(t *testing.T) {
	t.Parallel()
	mutations := mutations()
	table := make([]string, len(mutations))
	t.Run("mutants", func(t *testing.T) {
		for i, m := range mutations {
			t.Run(m.name, func(t *testing.T) {
				if m.long && !*all {
					t.Skip("go test ./scenarios/explore -run Mutants -all")
				}
				if explore.Brief() && (m.bounds.Nodes > 1 || m.bounds.Strays > 0) {
					t.Skip("takes too long with -short or -race")
				}
				t.Parallel()
				right := m.sound(t, m)
				require.True(t, right.Exhausted())
				_, broken := right.Failure(m.breaks)
				assert.False(t, broken, "without the mistake: %s", right)
				wrong := explore.Run(t, m.wrong, m.bounds)
				f, broken := wrong.Failure(m.breaks)
				require.True(t, broken, "with the mistake: %s", wrong)
				table[i] = fmt.Sprintf("| %s | %s | `%s` | %v |\n", m.name,
					m.breaks, f.Schedule, right.Walks[0].Schedules())
			})
		}
	})
	if *all {
		generated.Compare(t, document, "mutants", "| mistake | breaks | by the schedule | exhausted"+
			" without it |\n|---|---|---|--:|\n"+strings.Join(table, ""))
	}
}

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
