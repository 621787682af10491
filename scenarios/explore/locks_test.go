package explore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/lockladder/lockladder/gold"
	"github.com/lockladder/lockladder/lock"
)

// Locks that keep something where the explorer might not look: on a connection, in a
// command's hidden words, in the process.

func buildGold(env lock.Env) (lock.Lock, error) {
	return gold.New(env.Nodes[0], env.Key, env.TTL, env.Options...)
}

// plainly is a lock of functions.
type plainly struct {
	try     func(ctx context.Context) (bool, error)
	release func(ctx context.Context) error
	lock    func(ctx context.Context) error
}

func (l plainly) TryLock(ctx context.Context) (bool, error) { return l.try(ctx) }
func (l plainly) Lock(ctx context.Context) error            { return l.lock(ctx) }
func (l plainly) Unlock(ctx context.Context) error          { return l.release(ctx) }

// trying is a lock that is freed by a DEL, whoever has it.
func trying(try func(ctx context.Context, env lock.Env) (bool, error)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		return plainly{try: func(ctx context.Context) (bool, error) {
			return try(ctx, env)
		}, release: deleting(env)}, nil
	}
}

func deleting(env lock.Env) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		deleted, err := env.Nodes[0].Del(ctx, env.Key).Result()
		if err == nil && deleted == 0 {
			err = lock.ErrNotHeld
		}
		return err
	}
}

// token is a new token of a client, such as "A#1".
func token(env lock.Env) string {
	o := &lock.Options{}
	for _, set := range env.Options {
		set(o)
	}
	return o.Token()
}

// twisted is gold with something before each TryLock.
func twisted(twist func(ctx context.Context, env lock.Env)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := buildGold(env)
		return plainly{try: func(ctx context.Context) (bool, error) {
			twist(ctx, env)
			return l.TryLock(ctx)
		}, release: l.Unlock}, err
	}
}

// twoScripts asks with one script and sets with another; both have the same words and no name.
func twoScripts(ctx context.Context, env lock.Env) (bool, error) {
	ask := func(script string) (int64, error) {
		return env.Nodes[0].Eval(ctx, script, []string{env.Key}, "locked").Int64()
	}
	taken, err := ask(`return redis.call('EXISTS', KEYS[1])`)
	if taken == 1 || err != nil {
		return false, err
	}
	set, err := ask(`return redis.call('SETNX', KEYS[1], ARGV[1])`)
	return set == 1, err
}

// alone keeps in one map which locks are held: for all clients of all runs, or for the
// owners of a process.
func alone(processes bool) lock.Build {
	var all sync.Map
	return func(env lock.Env) (lock.Lock, error) {
		l, err := buildGold(env)
		of := [2]any{nil, env.Key}
		if processes {
			of[0] = env.Process
		}
		inside, _ := all.LoadOrStore(of, new(atomic.Bool))
		held := inside.(*atomic.Bool)
		return plainly{try: func(ctx context.Context) (bool, error) {
			if !held.CompareAndSwap(false, true) {
				return false, nil
			}
			granted, err := l.TryLock(ctx)
			held.Store(granted)
			return granted, err
		}, release: func(ctx context.Context) error {
			held.Store(false)
			return l.Unlock(ctx)
		}}, err
	}
}

// handsOver tells all waiters of a release by a channel, as if all clients were one process.
func handsOver() lock.Build {
	released := make(chan chan struct{}, 26)
	return func(env lock.Env) (lock.Lock, error) {
		set := func(ctx context.Context) (bool, error) {
			return env.Nodes[0].SetNX(ctx, env.Key, "locked", 0).Result()
		}
		return plainly{set, func(ctx context.Context) error {
			err := deleting(env)(ctx)
			for len(released) > 0 {
				close(<-released)
			}
			return err
		}, func(ctx context.Context) error {
			granted, err := set(ctx)
			for ; !granted && err == nil; granted, err = set(ctx) {
				wait := make(chan struct{})
				released <- wait
				select {
				case <-wait:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return err
		}}, nil
	}
}

// leaseless sets a key without a lease. Refused is what Lock does when the key is there.
func leaseless(refused func(ctx context.Context) error,
	release func(env lock.Env) func(ctx context.Context) error) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		name := token(env) // the owners' commands must not look alike
		try := func(ctx context.Context) (bool, error) {
			return env.Nodes[0].SetNX(ctx, env.Key, name, 0).Result()
		}
		return plainly{try, release(env), func(ctx context.Context) error {
			if granted, err := try(ctx); granted || err != nil {
				return err
			}
			return refused(ctx)
		}}, nil
	}
}

// subscribing has a Lock that listens to a channel until its subscription is confirmed,
// asks then, and goes away. Its release leaves the key alone when somebody listens.
func subscribing(env lock.Env) (lock.Lock, error) {
	rdb := env.Nodes[0]
	try := func(ctx context.Context) (bool, error) {
		return rdb.SetNX(ctx, env.Key, "locked", env.TTL).Result()
	}
	return plainly{try, func(ctx context.Context) error {
		return rdb.Eval(ctx, `if redis.call('PUBLISH', KEYS[1] .. ':released', 1) == 0`+
			` then redis.call('DEL', KEYS[1]) end return 1`, []string{env.Key}).Err()
	}, func(ctx context.Context) error {
		if granted, err := try(ctx); granted || err != nil {
			return err
		}
		sub := rdb.Subscribe(ctx, env.Key+":released")
		select {
		case <-ctx.Done():
		case <-sub.ChannelWithSubscriptions():
		}
		sub.Close()
		return rdb.Get(ctx, env.Key).Err()
	}}, nil
}

// counting makes a lock re-entrant: it counts levels in the process, and sends a command
// for the outermost one only.
func counting(build lock.Build) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := build(env)
		levels := 0
		return plainly{try: func(ctx context.Context) (bool, error) {
			if levels == 0 {
				granted, err := l.TryLock(ctx)
				if !granted || err != nil {
					return granted, err
				}
			}
			levels++
			return true, nil
		}, release: func(ctx context.Context) error {
			if levels--; levels > 0 {
				return nil
			}
			return l.Unlock(ctx)
		}}, err
	}
}
