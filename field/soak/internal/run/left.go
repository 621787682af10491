package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
)

// left writes down that something was left behind.
func (w *world) left(format string, args ...any) {
	w.write(event.Event{Kind: event.Left, Worker: event.Everyone,
		Text: fmt.Sprintf(format, args...)})
}

// eventually asks until there is nothing, for up to five seconds, and returns what
// there still is.
func eventually(look func() ([]string, error)) ([]string, error) {
	for end := time.Now().Add(5 * time.Second); ; {
		found, err := look()
		if err != nil || len(found) == 0 || time.Now().After(end) {
			return found, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// lookForSubscriptions looks for those of idle workers, and for more connections
// than their pools may have.
func (w *world) lookForSubscriptions(ctx context.Context) error {
	for _, admin := range w.admins {
		found, err := eventually(func() ([]string, error) {
			clients, err := clientsOf(ctx, admin)
			return slices.DeleteFunc(clients, func(line string) bool {
				return strings.Contains(line, " sub=0 psub=0 ")
			}), err
		})
		if err != nil {
			return err
		}
		for _, line := range found {
			w.left("a subscription of an idle worker: %s", line)
		}
	}
	// go-redis's default: ten connections for each processor.
	pool := redis.NewClient(&redis.Options{})
	defer pool.Close()
	// A subscription that has just ended may not have closed its connection yet.
	many, err := eventually(func() (many []string, _ error) {
		for n, row := range w.proxies {
			for _, p := range row {
				if open := p.Open(); open > pool.Options().PoolSize {
					many = append(many, fmt.Sprintf("%d connections of worker %d,"+
						" its pool has %d", open, n, pool.Options().PoolSize))
				}
			}
		}
		return many, nil
	})
	for _, line := range many {
		w.left("%s", line)
	}
	return err
}

// lookForTheRest looks for what workers leave behind that have ended: processes,
// connections, keys.
func (w *world) lookForTheRest(ctx context.Context) error {
	running, _ := eventually(func() (pids []string, _ error) {
		for _, pid := range w.pids {
			if process.Running(pid) {
				pids = append(pids, fmt.Sprint(pid))
			}
		}
		return pids, nil
	})
	for _, pid := range running {
		w.left("process %s", pid)
	}
	// A key that nobody holds is gone after a lease, and what is beside it after
	// another one.
	time.Sleep(3 * w.config.TTL)
	declared := map[string]bool{}
	for _, key := range w.config.keys() {
		declared[lock.Beside(key, "token")] = true
	}
	for _, admin := range w.admins {
		lines, err := eventually(func() ([]string, error) {
			return clientsOf(ctx, admin)
		})
		if err != nil {
			return err
		}
		for _, line := range lines {
			w.left("a connection: %s", line)
		}
		keys := admin.Scan(ctx, 0, "*", 100).Iterator()
		for keys.Next(ctx) {
			ttl, err := admin.TTL(ctx, keys.Val()).Result()
			if err != nil {
				return fmt.Errorf("look for keys: %w", err)
			}
			if ttl == -1 && !declared[keys.Val()] {
				w.left("the key %q, without a TTL", keys.Val())
			}
		}
		if err := keys.Err(); err != nil {
			return fmt.Errorf("look for keys: %w", err)
		}
	}
	return nil
}

// clientsOf are the connections of a server, as CLIENT LIST has them, without the
// one that asks.
func clientsOf(ctx context.Context, admin *redis.Client) ([]string, error) {
	c := admin.Conn()
	defer c.Close()
	own, err := c.ClientID(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("look for connections: %w", err)
	}
	text, err := c.ClientList(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("look for connections: %w", err)
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, fmt.Sprintf("id=%d ", own)) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}
