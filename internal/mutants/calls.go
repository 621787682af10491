package mutants

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/mutants/guard"
	"github.com/lockladder/lockladder/lock"
)

// Locks that take and release correctly, and of which one call is wrong in
// another way: in its answer, in its duration, or in what it leaves running.

// of makes an owner of a lock of the ladder, and fails where the rung does.
func of(name string, env lock.Env, wrong func(lock.Lock) lock.Lock) (lock.Lock,
	error) {
	l, err := Rung(name)(env)
	if err != nil {
		return nil, err
	}
	return wrong(l), nil
}

// tries is diamond with a TryLock of its own.
func tries(try func(context.Context, lock.Lock) (bool, error)) lock.Build {
	return With(Rung("diamond"), func(ctx context.Context, _ lock.Env,
		l lock.Lock) (bool, error) {
		return try(ctx, l)
	})
}

// unlocks is diamond with an Unlock of its own.
func unlocks(unlock func(context.Context, lock.Lock) error) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		return of("diamond", env, func(l lock.Lock) lock.Lock {
			return sketch{l.TryLock, func(ctx context.Context) error {
				return unlock(ctx, l)
			}}
		})
	}
}

// swallowsErrors says that all is well when the server can't be reached.
var swallowsErrors = unlocks(func(ctx context.Context, l lock.Lock) error {
	if err := l.Unlock(ctx); errors.Is(err, lock.ErrNotHeld) {
		return err
	}
	return nil
})

// blamesTheLease takes every error of an Unlock for a lost lease.
var blamesTheLease = unlocks(func(ctx context.Context, l lock.Lock) error {
	if l.Unlock(ctx) != nil {
		return lock.ErrNotHeld
	}
	return nil
})

// sleepyUnlock lets the caller wait for nothing.
var sleepyUnlock = unlocks(func(ctx context.Context, l lock.Lock) error {
	time.Sleep(time.Second)
	return l.Unlock(ctx)
})

// patientTryLock is a Lock with a patience of five seconds.
var patientTryLock = tries(func(ctx context.Context, l lock.Lock) (bool, error) {
	for end := time.Now().Add(5 * time.Second); ; {
		granted, err := l.TryLock(ctx)
		if granted || err != nil || time.Now().After(end) {
			return granted, err
		}
		time.Sleep(100 * time.Millisecond)
	}
})

// hurriedTryLock asks a hundred times before it lets any time pass.
var hurriedTryLock = tries(func(ctx context.Context, l lock.Lock) (bool, error) {
	for range 99 {
		if granted, err := l.TryLock(ctx); granted || err != nil {
			return granted, err
		}
	}
	return l.TryLock(ctx)
})

// deafTryLock waits for an answer after its caller's deadline.
var deafTryLock = tries(func(ctx context.Context, l lock.Lock) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx),
		20*time.Second)
	defer cancel()
	return l.TryLock(ctx)
})

// secondTry takes the lock once more after an error, as if it had not been taken.
var secondTry = tries(func(ctx context.Context, l lock.Lock) (bool, error) {
	granted, err := l.TryLock(ctx)
	if err != nil && ctx.Err() == nil {
		granted, err = l.TryLock(ctx)
	}
	return granted, err
})

// nests is a lock that counts in the client how often it was locked, and asks the
// server at every inner Unlock whether it is still there. It calls failed when the
// server does not answer.
type nests struct {
	lock.Lock
	lost   func() <-chan struct{}
	depth  int
	exists func(context.Context) error
	failed func(context.Context, *nests)
}

func (n *nests) Lost() <-chan struct{} { return n.lost() }

func (n *nests) TryLock(ctx context.Context) (bool, error) {
	granted, err := n.depth > 0, error(nil)
	if !granted {
		granted, err = n.Lock.TryLock(ctx)
	}
	if granted {
		n.depth++
	}
	return granted, err
}

func (n *nests) Unlock(ctx context.Context) error {
	if n.depth <= 1 {
		n.depth = 0
		return n.Lock.Unlock(ctx)
	}
	if err := n.exists(ctx); err != nil {
		n.failed(ctx, n)
		return err
	}
	n.depth--
	return nil
}

func nesting(failed func(context.Context, *nests)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		return of("diamond/watchdog", env,
			func(l lock.Lock) lock.Lock {
				n := &nests{Lock: l, lost: l.(lock.LossNotifier).Lost,
					failed: failed,
					exists: func(ctx context.Context) error {
						return env.Nodes[0].Exists(ctx, env.Key).Err()
					}}
				return struct {
					sketch
					lock.LossNotifier
				}{sketch{n.TryLock, n.Unlock}, n}
			})
	}
}

// keepsTheCount counts an inner Unlock only when the server has heard of it.
var keepsTheCount = nesting(func(context.Context, *nests) {})

// givesUp releases the whole lock when an inner Unlock fails.
var givesUp = nesting(func(ctx context.Context, n *nests) { n.Lock.Unlock(ctx) })

// looksTwice compares, compares again to be sure, and deletes. Like a good lock it
// does so on a context of its own.
func looksTwice(env lock.Env) (lock.Lock, error) {
	rdb, value, grants := env.Nodes[0], "", 0
	return sketch{
		try: func(ctx context.Context) (bool, error) {
			grants++
			mine := fmt.Sprintf("%p %d", &value, grants)
			granted, err := rdb.SetNX(ctx, env.Key, mine, env.TTL).Result()
			if granted {
				value = mine
			}
			return granted, err
		},
		unlock: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(
				context.WithoutCancel(ctx), 2*env.TTL)
			defer cancel()
			for range 2 {
				found, err := rdb.Get(ctx, env.Key).Result()
				if err != nil && !errors.Is(err, redis.Nil) {
					return err
				}
				if err != nil || found != value {
					return lock.ErrNotHeld
				}
			}
			return rdb.Del(ctx, env.Key).Err()
		},
	}, nil
}

// named is the lock of the ladder whose owners' ids begin with a name that is
// given to each when it is built.
func named(rung string, name func(env lock.Env) string) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		id, drawn := name(env), 0
		env.Options = append(env.Options, lock.Tokens(func() string {
			drawn++
			return fmt.Sprintf("%s#%d", id, drawn)
		}))
		return Rung(rung)(env)
	}
}

// byTheClock is the nanosecond at which an owner was built.
func byTheClock(lock.Env) string { return fmt.Sprint(time.Now().UnixNano()) }

// byTheProcess numbers the owners of a process.
func byTheProcess() func(env lock.Env) string {
	var mu sync.Mutex
	owners := map[any]int{}
	return func(env lock.Env) string {
		mu.Lock()
		defer mu.Unlock()
		owners[env.Process]++
		return fmt.Sprint(owners[env.Process])
	}
}

// drawnAhead is a lock whose owner draws the id of its next grant when it is built
// and when it has released.
func drawnAhead(name func(env lock.Env) string) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		rdb, id, drawn := env.Nodes[0], name(env), 1
		next := func() string { return fmt.Sprintf("%s#%d", id, drawn) }
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				return rdb.SetNX(ctx, env.Key, next(), env.TTL).Result()
			},
			unlock: func(ctx context.Context) error {
				mine := next()
				drawn++
				n, err := guard.CompareAndDelete.Run(ctx, rdb, []string{env.Key},
					mine).Int()
				if err == nil && n == 0 {
					return lock.ErrNotHeld
				}
				return err
			},
		}, nil
	}
}

// alwaysRenews does not look at the option FixedLease.
func alwaysRenews(env lock.Env) (lock.Lock, error) {
	env.Options = append(env.Options, func(o *lock.Options) {
		o.FixedLease = false
	})
	return Rung("diamond/watchdog")(env)
}

// silentWhenFixed has no Lost where its renewal is turned off.
func silentWhenFixed(env lock.Env) (lock.Lock, error) {
	var o lock.Options
	for _, set := range env.Options {
		set(&o)
	}
	return of("diamond/watchdog", env,
		func(l lock.Lock) lock.Lock {
			if o.FixedLease {
				return sketch{try: l.TryLock, unlock: l.Unlock}
			}
			return l
		})
}

// numbered is a lock with fencing tokens: before and after are asked around each
// attempt, and the token is what the later one says.
type numbered struct {
	sketch
	newest *uint64
}

func (n numbered) Token() uint64 { return *n.newest }

func tokens(before, after func(env lock.Env, born time.Time,
	count uint64) (uint64, error)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		var newest, count uint64
		born := time.Now()
		return of("diamond", env, func(l lock.Lock) lock.Lock {
			return numbered{newest: &newest, sketch: sketch{
				unlock: l.Unlock,
				try: func(ctx context.Context) (bool, error) {
					var token uint64
					var err error
					if before != nil {
						token, err = before(env, born, count)
					}
					if err != nil {
						return false, err
					}
					granted, err := l.TryLock(ctx)
					if !granted || err != nil {
						return granted, err
					}
					count++
					if after != nil {
						token, err = after(env, born, count)
					}
					newest = token
					return err == nil, err
				},
			}}
		})
	}
}

// counted is what a counter beside the lock says when it is raised.
func counted(env lock.Env, _ time.Time, _ uint64) (uint64, error) {
	return env.Nodes[0].Incr(context.Background(),
		lock.Beside(env.Key, "token")).Uint64()
}

// forgotten is counted with a counter that ends with four leases of silence.
func forgotten(env lock.Env, born time.Time, n uint64) (uint64, error) {
	token, err := counted(env, born, n)
	env.Nodes[0].PExpire(context.Background(), lock.Beside(env.Key, "token"),
		4*env.TTL)
	return token, err
}

// clocked is the client's clock.
func clocked(env lock.Env, _ time.Time, _ uint64) (uint64, error) {
	return uint64(env.Now().UnixMicro()), nil
}

// born is when the owner was built; bornAndCounted counts its grants besides.
func born(_ lock.Env, at time.Time, _ uint64) (uint64, error) {
	return uint64(at.UnixMicro()), nil
}

func bornAndCounted(_ lock.Env, at time.Time, n uint64) (uint64, error) {
	return uint64(at.UnixMicro()) + n, nil
}
