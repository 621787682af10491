package nodes

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// traffic counts what the clients of a run send. It sits in the client, so that
// it counts alike on every server. It sees neither publish/subscribe nor the
// calls inside scripts.
type traffic struct {
	commands   atomic.Int64
	roundTrips atomic.Int64
}

// Traffic is how many commands and round trips all clients have made so far.
func (s *Servers) Traffic() (commands, roundTrips int64) {
	return s.traffic.commands.Load(), s.traffic.roundTrips.Load()
}

// tap is the traffic of one node's client.
type tap struct {
	*traffic
	node int
}

var _ redis.Hook = tap{}

// DialHook leaves dialling alone.
func (t tap) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts one command and one round trip.
func (t tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.count(ctx, cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts several commands and one round trip.
func (t tap) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.count(ctx, cmds...)
		return next(ctx, cmds)
	}
}

func (t tap) count(ctx context.Context, cmds ...redis.Cmder) {
	if len(cmds) > 0 && cmds[0].Name() == "hello" {
		return // a new connection's greeting
	}
	t.commands.Add(int64(len(cmds)))
	t.roundTrips.Add(1)
	if a, ok := ctx.Value(attemptsKey{}).(*Attempts); ok && len(cmds) > 0 {
		a.saw(t.node, cmds[0])
	}
}

// Attempts counts how often one acquisition asked for the lock. Waiting happens
// inside a lock, where the benchmark has no part; but every attempt begins like
// the first one, with the same command to the same node.
type Attempts struct {
	mu    sync.Mutex
	first beginning
	n     int64
}

// beginning is what tells the first command of an attempt from the others.
type beginning struct {
	node       int
	name, word string // the word after the name: a key, or a script's digest
}

type attemptsKey struct{}

// Watch makes a context whose commands are looked at by a.
func (a *Attempts) Watch(ctx context.Context) context.Context {
	return context.WithValue(ctx, attemptsKey{}, a)
}

func (a *Attempts) saw(node int, cmd redis.Cmder) {
	now := beginning{node: node, name: cmd.Name()}
	if args := cmd.Args(); len(args) > 1 {
		now.word, _ = args[1].(string)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == 0 {
		a.first = now
	}
	if now == a.first {
		a.n++
	}
}

// Count is how many attempts there were, 0 when none was seen.
func (a *Attempts) Count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}
