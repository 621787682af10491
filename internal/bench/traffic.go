package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// reach connects to a real server and logs in. Drivers don't: a lock may bring its own,
// which is given nothing but a connection.
func (s *Servers) reach(ctx context.Context, node int) (net.Conn, error) {
	d := net.Dialer{Timeout: replyWithin}
	conn, err := d.DialContext(ctx, "tcp", s.Addresses[node])
	if err != nil || s.config.Password == "" {
		return conn, err
	}
	if err := authenticate(ctx, conn, s.config.Password); err != nil {
		conn.Close()
		return nil, fmt.Errorf("authenticate: %w", err)
	}
	return conn, nil
}

// authenticate ends with the context, and leaves no deadline behind.
func authenticate(ctx context.Context, conn net.Conn, password string) error {
	if err := conn.SetDeadline(time.Now().Add(replyWithin)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	err := proto.Write(conn, []string{"AUTH", password})
	var answer string
	if err == nil {
		// Nothing follows the answer, so nothing is lost in the buffer.
		answer, err = proto.Read(bufio.NewReader(conn))
	}
	if !stop() {
		err = ctx.Err() // it has ended the exchange, or its deadline would stay
	}
	if err == nil && !strings.HasPrefix(answer, "+OK") {
		err = fmt.Errorf("%s", strings.TrimSpace(strings.TrimPrefix(answer, "-")))
	}
	if err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// sweep looks for the prefix anywhere in a key: a lock may put a word of its own in front.
func sweep(ctx context.Context, rdb *redis.Client, prefix string) error {
	if err := servers.Remove(ctx, rdb, "*"+prefix+"*"); err != nil {
		return lock.Failed(ctx, "remove the keys *"+prefix+"* from", rdb.Options().Addr, err)
	}
	return nil
}

// usageWithin bounds a look at what servers have done, which is taken even when the run has ended.
const usageWithin = 10 * time.Second

// Usage is what servers say that they have done.
type Usage struct {
	CPU   time.Duration
	Calls int64
	Known bool
}

// Usage asks the nodes of a lock on so many, or all there are; the first one where there is no
// lock. A server that does not say makes it unknown, and embedded ones don't.
func (s *Servers) Usage(ctx context.Context, n int) Usage {
	if s.calls != nil {
		return Usage{Calls: s.calls(), Known: true}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usageWithin)
	defer cancel()
	sum := Usage{Known: !s.Embedded()}
	for _, rdb := range s.nodes[:min(max(n, 1), len(s.nodes))] {
		if !sum.Known {
			break
		}
		info, err := rdb.InfoMap(ctx, "cpu", "commandstats").Result()
		if err != nil {
			return Usage{}
		}
		for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
			seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
			if err != nil {
				return Usage{}
			}
			sum.CPU += time.Duration(seconds * float64(time.Second))
		}
		for name, stats := range info["Commandstats"] {
			if name == "cmdstat_info" || name == "cmdstat_auth" {
				continue // how it is asked, and how a connection begins
			}
			var calls int64
			if _, err := fmt.Sscanf(stats, "calls=%d,", &calls); err != nil {
				return Usage{}
			}
			sum.Calls += calls
		}
	}
	return sum
}

// Since is what was done since an earlier look.
func (u Usage) Since(before Usage) Usage {
	return Usage{u.CPU - before.CPU, u.Calls - before.Calls, u.Known && before.Known}
}

// traffic counts what the clients of a run send. It sits in the client, so that it counts alike
// on every server. It sees neither publish/subscribe nor the calls inside scripts.
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
func (t tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
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
	if a, ok := ctx.Value(attemptsKey{}).(*attempts); ok && len(cmds) > 0 {
		a.saw(t.node, cmds[0])
	}
}

// attempts counts how often one acquisition asked for the lock. Waiting happens
// inside a lock, where the benchmark has no part; but every attempt begins like
// the first one, with the same command to the same node.
type attempts struct {
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

// watch makes a context whose commands are looked at by a.
func (a *attempts) watch(ctx context.Context) context.Context {
	return context.WithValue(ctx, attemptsKey{}, a)
}

func (a *attempts) saw(node int, cmd redis.Cmder) {
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

// count is how many attempts there were, 0 when none was seen.
func (a *attempts) count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}
