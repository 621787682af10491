package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
)

// config is a soak of one lock.
type config struct {
	terms
	subject  subject
	For      time.Duration // the nemesis
	Again    string        // the command that repeats it
	Faults   []fault
	Progress io.Writer // where a line about it goes
}

func (c config) setup() setup {
	s := setup{terms: c.terms, Again: c.Again, Fenced: c.subject.fenced(),
		Page: c.subject.Page, Started: clock(), WallTime: time.Now()}
	for _, flaw := range c.subject.Flaws {
		s.Flaws = append(s.Flaws, flaw.Scenario+": "+flaw.Invariant)
	}
	return s
}

// run starts servers, proxies, a storage and workers, lets the nemesis disturb them, calms
// everything down, and looks for what is left behind. When ctx ends, the nemesis ends early,
// and what has happened until then can be judged. Nothing outlives it but the files in the
// directory, which the judge reads. An error is one of the soak itself.
func run(ctx context.Context, c config, dir string) error {
	if err := saveSetup(dir, c.setup()); err != nil {
		return err
	}
	w, err := newWorld(ctx, c, dir)
	if err != nil {
		return err
	}
	return errors.Join(w.soak(ctx), w.close())
}

func (w *world) soak(ctx context.Context) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watches sync.WaitGroup
	defer watches.Wait()
	defer stop()
	// A pause of this process is one of all proxies, and of the storage.
	watches.Go(func() {
		feelPauses(watching, func(e Event) {
			e.Worker = everyone
			w.write(e)
		})
	})
	endPings := w.pingServers(watching)
	defer endPings()
	disturbed, cancel := context.WithTimeout(ctx, w.config.For)
	defer cancel()
	n := &nemesis{World: w, Seed: w.config.Seed, TTL: w.config.TTL,
		Faults: w.config.Faults, Write: w.write}
	begun := time.Now()
	defer terminal.Progress(w.config.Progress, func() string {
		switch {
		case ctx.Err() != nil:
			return w.config.Rung + ": interrupted, calls end and keys expire"
		case disturbed.Err() != nil:
			return w.config.Rung + ": the faults are over, calls end and keys expire"
		}
		return fmt.Sprintf("%s: %v of %v, writes: %d, faults: %d", w.config.Rung,
			time.Since(begun).Round(time.Second), w.config.For, w.storage.Writes(), n.Count())
	})()
	watches.Go(func() { w.watch(disturbed, cancel) })
	if err := n.Run(disturbed); err != nil {
		return err
	}
	if err := w.dead(); err != nil {
		return err
	}
	return w.calmDown(context.WithoutCancel(ctx), endPings)
}

// calmDown ends the run when the nemesis has ended, and looks around.
func (w *world) calmDown(ctx context.Context, endPings func()) error {
	w.reset()
	w.write(Event{Kind: Calm, Worker: everyone})
	if err := w.tell(sayCalm); err != nil {
		return err
	}
	if err := w.idle(); err != nil {
		return err
	}
	endPings() // their connections are not the workers'
	if err := w.lookForSubscriptions(ctx); err != nil {
		return err
	}
	w.end()
	return w.lookForTheRest(ctx)
}

const (
	pings      = 20 * time.Millisecond // between two PINGs
	lateAnswer = 50 * time.Millisecond // is a late answer
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

func ping(ctx context.Context, rdb *redis.Client, report func(Event)) {
	for lock.Sleep(ctx, pings) == nil {
		asked := clock()
		err := rdb.Ping(ctx).Err()
		now := clock()
		if took := time.Duration(now - asked); err == nil && took > lateAnswer {
			report(Event{At: now, Kind: Late, Worker: everyone, For: took})
		}
	}
}

// left writes down that something was left behind.
func (w *world) left(format string, args ...any) {
	w.write(Event{Kind: Left, Worker: everyone, Text: fmt.Sprintf(format, args...)})
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
	many, _ := eventually(func() (many []string, _ error) {
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
	return nil
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
	// A key that nobody holds is gone after a lease, and what is beside it after another one.
	time.Sleep(3 * w.config.TTL)
	declared := map[string]bool{}
	for _, key := range w.config.Keys {
		declared[lock.SecondKey(key, "token")] = true
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

// clientsOf are the connections of a server, as CLIENT LIST has them, without the one that asks.
func clientsOf(ctx context.Context, admin *redis.Client) ([]string, error) {
	c := admin.Conn()
	defer c.Close()
	own := c.ClientID(ctx)
	text, err := c.ClientList(ctx).Result()
	if err := cmp.Or(own.Err(), err); err != nil {
		return nil, fmt.Errorf("look for connections: %w", err)
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, fmt.Sprintf("id=%d ", own.Val())) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}
