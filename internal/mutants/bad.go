package mutants

import (
	"context"
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
