package lock

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounded sends a lock's scripts by the client's own Process, so that its hooks see
// all of them, and so does a type that embeds the client. It adds two limits that
// go-redis lacks by default.
//
// A script ends with the deadline of its context, also where the driver's
// ContextTimeoutEnabled is off: the driver alone would wait for a reply until its
// ReadTimeout, 5 s, and a hung renewal would cost a short lease. The command that is
// left behind keeps its connection until the driver gives it up: with a pool of one
// connection, the next renewal waits behind it, and the lease ends. (go-redis has no
// other way to end one command early: its WithTimeout would pass by a wrapper's own
// Process.) Where the deadline is further away than ReadTimeout, that ends the script,
// which may outlast the deadline by as much if it has waited for a connection, or for
// another connection's handshake (docs/go-redis.md). A cancellation ends no wait for a
// reply: it would often leave a grant behind that nobody releases.
//
// A script that wasn't answered within ReadTimeout isn't repeated by the driver, by
// default three times and without a word. It may still be on its way, and an
// acquisition might come after the Unlock of the one that was repeated. Where the
// connection broke before, the driver repeats it: the script was executed or never will
// be, unless a proxy between them delivers it later. It repeats nothing for a client
// that doesn't show its Options.
func Bounded(rdb redis.UniversalClient) redis.Scripter {
	return sender{rdb, rdb, settings(rdb), false}
}

// Commands are those that are sent at most once.
type Commands interface {
	redis.Scripter
	SetNX(ctx context.Context, key string, value any,
		ttl time.Duration) *redis.BoolCmd
}

// Once is Bounded for what the driver must never repeat. A release that is sent again
// finds nothing, and "there was nothing to release" would be a false answer: the
// first one has done it. A SET NX that is sent again is refused by itself. Sent once,
// they are answered with the error of the network, which says what is known.
//
// A redirection of Redis Cluster is still followed, for the command was not
// executed where it was turned away; and after NOSCRIPT the script itself is
// sent.
func Once(rdb redis.UniversalClient) Commands {
	return sender{rdb, rdb, settings(rdb), true}
}

// driver is how a client ends commands by itself.
type driver struct {
	seesDeadlines bool
	timeout       time.Duration // of a reply; 0: not known
}

// settings are a client's, or those of the client that it embeds.
func settings(rdb redis.UniversalClient) (d driver) {
	switch c := rdb.(type) {
	case interface{ Options() *redis.Options }:
		d = driver{c.Options().ContextTimeoutEnabled, c.Options().ReadTimeout}
	case interface{ Options() *redis.ClusterOptions }:
		d = driver{c.Options().ContextTimeoutEnabled, c.Options().ReadTimeout}
	case interface{ Options() *redis.RingOptions }:
		d = driver{c.Options().ContextTimeoutEnabled, c.Options().ReadTimeout}
	default:
		return driver{}
	}
	if d.timeout <= 0 {
		d.timeout = math.MaxInt64 // it waits until the connection breaks
	}
	return d
}

// sender doesn't embed the client: the compiler would generate a wrapper for each of
// its hundreds of methods.
type sender struct {
	redis.Scripter
	rdb    redis.UniversalClient
	driver driver
	once   bool
}

func (s sender) Eval(ctx context.Context, script string, keys []string,
	args ...any) *redis.Cmd {
	return s.script(ctx, "eval", script, keys, args)
}

func (s sender) EvalSha(ctx context.Context, sha1 string, keys []string,
	args ...any) *redis.Cmd {
	return s.script(ctx, "evalsha", sha1, keys, args)
}

func (s sender) script(ctx context.Context, name, script string, keys []string,
	args []any) *redis.Cmd {
	all := append(make([]any, 0, 3+len(keys)+len(args)), name, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	if len(keys) > 0 {
		cmd.SetFirstKeyPos(3) // where Redis Cluster finds the slot
	}
	if err := s.send(ctx, &scriptCmd{cmd, s.limit()}); err != nil {
		cmd = redis.NewCmd(ctx) // the other one may still be under way
		cmd.SetErr(err)
	}
	return cmd
}

// SetNX is the client's, with its words.
func (s sender) SetNX(ctx context.Context, key string, value any,
	ttl time.Duration) *redis.BoolCmd {
	unit, n := "px", ttl.Milliseconds()
	if ttl%time.Second == 0 {
		unit, n = "ex", int64(ttl/time.Second)
	}
	cmd := redis.NewBoolCmd(ctx, "set", key, value, unit, n, "nx")
	if err := s.send(ctx, &boolCmd{cmd, s.limit()}); err != nil {
		cmd = redis.NewBoolCmd(ctx) // as in script
		cmd.SetErr(err)
	}
	return cmd
}

// send sends a command, in a goroutine only where the driver would outlast the
// deadline.
func (s sender) send(ctx context.Context, cmd redis.Cmder) error {
	deadline, bounded := ctx.Deadline()
	if !bounded || s.driver.endsBy(deadline) {
		return s.rdb.Process(ctx, cmd)
	}
	until, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	_, err := Within(until, func() (struct{}, error) {
		return struct{}{}, s.rdb.Process(ctx, cmd)
	})
	return err
}

func (d driver) endsBy(deadline time.Time) bool {
	return d.seesDeadlines || d.timeout > 0 && d.timeout <= time.Until(deadline)
}

// limit is the end of the time in which the driver may repeat a command.
type limit time.Time

// NoRetry is asked by the driver after each attempt.
func (l limit) NoRetry() bool { return !time.Now().Before(time.Time(l)) }

func (s sender) limit() limit {
	if s.once {
		return limit{}
	}
	return limit(time.Now().Add(s.driver.timeout))
}

type scriptCmd struct {
	*redis.Cmd
	limit
}

type boolCmd struct {
	*redis.BoolCmd
	limit
}

// Within runs do in a goroutine of its own and returns what it returns, or the error
// of ctx if that ends first. Then do runs on, and must end by itself. A panic is the
// caller's while it waits, as in net/http's TimeoutHandler.
func Within[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errors.New("a hook has ended the command's goroutine")}
		defer func() {
			r.panicked = recover()
			done <- r
		}()
		r.value, r.err = do()
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		select {
		case r = <-done: // it counts, or a grant would be taken for a failure
		default:
			r.err = ctx.Err()
		}
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.value, r.err
}
