// Package wrong has locks that a soak must catch. All are one lock with a lease
// that is renewed and a holder that is told of its loss, each with one mistake.
package wrong

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Prefix begins their names, where the names of rungs are asked for.
const Prefix = "wrong/"

// Locks are the mistakes by name. "none" is the lock without one, which shows
// that the others are caught for their mistake.
var Locks = map[string]string{
	"none":             "no mistake: the others are this lock with one",
	"lease_from_reply": "the lease counts from when the reply came",
	"blind_release":    "the release deletes without comparing",
	"endless_renewal":  "the lease is given up only when the server says so",
	"deaf_waiter":      "a waiter asks on after its deadline",
	"no_lease":         "the key has no TTL",
	"early_token":      "a waiter takes its fencing token when it comes",
}

var compareAndDelete = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`)

var compareAndExtend = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)

// Build makes the Build of a wrong lock.
func Build(mistake string) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		o, err := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
		if err != nil {
			return nil, err
		}
		l := &Lock{mistake: mistake, rdb: env.Nodes[0], key: env.Key,
			ttl: env.TTL, opts: o, stop: func() {}}
		if mistake == "early_token" {
			return fenced{l}, nil
		}
		return l, nil
	}
}

// Lock is one owner.
type Lock struct {
	mistake string
	rdb     redis.UniversalClient
	key     string
	ttl     time.Duration
	opts    *lock.Options
	token   string
	fence   uint64
	early   uint64 // the token of an owner that waits
	lost    chan struct{}
	stop    func() // stops and joins the renewal
}

// owner is Lock, under a name that its method Lock leaves free.
type owner = Lock

type fenced struct{ *owner }

// Token is the fencing token of the newest grant.
func (f fenced) Token() uint64 { return f.fence }

// TryLock makes one attempt.
func (l *Lock) TryLock(ctx context.Context) (bool, error) {
	token, ttl := l.opts.Token(), l.ttl
	if l.mistake == "no_lease" {
		ttl = 0
	}
	sent := time.Now()
	if l.mistake == "early_token" && l.early == 0 {
		fence, err := l.rdb.Incr(ctx, lock.Beside(l.key, "token")).Uint64()
		if err != nil {
			return false, lock.Failed(ctx, "acquire", l.key, err)
		}
		l.early = fence
	}
	granted, err := l.rdb.SetNX(ctx, l.key, token, ttl).Result()
	if err != nil {
		return false, lock.Failed(ctx, "acquire", l.key, err)
	}
	if !granted {
		return false, nil
	}
	if l.mistake == "lease_from_reply" {
		sent = time.Now()
	}
	l.token, l.fence, l.early = token, l.early, 0
	if time.Since(sent) >= l.ttl {
		_ = l.release(ctx)
		return false, nil
	}
	l.stop()
	l.watch(token, sent)
	return true, nil
}

// Lock asks until the lock is granted or ctx ends.
func (l *Lock) Lock(ctx context.Context) error {
	if l.mistake == "deaf_waiter" {
		ctx = context.WithoutCancel(ctx)
	}
	return lock.Poll(ctx, l.key, l.opts, l.TryLock)
}

// Unlock releases the lock.
func (l *Lock) Unlock(ctx context.Context) error {
	l.stop()
	return l.release(ctx)
}

func (l *Lock) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	var n int64
	var err error
	if l.mistake == "blind_release" {
		n, err = l.rdb.Del(ctx, l.key).Result()
	} else {
		n, err = compareAndDelete.Run(ctx, l.rdb, []string{l.key},
			l.token).Int64()
	}
	if err == nil && n == 0 {
		err = lock.ErrNotHeld
	}
	if err != nil {
		return lock.Failed(ctx, "release", l.key, err)
	}
	return nil
}

// Lost is closed when the lease is gone.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// watch renews the lease, and closes lost when the server or the local clock says
// that it is gone.
func (l *Lock) watch(token string, sent time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	lost, done := make(chan struct{}), make(chan struct{})
	lose := sync.OnceFunc(func() { close(lost); cancel() })
	deadline := time.AfterFunc(time.Until(sent.Add(l.ttl)), func() {
		if l.mistake != "endless_renewal" {
			lose()
		}
	})
	go func() {
		defer close(done)
		for lock.Sleep(ctx, l.ttl/3) == nil {
			sent := time.Now()
			ctx, cancel := context.WithTimeout(ctx, l.ttl/4)
			n, err := compareAndExtend.Run(ctx, l.rdb, []string{l.key}, token,
				l.ttl.Milliseconds()).Int()
			cancel()
			if l.mistake == "lease_from_reply" {
				sent = time.Now()
			}
			if err == nil && n == 0 {
				lose()
			} else if err == nil {
				deadline.Reset(time.Until(sent.Add(l.ttl)))
			}
		}
	}()
	l.lost, l.stop = lost, func() { cancel(); <-done; deadline.Stop() }
}
