package run

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
	"github.com/lockladder/lockladder/scenarios/soak/internal/worker"
)

const (
	pings = 20 * time.Millisecond // between two PINGs
	late  = 50 * time.Millisecond // is a late answer
)

// pingServers reports how long a server took to answer, whenever it was late, until
// ctx ends or the function is called that it returns. It asks past the proxies, so that
// after the nemesis nothing but the server is the reason: one that writes every command
// to its disk waits for the disk, which may be busy with something else.
func (w *world) pingServers(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	for _, r := range w.redis {
		pinging.Go(func() {
			rdb := r.Client()
			defer rdb.Close()
			ping(ctx, rdb, w.write)
		})
	}
	return func() {
		cancel()
		pinging.Wait()
	}
}

func ping(ctx context.Context, rdb *redis.Client, report func(event.Event)) {
	worker.Every(ctx, pings, func() {
		asked := event.Now()
		err := rdb.Ping(ctx).Err()
		now := event.Now()
		if took := time.Duration(now - asked); err == nil && took > late {
			report(event.Event{At: now, Kind: event.Late,
				Worker: event.Everyone, For: took})
		}
	})
}
