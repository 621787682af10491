package lock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Once sends each script at most once. go-redis repeats a command whose reply
// was lost, three times by default and without a word. A release that is sent
// again finds nothing, and "there was nothing to release" would be a false
// answer: the first one has done it. Sent once, it is answered with the error
// of the network, which says what is known.
//
// A redirection of Redis Cluster is still followed, for the command was not
// executed where it was turned away; and after NOSCRIPT the script itself is
// sent.
func Once(rdb redis.UniversalClient) redis.Scripter { return once{rdb} }

type once struct{ redis.UniversalClient }

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
	all := []any{name, script, len(keys)}
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	if len(keys) > 0 {
		cmd.SetFirstKeyPos(3) // where Redis Cluster finds the slot
	}
	o.Process(ctx, unrepeated{cmd}) // the error is the command's, too
	return cmd
}

// unrepeated is a command that the driver does not repeat.
type unrepeated struct{ *redis.Cmd }

func (unrepeated) NoRetry() bool { return true }
