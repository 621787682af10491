// Package worker is one of the processes that use the lock in a soak: goroutines
// that acquire it, read and write the storage, and release it. It writes down all
// that it does, and judges nothing.
package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
	"github.com/lockladder/lockladder/scenarios/soak/internal/rungs"
)

// Name is what this program is started as when it is a worker.
const Name = "soak worker"

// Node is where a worker finds a server.
type Node struct{ Addr, User, Password string }

// Orders are what a worker is told first.
type Orders struct {
	Dir        string // of the run
	Worker     int
	Life       int // how often it was restarted
	Rung       string
	Seed       uint64
	Goroutines int
	Keys       []string
	TTL, Poll  time.Duration
	Driver     Driver
	Nodes      []Node // all servers, through their proxies
	Storage    string
}

// Probing is how long a worker asks for a key after the nemesis has ended: for longer
// than the judge allows, so that a key that is had late is told from one that never is.
func Probing(ttl, poll time.Duration) time.Duration {
	return max(4*ttl, 2*ttl+2*poll+time.Second)
}

// Words between the soak and a worker.
const (
	Ready = "ready" // says the worker
	Calm  = "calm"  // the nemesis has ended: probe each key, then rest
	Idle  = "idle"  // says the worker
	End   = "end"   // close all clients and exit
)

// Driver is a way to configure go-redis.
type Driver string

// The drivers that a soak uses.
const (
	Strict   Driver = "strict"   // a context's deadline ends a command in flight
	Defaults Driver = "defaults" // go-redis's defaults: only its timeouts do
)

// Lateness is how much later than its deadline a call may return. With go-redis's
// defaults a command in flight waits until the driver gives up: five seconds for a
// connection, or for a reply.
func (d Driver) Lateness() time.Duration {
	if d == Defaults {
		return 6 * time.Second
	}
	return time.Second
}

func (d Driver) client(n Node) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: n.Addr, Username: n.User,
		Password: n.Password, ContextTimeoutEnabled: d == Strict})
}

// worker is this process.
type worker struct {
	orders  Orders
	rung    rungs.Rung
	log     *event.Log
	calls   atomic.Int64
	calm    chan struct{} // closed when the nemesis has ended
	pending pending
	clients []redis.UniversalClient
}

// Main is the life of a worker. It ends with its parent.
func Main(soak *process.Parent) error {
	redis.SetLogger(quiet{}) // broken connections are what a soak is about
	w := &worker{calm: make(chan struct{})}
	if err := soak.Hear(&w.orders); err != nil {
		return err
	}
	o := &w.orders
	var err error
	if w.rung, err = rungs.Find(o.Rung); err != nil {
		return err
	}
	w.log, err = event.Create(filepath.Join(o.Dir,
		fmt.Sprintf("worker-%d-%d.jsonl", o.Worker, o.Life)))
	if err != nil {
		return err
	}
	said := make(chan string)
	go func() { // ends with the soak; the process doesn't wait for it
		for {
			var word string
			if soak.Hear(&word) != nil {
				// The soak has ended without a word. Nothing is left to do in
				// order.
				os.Exit(1)
			}
			said <- word
		}
	}()
	return w.live(soak, said)
}

// live runs from the first section to the last.
func (w *worker) live(soak *process.Parent, said <-chan string) error {
	w.write(event.Event{Kind: event.Start, Text: fmt.Sprintf("pid %d, driver %s",
		os.Getpid(), w.orders.Driver)})
	watching, stopWatching := context.WithCancel(context.Background())
	var watches, users sync.WaitGroup
	defer watches.Wait()
	defer stopWatching()
	watches.Go(func() { FeelPauses(watching, w.write) })
	watches.Go(func() { w.watchCalls(watching) })
	for _, node := range w.orders.Nodes {
		w.clients = append(w.clients, w.orders.Driver.client(node))
	}
	// Before the first use of a client: whatever is more at the end was left
	// behind by the lock.
	base := runtime.NumGoroutine()
	errs := make(chan error, w.orders.Goroutines+len(w.orders.Keys)+1)
	for g := range w.orders.Goroutines {
		users.Go(func() { errs <- w.use(g + 1) })
	}
	if err := soak.Say(Ready); err != nil {
		return err
	}
	for {
		select {
		case err := <-errs:
			if err != nil {
				return err
			}
		case word := <-said:
			switch word {
			case Calm:
				close(w.calm)
				for i, key := range w.orders.Keys {
					users.Go(func() { errs <- w.probe(i, key) })
				}
				go func() { // ends with them
					users.Wait()
					w.rest(base + 1)
					errs <- soak.Say(Idle)
				}()
			case End:
				for _, rdb := range w.clients {
					rdb.Close()
				}
				return nil
			}
		}
	}
}

// rest waits until no more goroutines are left than there were, for up to five
// seconds, and writes down what it finds. One more is its own. The collector then
// closes connections that go-redis 9.22 has forgotten, because their handshake has
// failed (go-redis issue 3982).
func (w *worker) rest(base int) {
	end := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > base && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond)
	}
	e := event.Event{Kind: event.Rest, Base: base, Count: runtime.NumGoroutine()}
	if e.Count > e.Base {
		e.Text = w.stacks("left")
	}
	w.write(e)
	runtime.GC()
}

// write appends an event of this worker. Without its events a run can't be judged,
// so a failure ends the process.
func (w *worker) write(e event.Event) {
	e.Worker, e.Life = w.orders.Worker, w.orders.Life
	if err := w.log.Write(e); err != nil {
		fmt.Fprintln(os.Stderr, "soak: worker:", err)
		os.Exit(1)
	}
}

// stacks writes the stacks of all goroutines into a file and returns its name.
func (w *worker) stacks(why string) string {
	buffer := make([]byte, 1<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	name := fmt.Sprintf("stacks-%s-%d-%d-%d.txt", why, w.orders.Worker,
		w.orders.Life, w.calls.Load())
	err := os.WriteFile(filepath.Join(w.orders.Dir, name), buffer, 0o644)
	if err != nil {
		return err.Error()
	}
	return name
}

// build makes an owner of the lock at key.
func (w *worker) build(key string) (lock.Lock, error) {
	l, err := w.rung.Build(lock.Env{Nodes: w.clients, Key: key,
		TTL: w.orders.TTL, Now: time.Now,
		Options: []lock.Option{lock.PollEvery(w.orders.Poll)}})
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", w.orders.Rung, err)
	}
	return l, nil
}

// inWord says an error in a word, where there is one.
func inWord(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, lock.ErrNotHeld):
		return "not held"
	case errors.Is(err, lock.ErrLost):
		return "lost"
	case errors.Is(err, lock.ErrBusy):
		return "busy"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}
