package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// workerName is what this program is started as when it is a worker.
const workerName = "soak worker"

// node is where a worker finds a server.
type node struct{ Addr, User, Password string }

// orders are what a worker is told first.
type orders struct {
	terms
	Dir     string // of the run
	Worker  int
	Life    int    // how often it was restarted
	Nodes   []node // all servers, through their proxies
	Storage string
}

func (o orders) driver() driver { return o.Drivers[o.Worker] }

// goroutines are those of a worker that use the lock.
const goroutines = 8

// probing is how long a worker asks for a key after the nemesis has ended: for longer
// than the judge allows, so that a key that is had late is told from one that never is.
func probing(ttl, poll time.Duration) time.Duration {
	return max(4*ttl, 2*ttl+2*poll+time.Second)
}

// Words between the soak and a worker.
const (
	sayReady = "ready" // says the worker
	sayCalm  = "calm"  // the nemesis has ended: probe each key, then rest
	sayIdle  = "idle"  // says the worker
	sayEnd   = "end"   // close all clients and exit
)

// driver is a way to configure go-redis.
type driver string

// The drivers that a soak uses.
const (
	strict   driver = "strict"   // a context's deadline ends a command in flight, see docs/go-redis.md
	defaults driver = "defaults" // go-redis's defaults: only its timeouts do
)

// Lateness is how much later than its deadline a call may return: it may wait for the end of a
// renewal, and takes a lease at most to give back a late grant. With go-redis's defaults a
// command in flight waits until the driver gives up: five seconds for a connection, or a reply.
func (d driver) Lateness(ttl time.Duration) time.Duration {
	if d == defaults {
		return 5*time.Second + ttl
	}
	return 3 * ttl / 2
}

func (d driver) client(n node) redis.UniversalClient {
	o := &redis.Options{Addr: n.Addr, Username: n.User, Password: n.Password}
	if d == strict {
		o.ContextTimeoutEnabled = true
		o.MaintNotificationsConfig = &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled}
	}
	return redis.NewClient(o)
}

// worker is one of the processes that use the lock: goroutines that acquire it, read and write
// the storage, and release it. It writes down all that it does, and judges nothing.
type worker struct {
	orders  orders
	rung    subject
	log     *eventLog
	calls   atomic.Int64
	faults  context.Context // ends with the nemesis
	stuck   atomic.Int64    // calls whose stacks were wanted
	clients []redis.UniversalClient
}

// workerMain is the life of a worker. It ends with its parent.
func workerMain(soak *json.Decoder, say *json.Encoder) error {
	logging.Disable() // broken connections are what a soak is about
	w := &worker{}
	if err := soak.Decode(&w.orders); err != nil {
		return err
	}
	o := &w.orders
	var err error
	if w.rung, err = findSubject(o.Rung); err != nil {
		return err
	}
	w.log, err = createLog(filepath.Join(o.Dir, fmt.Sprintf("worker-%d-%d.jsonl", o.Worker, o.Life)))
	if err != nil {
		return err
	}
	said := make(chan string)
	go func() { // ends with the soak; the process doesn't wait for it
		for {
			var word string
			if soak.Decode(&word) != nil {
				// The soak has ended without a word. Nothing is left to do in order.
				os.Exit(1)
			}
			said <- word
		}
	}()
	return w.live(say, said)
}

// live runs from the first section to the last.
func (w *worker) live(say *json.Encoder, said <-chan string) error {
	w.write(Event{Kind: Start, Text: fmt.Sprintf("pid %d, driver %s", os.Getpid(), w.orders.driver())})
	faults, calm := context.WithCancel(context.Background())
	defer calm()
	w.faults = faults
	watching, stopWatching := context.WithCancel(context.Background())
	var watches, users sync.WaitGroup
	defer watches.Wait()
	defer stopWatching()
	watches.Go(func() { feelPauses(watching, w.write) })
	for _, node := range w.orders.Nodes {
		w.clients = append(w.clients, w.orders.driver().client(node))
	}
	// Before the first use of a client: whatever is more at the end was left behind by the lock.
	base := runtime.NumGoroutine()
	errs := make(chan error, goroutines+len(w.orders.Keys)+1)
	for g := range goroutines {
		users.Go(func() { errs <- w.use(g + 1) })
	}
	if err := say.Encode(sayReady); err != nil {
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
			case sayCalm:
				calm()
				for i, key := range w.orders.Keys {
					users.Go(func() { errs <- w.probe(i, key) })
				}
				go func() { // ends with them
					users.Wait()
					w.rest(base + 1)
					errs <- say.Encode(sayIdle)
				}()
			case sayEnd:
				for _, rdb := range w.clients {
					rdb.Close()
				}
				return nil
			}
		}
	}
}

// rest waits until no more goroutines are left than there were, for up to ten seconds, because
// a subscription lingers for six of them at most, and writes down what it finds. One more is
// its own. The collector then closes connections that go-redis 9.22 has forgotten, because
// their handshake has failed (go-redis issue 3982).
func (w *worker) rest(base int) {
	end := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > base && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond)
	}
	e := Event{Kind: Rest, Base: base, Count: runtime.NumGoroutine()}
	if e.Count > e.Base {
		e.Text = w.stacks("left")
	}
	w.write(e)
	runtime.GC()
}

// write appends an event of this worker. Without its events a run can't be judged,
// so a failure ends the process.
func (w *worker) write(e Event) {
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
	name := fmt.Sprintf("stacks-%s-%d-%d-%d.txt", why, w.orders.Worker, w.orders.Life, w.calls.Load())
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

// inWord says an error as a caller tells it apart, or else in its own first line.
func inWord(err error) string {
	switch name := protocol.ErrorName(err); name {
	case "ok":
		return ""
	case "error":
		text, _, _ := strings.Cut(err.Error(), "\n")
		return text
	default:
		return name
	}
}

const (
	beat = 3 * time.Millisecond  // between two looks at the clock
	gap  = 10 * time.Millisecond // that is a pause
)

// feelPauses reports how long this process got no CPU, whenever it was for longer
// than ten milliseconds, until ctx ends.
func feelPauses(ctx context.Context, report func(Event)) {
	for last := clock(); lock.Sleep(ctx, beat) == nil; {
		now := clock()
		if missed := time.Duration(now-last) - beat; missed > gap {
			report(Event{At: now, Kind: Pause, For: missed})
		}
		last = now
	}
}

// nearly is a third of the time before a call is too late in which its stacks are written.
const nearly = 50 * time.Millisecond

// most is how many files of stacks a process writes.
const most = 20

// call writes down that an operation begins, and the stacks of all goroutines when it is
// about to return too late. The function that it returns writes down how it has ended.
func (w *worker) call(g int, key, op string, deadline time.Time) func(bool, error) {
	n, now, left := w.calls.Add(1), clock(), time.Until(deadline)
	w.write(Event{At: now, Kind: Call, Goroutine: g, N: n, Op: op, Key: key,
		Deadline: now + int64(left)})
	var ended atomic.Bool
	overdue := time.AfterFunc(left+w.orders.driver().Lateness(w.orders.TTL)-3*nearly, func() {
		// A process that was stopped finds many calls overdue when it goes on, and most
		// return at once.
		time.Sleep(nearly)
		if !ended.Load() && w.stuck.Add(1) <= most {
			w.write(Event{Kind: Stuck, N: n, Text: w.stacks("stuck")})
		}
	})
	return func(granted bool, err error) {
		now := clock()
		ended.Store(true)
		overdue.Stop()
		w.write(Event{At: now, Kind: Return, Goroutine: g, N: n,
			Op: op, Key: key, Granted: granted, Error: inWord(err)})
	}
}
