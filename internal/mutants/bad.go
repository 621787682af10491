package mutants

import (
	"context"
	"sync"
	"time"

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
