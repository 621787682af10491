package wrong

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Mistakes are what can be wrong with a small lock that has a token, a lease that is
// renewed, and a holder that is told of its loss. Without one it is right. The explorer's
// mutants and the wrong locks of a soak are made of it.
type Mistakes struct {
	Apart       bool // the release reads, and then deletes
	Blind       bool // the release deletes without comparing
	OneToken    bool // all grants of a handle have one token
	RenewAny    bool // the renewal does not compare
	Recreate    bool // the renewal sets the key, and Unlock does not wait for it
	BelieveLate bool // a grant that comes late is believed
	LeaveLate   bool // or refused, and not released
	Silent      bool // Unlock returns nil after the loss
	NoNotice    bool // Lost stays open when the lease is over
	FromReply   bool // the lease counts from when the reply came
	Endless     bool // the lease is given up only when the server says so
	Deaf        bool // a waiter asks on after its deadline
	NoLease     bool // the key has no TTL
	Early       bool // a waiter takes its fencing token when it comes
	FirstOnly   bool // only the first grant of a handle is renewed
	TenSeconds  bool // a renewal is for ten seconds, whatever the lease
	OneLost     bool // all grants of a handle have one Lost
	ErrorKeeps  bool // a renewal that is answered with an error has renewed
	ErrorFrees  bool // a release that is answered with an error has released
	AtOnce      bool // a waiter hardly pauses after an error, and asks again
	AskOn       bool // a waiter asks on when its caller is gone
	Alarm       bool // Lost is closed a fifth of a lease after each grant
	Yes         bool // Lock returns nil when its deadline has passed
	Behind      bool // Unlock returns before its release is answered
	Refuse      bool // an error is a refusal
	LowerCase   bool // the key is the name in lower case
	Listens     bool // a waiter that gives up leaves its subscription behind
	Slows       bool // a renewal that fails makes all that follow rarer

	Sleeps   time.Duration // a waiter sleeps for so long, and its deadline doesn't wake it
	Attempts int           // such a waiter gives up after so many; 0: it doesn't
}

var (
	compareAndDelete = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then
return redis.call('DEL', KEYS[1]) end return 0`)
	compareAndExtend = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then
return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
)

// guard is one owner.
type guard struct {
	Mistakes
	env   lock.Env
	opts  *lock.Options
	token string
	fence uint64
	early uint64 // the token of an owner that waits
	again bool   // this isn't its first grant
	lost  chan struct{}
	stop  func() // stops the renewal, and joins it
}

// fenced is a guard whose grants have fencing tokens.
type fenced struct{ *guard }

// Token is the fencing token of the newest grant.
func (f fenced) Token() uint64 { return f.fence }

// Build makes an owner of the lock with these mistakes.
func (m Mistakes) Build(env lock.Env) (lock.Lock, error) {
	o, err := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
	if err != nil {
		return nil, err
	}
	if m.LowerCase {
		env.Key = strings.ToLower(env.Key)
	}
	g := &guard{Mistakes: m, env: env, opts: o, stop: func() {}}
	if m.Early {
		return fenced{g}, nil
	}
	return g, nil
}

// TryLock makes one attempt.
func (g *guard) TryLock(ctx context.Context) (bool, error) {
	rdb, ttl, sent := g.env.Nodes[0], g.env.TTL, time.Now()
	if g.token == "" || !g.OneToken {
		g.token = g.opts.Token()
	}
	if g.NoLease {
		ttl = 0
	}
	if g.Early && g.early == 0 {
		fence, err := rdb.Incr(ctx, lock.SecondKey(g.env.Key, "token")).Uint64()
		if err != nil {
			return false, lock.Failed(ctx, "acquire", g.env.Key, err)
		}
		g.early = fence
	}
	granted, err := rdb.SetNX(ctx, g.env.Key, g.token, ttl).Result()
	if err != nil && g.Refuse {
		return false, nil
	}
	if err != nil {
		return false, lock.Failed(ctx, "acquire", g.env.Key, err)
	}
	if !granted {
		return false, nil
	}
	if g.FromReply {
		sent = time.Now()
	}
	if time.Since(sent) >= g.env.TTL && !g.BelieveLate {
		if !g.LeaveLate {
			g.free(ctx)
		}
		return false, nil
	}
	g.fence, g.early = g.early, 0
	g.stop()
	g.watch(sent)
	return true, nil
}

// Lock asks until the lock is granted or ctx ends.
func (g *guard) Lock(ctx context.Context) error {
	if g.Deaf {
		ctx = context.WithoutCancel(ctx)
	}
	if !g.AskOn {
		err := g.poll(ctx)
		if err != nil && g.Listens {
			g.env.Nodes[0].Subscribe(context.WithoutCancel(ctx), g.env.Key)
		}
		if g.Yes && ctx.Err() != nil {
			return nil
		}
		return err
	}
	done := make(chan error, 1)
	go func() { done <- g.poll(context.WithoutCancel(ctx)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *guard) poll(ctx context.Context) error {
	for n := 1; g.Sleeps > 0; n++ {
		granted, err := g.TryLock(ctx)
		if granted || err != nil {
			return err
		}
		if time.Sleep(g.Sleeps); n == g.Attempts {
			return errors.New("too many attempts")
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for {
		err := lock.Poll(ctx, g.env.Key, g.opts, g.TryLock)
		if !g.AtOnce || err == nil || lock.Sleep(ctx, g.env.TTL/2000) != nil {
			return err
		}
	}
}

// isReply says whether an error is what the server has answered.
func isReply(err error) bool {
	_, is := errors.AsType[redis.Error](err)
	return is
}

// Lost is closed when the lease is gone.
func (g *guard) Lost() <-chan struct{} { return g.lost }

// Unlock releases the lock.
func (g *guard) Unlock(ctx context.Context) error {
	g.stop()
	if g.Behind {
		go g.free(ctx)
		return nil
	}
	deleted, err := g.free(ctx)
	if g.ErrorFrees && isReply(err) {
		return nil
	}
	if err == nil && deleted == 0 && !g.Silent {
		err = lock.ErrNotHeld
	}
	if err != nil {
		return lock.Failed(ctx, "release", g.env.Key, err)
	}
	return nil
}

func (g *guard) free(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.env.TTL)
	defer cancel()
	rdb := g.env.Nodes[0]
	if g.Apart {
		held, err := rdb.Get(ctx, g.env.Key).Result()
		if errors.Is(err, redis.Nil) || err == nil && held != g.token {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
	}
	if g.Apart || g.Blind {
		return rdb.Del(ctx, g.env.Key).Result()
	}
	return compareAndDelete.Run(ctx, rdb, []string{g.env.Key}, g.token).Int64()
}

// watch renews the lease, and closes lost when the server or the local clock says
// that it is gone.
func (g *guard) watch(sent time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	lost, done, token := make(chan struct{}), make(chan struct{}), g.token
	if g.OneLost && g.lost != nil {
		lost = g.lost
	}
	first := !g.again
	g.again = true
	lose := sync.OnceFunc(func() {
		cancel()
		select {
		case <-lost: // with an earlier grant
		default:
			if !g.NoNotice {
				close(lost)
			}
		}
	})
	if g.Alarm {
		time.AfterFunc(g.env.TTL/5, lose)
	}
	deadline := time.AfterFunc(time.Until(sent.Add(g.env.TTL)), func() {
		if !g.Endless {
			lose()
		}
	})
	go func() {
		defer close(done)
		for pause := g.env.TTL / 3; (first || !g.FirstOnly) && lock.Sleep(ctx, pause) == nil; {
			sent := time.Now()
			kept, err := g.renew(ctx, token)
			if g.FromReply {
				sent = time.Now()
			}
			if err != nil && g.Slows {
				pause = g.env.TTL * 3 / 5
			}
			if err == nil && !kept {
				lose()
			} else if err == nil || g.ErrorKeeps && isReply(err) {
				deadline.Reset(time.Until(sent.Add(g.env.TTL)))
			}
		}
	}()
	g.lost = lost
	g.stop = func() {
		cancel()
		if !g.Recreate {
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
	case g.RenewAny:
		return rdb.PExpire(ctx, g.env.Key, g.env.TTL).Result()
	case g.Recreate:
		return true, rdb.Set(ctx, g.env.Key, token, g.env.TTL).Err()
	}
	ttl := g.env.TTL
	if g.TenSeconds {
		ttl = 10 * time.Second
	}
	return compareAndExtend.Run(ctx, rdb, []string{g.env.Key}, token,
		ttl.Milliseconds()).Bool()
}
