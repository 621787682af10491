// Package jobs has jobs that locks are used for, as workloads of the benchmark: a cache that
// has expired, and a price list that many clients read and few change.
//
// They share a crowd of clients that begin at one instant, a tally of what becomes of them,
// and the figures that a row is made of.
package jobs

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

//go:embed *.lua
var sources embed.FS

func script(file string) *redis.Script {
	source, err := sources.ReadFile(file)
	if err != nil {
		panic(err) // it was there when this program was compiled
	}
	return redis.NewScript(string(source))
}

// noLock is the baseline whose clients don't exclude each other.
const noLock = "no-lock"

// tally is what became of the clients behind one lock.
type tally struct {
	subject bench.Subject
	nodes   int // servers that the lock was on

	counts map[string]int         // of what succeeded, by what it was
	clocks map[string]bench.Clock // how long that took
	done   int                    // how much succeeded in all
	cut    int                    // what the timeout or an interrupt cut off
	failed int
	first  error // of those that failed

	took                 time.Duration // the newest run, until the last client's end
	commands, roundTrips int64         // sent in all runs

	mu sync.Mutex // guards the counts while clients run
}

// newTally is an empty one, for what takes a time under these names.
func newTally(subject bench.Subject, servers int, timed ...string) *tally {
	t := &tally{subject: subject, counts: map[string]int{},
		clocks: map[string]bench.Clock{}, nodes: min(max(subject.Nodes, 1), servers)}
	for _, name := range timed {
		t.clocks[name] = bench.NewClock()
	}
	return t
}

// add counts what a client has done, under each of the names, and for the first of them
// how long that took.
func (t *tally) add(ctx context.Context, err error, took time.Duration, what ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.done++
		for _, name := range what {
			t.counts[name]++
		}
		t.clocks[what[0]].Record(took)
	case ctx.Err() != nil:
		t.cut++
	default:
		t.failed++
		t.first = cmp.Or(t.first, err)
	}
}

// row has these figures, and those of every job. So many turns were to be completed.
func (t *tally) row(turn string, of int, own []bench.Figure) bench.Row {
	var first any
	if t.first != nil {
		first = t.first.Error()
	}
	return bench.NewRow(slices.Concat([]bench.Figure{
		{Name: "rung", Value: t.subject.Name},
		{Name: "kind", Value: string(t.subject.Kind)},
		{Name: "nodes", Value: t.nodes},
	}, own, []bench.Figure{
		{Name: "finished", Value: t.cut == 0},
		{Name: "failures", Value: t.failed},
		{Name: "first_failure", Value: first},
	})...).Noted(turn, t.took.Seconds(), t.done, of)
}

// crowd is clients that begin at one instant.
type crowd struct {
	servers *bench.Servers
	ttl     time.Duration // the lease of the locks
	timeout time.Duration // bounds one run

	ended, of atomic.Int64
}

// plan is that of a job with one table, whose rows are like this one. The clients have so
// many connections of the servers.
func (c *crowd) plan(run bench.Run, clients int, header string, empty bench.Row) bench.Plan {
	return bench.Plan{Config: bench.Config{Clients: clients}, TTL: c.ttl,
		Timeout: c.timeout, Header: header, Layout: bench.Layout{Width: run.Width},
		Empty: empty, Tables: []string{""}, Progress: func() string {
			return fmt.Sprintf(": %d of %d", c.ended.Load(), c.of.Load())
		}}
}

// env is what the lock of a key is built from, with the longest pause of a refused
// client.
func (c *crowd) env(nodes []redis.UniversalClient, key string, poll time.Duration) lock.Env {
	// A client that queues for a connection behind thousands is late, not lost.
	late := lock.NodeTimeout(max(c.ttl/2, time.Millisecond))
	return lock.Env{Nodes: nodes, Key: key, TTL: c.ttl,
		Options: []lock.Option{lock.PollEvery(poll), late}}
}

// client does what the i-th client of a crowd does. It calls ready when it has prepared
// that, which returns at the instant when all begin.
type client func(ctx context.Context, i int, ready func() (open time.Time))

// ahead are clients that begin a moment before the others.
type ahead struct {
	clients int
	by      time.Duration
}

// run lets n clients begin at one instant, and returns when all have ended. The timeout
// ends them, and so does ctx.
func (c *crowd) run(ctx context.Context, t *tally, n int, first ahead, do client) {
	running, end := context.WithCancel(ctx)
	defer end()
	c.ended.Store(0)
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
			do(running, i, ready)
			ready() // of a client that had nothing to prepare
			c.ended.Add(1)
		})
	}
	prepared.Wait()
	commands, trips := c.servers.Traffic()
	open = time.Now()
	timeout := time.AfterFunc(c.timeout, end)
	defer timeout.Stop()
	for i, gate := range gates {
		if i == first.clients {
			time.Sleep(first.by)
		}
		close(gate)
	}
	through.Wait()
	t.took = time.Since(open)
	sent, n2 := c.servers.Traffic()
	t.commands += sent - commands
	t.roundTrips += n2 - trips
}
