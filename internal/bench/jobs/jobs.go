// Package jobs has what the jobs share that are measured behind one lock after the
// other: a crowd of clients that begin at one instant, a tally of what becomes of them,
// and the figures that a row is made of.
package jobs

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/lock"
)

// NoLock is the baseline whose clients don't exclude each other.
const NoLock = "no-lock"

// Tally is what became of the clients behind one lock.
type Tally struct {
	Subject bench.Subject
	Nodes   int // servers that the lock was on

	Counts map[string]int         // of what succeeded, by what it was
	Clocks map[string]bench.Clock // how long that took
	Done   int                    // how much succeeded in all
	Cut    int                    // what the timeout or an interrupt cut off
	Failed int
	First  error // of those that failed

	Took                 time.Duration // the newest run, until the last client's end
	Commands, RoundTrips int64         // sent in all runs
	Interrupted          bool

	mu sync.Mutex // guards the counts while clients run
}

// Add counts what a client has done, under each of the names, and for the first of them
// how long that took.
func (t *Tally) Add(ctx context.Context, err error, took time.Duration, what ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.Done++
		for _, name := range what {
			t.Counts[name]++
		}
		t.Clocks[what[0]].Record(took)
	case ctx.Err() != nil:
		t.Cut++
	default:
		t.Failed++
		t.First = cmp.Or(t.First, err)
	}
}

// Crowd is clients that begin at one instant.
type Crowd struct {
	Servers *nodes.Servers
	TTL     time.Duration // the lease of the locks
	Timeout time.Duration // bounds one run

	done, of atomic.Int64
}

// Check returns what is wrong with the settings, if anything.
func (c *Crowd) Check() error {
	switch {
	case c.TTL < time.Millisecond:
		return fmt.Errorf("the ttl is %v, Redis needs at least 1ms", c.TTL)
	case c.TTL%time.Millisecond != 0:
		return fmt.Errorf("the ttl is %v, Redis counts whole milliseconds", c.TTL)
	case c.Timeout <= 0:
		return fmt.Errorf("the timeout is %v, it must be positive", c.Timeout)
	}
	return nil
}

// Plan is that of a job with one table. The clients have so many connections of the
// servers.
func (c *Crowd) Plan(clients int, header, head, legend string) bench.Plan {
	return bench.Plan{Config: nodes.Config{Clients: clients}, TTL: c.TTL,
		Timeout: c.Timeout, Header: header, Tables: []bench.Table{{Head: head}},
		Legend: legend, Progress: func() string {
			return fmt.Sprintf(": %d of %d", c.done.Load(), c.of.Load())
		}}
}

// Tally is an empty one, for what takes a time under these names.
func (c *Crowd) Tally(subject bench.Subject, timed ...string) *Tally {
	t := &Tally{Subject: subject, Counts: map[string]int{},
		Clocks: map[string]bench.Clock{},
		Nodes:  min(max(subject.Nodes, 1), c.Servers.Nodes())}
	for _, name := range timed {
		t.Clocks[name] = bench.NewClock()
	}
	return t
}

// Env is what the lock of a key is built from, with the longest pause of a refused
// client.
func (c *Crowd) Env(nodes []redis.UniversalClient, key string, poll time.Duration) lock.Env {
	// A client that queues for a connection behind thousands is late, not lost.
	late := lock.NodeTimeout(max(c.TTL/2, time.Millisecond))
	return lock.Env{Nodes: nodes, Key: key, TTL: c.TTL,
		Options: []lock.Option{lock.PollEvery(poll), late}}
}

// Client does what the i-th client of a crowd does. It calls ready when it has prepared
// that, which returns at the instant when all begin.
type Client func(ctx context.Context, i int, ready func() (open time.Time))

// Ahead are clients that begin a moment before the others.
type Ahead struct {
	Clients int
	By      time.Duration
}

// Run lets n clients begin at one instant, and returns when all have ended. The timeout
// ends them, and so does ctx.
func (c *Crowd) Run(ctx context.Context, t *Tally, n int, first Ahead, client Client) {
	running, end := context.WithCancel(ctx)
	defer end()
	c.done.Store(0)
	c.of.Store(int64(n))
	runtime.GC() // so that no row pays for the one before it
	var open time.Time
	var prepared, through sync.WaitGroup
	prepared.Add(n)
	gates := make([]chan struct{}, n)
	for i := range gates {
		gates[i] = make(chan struct{})
		through.Go(func() {
			ready := sync.OnceValue(func() time.Time {
				prepared.Done()
				<-gates[i]
				return open
			})
			client(running, i, ready)
			ready() // of a client that had nothing to prepare
			c.done.Add(1)
		})
	}
	prepared.Wait()
	commands, trips := c.Servers.Traffic()
	open = time.Now()
	timeout := time.AfterFunc(c.Timeout, end)
	defer timeout.Stop()
	for i, gate := range gates {
		if i == first.Clients {
			time.Sleep(first.By)
		}
		close(gate)
	}
	through.Wait()
	t.Took = time.Since(open)
	sent, n2 := c.Servers.Traffic()
	t.Commands += sent - commands
	t.RoundTrips += n2 - trips
	t.Interrupted = ctx.Err() != nil
}
