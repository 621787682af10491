package wrong

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

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

// hasty is gold that waits for no answer.
var hasty = With(Rung("gold"), func(ctx context.Context, _ lock.Env,
	gold lock.Lock) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Microsecond)
	defer cancel()
	return gold.TryLock(ctx)
})

// waiter is diamond/watchdog that makes so many attempts at most, 0 means any number,
// with a pause between them that nothing ends.
type waiter struct {
	sketch
	attempts int
	pause    time.Duration
}

func waiting(attempts int, pause time.Duration) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		inner, err := Rung("diamond/watchdog")(env)
		return waiter{sketch{inner.TryLock, inner.Unlock}, attempts, pause}, err
	}
}

// Lock is lock.Lock's.
func (w waiter) Lock(ctx context.Context) error {
	for n := 1; ; n++ {
		granted, err := w.try(ctx)
		if granted || err != nil {
			return err
		}
		time.Sleep(w.pause)
		if n == w.attempts {
			return errors.New("too many attempts")
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// yesAtDeadline is diamond, but its Lock returns nil when its deadline has passed.
func yesAtDeadline(env lock.Env) (lock.Lock, error) {
	diamond, err := Rung("diamond")(env)
	return yesSayer{sketch{diamond.TryLock, diamond.Unlock}}, err
}

type yesSayer struct{ sketch }

// Lock is lock.Lock's.
func (y yesSayer) Lock(ctx context.Context) error {
	if err := y.sketch.Lock(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// holdsMutex guards its fields and its commands with one mutex, as one would in
// an ordinary program: here the watchdog waits for it while Redis is slow.
func holdsMutex(env lock.Env) (lock.Lock, error) {
	gold, err := Rung("gold")(env)
	var mu sync.Mutex
	stop := func() {}
	return sketch{
		try: func(ctx context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			granted, err := gold.TryLock(ctx)
			if !granted || err != nil {
				return granted, err
			}
			watching, cancel := context.WithCancel(context.Background())
			stop = cancel
			go func() {
				for watching.Err() == nil {
					mu.Lock()
					env.Nodes[0].PExpire(watching, env.Key, env.TTL)
					mu.Unlock()
					time.Sleep(env.TTL / 3)
				}
			}()
			return true, nil
		},
		unlock: func(ctx context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			defer stop()
			return gold.Unlock(ctx)
		},
	}, err
}
