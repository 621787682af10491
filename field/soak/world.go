package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/field/proxy"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
)

// world is all that a run starts. It is the nemesis's world too.
type world struct {
	config  config
	dir     string
	log     *eventLog // of the nemesis
	storage *storage
	history *eventLog // of the storage
	redis   []*servers.Redis
	admins  []*redis.Client
	proxies [][]*proxy.Proxy // by worker and server

	mu        sync.Mutex // guards what follows
	unwritten error      // the first event that is missing in log
	processes []*started // by worker
	lives     []int
	pids      []int // of all that there have been
}

// newWorld starts everything. A failure leaves nothing behind.
func newWorld(ctx context.Context, c config, dir string) (*world, error) {
	w := &world{config: c, dir: dir,
		processes: make([]*started, len(c.Drivers)), lives: make([]int, len(c.Drivers))}
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) open(ctx context.Context) error {
	var err error
	if w.log, err = createLog(filepath.Join(w.dir, "nemesis.jsonl")); err != nil {
		return err
	}
	w.history, err = createLog(filepath.Join(w.dir, "storage.jsonl"))
	if err != nil {
		return err
	}
	if w.storage, err = serveStorage(w.history); err != nil {
		return err
	}
	// A server keeps every acknowledged write over a restart, unless the
	// restart is to lose its data.
	w.redis, err = servers.StartAll(ctx, w.config.subject.Nodes,
		"--appendonly", "yes", "--appendfsync", "always",
		"--enable-debug-command", "yes", "--loglevel", "warning")
	if err != nil {
		return err
	}
	for _, r := range w.redis {
		w.admins = append(w.admins, r.Client())
	}
	for range len(w.config.Drivers) {
		var row []*proxy.Proxy
		for _, r := range w.redis {
			p, err := proxy.Listen(r.Addr())
			if err != nil {
				return err
			}
			row = append(row, p)
		}
		w.proxies = append(w.proxies, row)
	}
	for n := range len(w.config.Drivers) {
		if err := w.start(n); err != nil {
			return err
		}
	}
	return nil
}

// start starts a worker, or the next one in its place.
func (w *world) start(n int) error {
	c := w.config
	o := orders{terms: c.terms, Dir: w.dir, Worker: n, Life: w.lives[n],
		Storage: w.storage.Addr()}
	for i, r := range w.redis {
		user, password := r.Auth()
		o.Nodes = append(o.Nodes, node{Addr: w.proxies[n][i].Addr(), User: user, Password: password})
	}
	p, err := start(workerName)
	if err == nil {
		if err = p.Tell(o); err == nil {
			err = hear(p, sayReady, patience)
		}
		if err != nil {
			p.Kill()
		}
	}
	if err != nil {
		return fmt.Errorf("worker %d: %w", n, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes[n] = p
	w.pids = append(w.pids, p.OS.Pid)
	return nil
}

func (w *world) write(e Event) {
	if err := w.log.Write(e); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		// Without its events a run can't be judged.
		w.unwritten = cmp.Or(w.unwritten, err)
	}
}

func (w *world) process(n int) *started {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.processes == nil {
		return nil // all have ended
	}
	return w.processes[n]
}

func (w *world) Workers() int { return len(w.config.Drivers) }

func (w *world) Stop(n int) error {
	if err := w.ended(n); err != nil {
		return err
	}
	return process.Pause(w.process(n).OS.Pid)
}

func (w *world) Continue(n int) error {
	return process.Resume(w.process(n).OS.Pid)
}

func (w *world) Replace(n int) error {
	if err := w.ended(n); err != nil {
		return err
	}
	p := w.process(n)
	w.write(Event{Kind: Kill, Worker: n, Life: w.lives[n]})
	w.mu.Lock()
	w.processes[n] = nil // its end is no news
	w.mu.Unlock()
	p.Kill()
	w.lives[n]++
	return w.start(n)
}

func (w *world) Servers() int { return len(w.redis) }

func (w *world) Admin(server int) *redis.Client { return w.admins[server] }

func (w *world) Restart(ctx context.Context, server int, keepData bool) error {
	r := w.redis[server]
	dir, err := w.admins[server].ConfigGet(ctx, "dir").Result()
	if err != nil {
		return fmt.Errorf("find a server's directory: %w", err)
	}
	r.Kill()
	if !keepData {
		err := os.RemoveAll(filepath.Join(dir["dir"], "appendonlydir"))
		if err != nil {
			return fmt.Errorf("remove a server's data: %w", err)
		}
	}
	if err := r.Restart(); err != nil {
		return fmt.Errorf("restart a server: %w", err)
	}
	return nil
}

func (w *world) Proxy(n, server int) *proxy.Proxy { return w.proxies[n][server] }

// ended says why a worker has ended that nobody has ended.
func (w *world) ended(n int) error {
	w.mu.Lock() // Replace takes a process away before it kills it
	defer w.mu.Unlock()
	if w.processes == nil || w.processes[n] == nil {
		return nil
	}
	p := w.processes[n]
	select {
	case <-p.done:
		return fmt.Errorf("worker %d has ended: %w", n, p.Err())
	default:
		return nil
	}
}

// dead is the first worker that has ended although nobody has ended it.
func (w *world) dead() error {
	for n := range len(w.config.Drivers) {
		if err := w.ended(n); err != nil {
			return err
		}
	}
	return nil
}

// watch calls stop when a worker has ended although nobody has ended it, until ctx ends.
func (w *world) watch(ctx context.Context, stop func()) {
	for lock.Sleep(ctx, time.Second) == nil {
		if w.dead() != nil {
			stop()
			return
		}
	}
}

// reset ends what faults have left in the network.
func (w *world) reset() {
	for _, row := range w.proxies {
		for _, p := range row {
			p.Set(proxy.Weather{})
			p.Reset()
		}
	}
}

// tell sends all workers a word at the same time.
func (w *world) tell(word string) error {
	return w.each(func(p *started) error { return p.Tell(word) })
}

// idle waits until all workers are.
func (w *world) idle() error {
	within := patience + probing(w.config.TTL, w.config.Poll)
	return w.each(func(p *started) error { return hear(p, sayIdle, within) })
}

func (w *world) each(do func(*started) error) error {
	for n := range w.processes {
		if err := do(w.process(n)); err != nil {
			return fmt.Errorf("worker %d: %w", n, err)
		}
	}
	return nil
}

// patience is how long a worker may take to answer.
const patience = time.Minute

// hear waits until the worker says a word.
func hear(w *started, word string, within time.Duration) error {
	said, err := w.Hear(within)
	if err == nil && said != word {
		err = fmt.Errorf("it says %q instead of %q", said, word)
	}
	return err
}

// end lets all workers end, and waits for it for ten seconds.
func (w *world) end() {
	for n := range w.processes {
		p := w.process(n)
		if p == nil {
			continue
		}
		_ = p.Tell(sayEnd) // else it has ended
		if p.Close() != nil {
			w.write(Event{Kind: Left, Worker: n,
				Life: w.lives[n], Text: "the process, which doesn't end"})
		}
	}
	w.mu.Lock()
	w.processes = nil
	w.mu.Unlock()
}

// close ends everything that was started.
func (w *world) close() error {
	var errs []error
	w.mu.Lock()
	processes := w.processes
	errs = append(errs, w.unwritten)
	w.mu.Unlock()
	for _, p := range processes {
		if p != nil {
			p.Kill()
		}
	}
	for _, row := range w.proxies {
		for _, p := range row {
			p.Close()
		}
	}
	for _, rdb := range w.admins {
		rdb.Close()
	}
	servers.StopAll(w.redis)
	if w.storage != nil {
		errs = append(errs, w.storage.Close())
	}
	for _, log := range []*eventLog{w.log, w.history} {
		if log != nil {
			errs = append(errs, log.Close())
		}
	}
	return errors.Join(errs...)
}
