package lock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounded ends each script with the deadline of its context, even if the driver's
// ContextTimeoutEnabled is off, as it is by default: the driver alone would wait for
// a reply until its ReadTimeout, 5 s, and a hung renewal would cost a short lease.
// It bounds the scripts of a *redis.Client. Clients of a Cluster or a Ring have no
// timeout that can be set for one command, and theirs stay as they are. Where the
// deadline is further away than ReadTimeout, a script that the driver repeats may
// outlast it, by one ReadTimeout at most.
func Bounded(rdb redis.UniversalClient) redis.Scripter { return bounded{rdb, rdb} }

// bounded doesn't embed the client: the compiler would generate a wrapper for each of
// its hundreds of methods.
type bounded struct {
	redis.Scripter
	rdb redis.UniversalClient
}

func (b bounded) Eval(ctx context.Context, script string, keys []string,
	args ...any) *redis.Cmd {
	return b.within(ctx).Eval(ctx, script, keys, args...)
}

func (b bounded) EvalSha(ctx context.Context, sha1 string, keys []string,
	args ...any) *redis.Cmd {
	return b.within(ctx).EvalSha(ctx, sha1, keys, args...)
}

// within is the client with timeouts that end with ctx.
func (b bounded) within(ctx context.Context) redis.UniversalClient {
	client, ok := b.rdb.(*redis.Client)
	deadline, ends := ctx.Deadline()
	if !ok || !ends || client.Options().ContextTimeoutEnabled {
		return b.rdb
	}
	left := max(time.Until(deadline), time.Millisecond) // 0 would be no timeout
	if usual := client.Options().ReadTimeout; usual > 0 && usual <= left {
		return client
	}
	return client.WithTimeout(left)
}

// Once sends each script at most once, and ends it like Bounded. go-redis repeats
// a command whose reply was lost, three times by default and without a word. A
// release that is sent again finds nothing, and "there was nothing to release"
// would be a false answer: the first one has done it. Sent once, it is answered
// with the error of the network, which says what is known.
//
// A redirection of Redis Cluster is still followed, for the command was not
// executed where it was turned away; and after NOSCRIPT the script itself is
// sent.
func Once(rdb redis.UniversalClient) redis.Scripter { return once{bounded{rdb, rdb}} }

type once struct{ bounded }

func (o once) Eval(ctx context.Context, script string, keys []string,
	args ...any) *redis.Cmd {
	return o.send(ctx, "eval", script, keys, args)
}

func (o once) EvalSha(ctx context.Context, sha1 string, keys []string,
	args ...any) *redis.Cmd {
	return o.send(ctx, "evalsha", sha1, keys, args)
}

func (o once) send(ctx context.Context, name, script string, keys []string,
	args []any) *redis.Cmd {
	all := append(make([]any, 0, 3+len(keys)+len(args)), name, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	if len(keys) > 0 {
		cmd.SetFirstKeyPos(3) // where Redis Cluster finds the slot
	}
	o.within(ctx).Process(ctx, unrepeated{cmd}) // the error is the command's, too
	return cmd
}

// unrepeated is a command that the driver does not repeat.
type unrepeated struct{ *redis.Cmd }

func (unrepeated) NoRetry() bool { return true }
