package benchmark

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sync/errgroup"
)

const (
	// spare connections are for what is not a waiting client: renewals, and
	// commands that a lock has left behind.
	spare = 8

	// replyWithin bounds one command on a server that may have gone silent.
	replyWithin = 5 * time.Second

	// embeddedWithin is for embedded servers. They always answer, on a busy
	// machine late: given up, a grant would block the others for a lease.
	embeddedWithin = 30 * time.Second

	// warmWithin bounds the opening of one node's connections.
	warmWithin = 30 * time.Second

	// sweepWithin bounds the removal of a run's keys.
	sweepWithin = 30 * time.Second
)

// Servers are the Redis nodes of a run, one client each. All keys of a run have
// one random prefix.
type Servers struct {
	// Addresses are the servers that the user named, empty when embedded.
	Addresses []string

	// Version is the first server's own word, "" when it does not say.
	Version string

	prefix   string
	nodes    []*redis.Client
	pool     int // connections of each client
	traffic  *traffic
	embedded []*miniredis.Miniredis
	gcBefore int // the collector's setting to go back to, 0 when untouched
}

// Embed starts n servers inside this process for that many clients. They are
// reached without the network and without file descriptors, of which 1000
// clients on five servers would need 10,000.
func Embed(n, clients int) *Servers {
	s := newServers(clients)
	// With the default the collector takes half of the time: a script of the
	// embedded server allocates a whole Lua interpreter.
	if os.Getenv("GOGC") == "" {
		s.gcBefore = debug.SetGCPercent(400)
	}
	for range n {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true) // or no lease would ever end
		s.embedded = append(s.embedded, server)
		o := s.options("127.0.0.1:1") // never dialled
		o.ReadTimeout, o.WriteTimeout = embeddedWithin, embeddedWithin
		o.Dialer = func(context.Context, string, string) (net.Conn, error) {
			return server.Dial()
		}
		s.add(o)
	}
	return s
}

// Connect opens a client for each address, host:port, and asks all of them for
// a sign of life before ctx ends. Its error names the address and the cause, and
// nothing is left open then.
func Connect(ctx context.Context, addresses []string, clients int) (
	*Servers, error) {
	s := newServers(clients)
	s.Addresses = addresses
	var alive errgroup.Group
	for _, address := range addresses {
		rdb := s.add(s.options(address))
		alive.Go(func() error {
			if err := rdb.Ping(ctx).Err(); err != nil {
				return fmt.Errorf("reach the server at %s: %w", address,
					told(ctx, err))
			}
			return nil
		})
	}
	if err := alive.Wait(); err != nil {
		return nil, errors.Join(err, s.closeClients())
	}
	s.Version = version(ctx, s.nodes[0])
	return s, nil
}

func newServers(clients int) *Servers {
	return &Servers{
		prefix:  "lockladder:bench:" + uuid.NewString()[:8] + ":",
		pool:    clients + spare,
		traffic: &traffic{},
	}
}

// options are a client's settings. With the library's own pool, ten connections
// a CPU, the holder would queue for a connection behind those who wait for it.
func (s *Servers) options(address string) *redis.Options {
	return &redis.Options{
		Addr:                  address,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1, // a repeated SETNX would refuse its sender
		DialerRetries:         1,
		DialTimeout:           replyWithin,
		ReadTimeout:           replyWithin,
		WriteTimeout:          replyWithin,
		ContextTimeoutEnabled: true,
		PoolSize:              s.pool,
		PipelinePoolSize:      -1, // pipelines use the warm connections too
		ReadBufferSize:        4096,
		WriteBufferSize:       4096,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
}

func (s *Servers) add(o *redis.Options) *redis.Client {
	rdb := redis.NewClient(o)
	rdb.AddHook(tap{s.traffic, len(s.nodes)})
	s.nodes = append(s.nodes, rdb)
	return rdb
}

// dial connects to a node, counted from 0, for a lock that brings its own driver.
func (s *Servers) dial(ctx context.Context, node int) (net.Conn, error) {
	o := s.nodes[node].Options()
	return o.Dialer(ctx, o.Network, o.Addr)
}

// Embedded says that the servers are part of this process.
func (s *Servers) Embedded() bool { return len(s.embedded) > 0 }

// warm opens all connections to the first n nodes, or to as many as there are,
// and returns their clients. Opened under way, 1000 connections would be what is
// measured.
func (s *Servers) warm(ctx context.Context, n int) (
	[]redis.UniversalClient, error) {
	var nodes []redis.UniversalClient
	for _, rdb := range s.nodes[:min(n, len(s.nodes))] {
		if err := s.warmNode(ctx, rdb); err != nil {
			return nil, fmt.Errorf("open %d connections to %s: %w",
				s.pool, rdb.Options().Addr, err)
		}
		nodes = append(nodes, rdb)
	}
	return nodes, nil
}

// warmNode takes every connection of the pool and then returns them all. Those
// that are open already cost one round trip.
func (s *Servers) warmNode(ctx context.Context, rdb *redis.Client) error {
	ctx, cancel := context.WithTimeout(ctx, warmWithin)
	defer cancel()
	taken := make([]*redis.Conn, s.pool)
	var dialling errgroup.Group
	dialling.SetLimit(32) // a server's backlog may be as short as 128
	for i := range taken {
		dialling.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			taken[i] = rdb.Conn()
			err := told(ctx, taken[i].Ping(ctx).Err())
			if err != nil {
				cancel() // the others would fail as well, one by one
			}
			return err
		})
	}
	err := dialling.Wait()
	for _, conn := range taken {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	return err
}

// clear empties the embedded servers: they look at every key at every command,
// so that a row would pay for what earlier ones left. On other servers keys stay
// until Close.
func (s *Servers) clear() {
	for _, server := range s.embedded {
		server.FlushAll()
	}
}

// Close removes every key of the run from servers that are not embedded, also
// after ctx has ended, and closes all clients. After an error keys may have
// stayed; it names their prefix.
func (s *Servers) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepWithin)
	defer cancel()
	var errs []error
	if !s.Embedded() {
		for _, rdb := range s.nodes {
			if err := s.sweep(ctx, rdb); err != nil {
				errs = append(errs, fmt.Errorf("remove the keys *%s* from %s: %w",
					s.prefix, rdb.Options().Addr, told(ctx, err)))
			}
		}
	}
	errs = append(errs, s.closeClients())
	for _, server := range s.embedded {
		server.Close()
	}
	if s.gcBefore != 0 {
		debug.SetGCPercent(s.gcBefore)
	}
	return errors.Join(errs...)
}

// sweep looks for the prefix anywhere in a key: a lock may put a word of its own
// in front.
func (s *Servers) sweep(ctx context.Context, rdb *redis.Client) error {
	found := rdb.Scan(ctx, 0, "*"+s.prefix+"*", 1000).Iterator()
	for found.Next(ctx) {
		if err := rdb.Del(ctx, found.Val()).Err(); err != nil {
			return err
		}
	}
	return found.Err()
}

func (s *Servers) closeClients() error {
	var errs []error
	for _, rdb := range s.nodes {
		errs = append(errs, rdb.Close())
	}
	return errors.Join(errs...)
}

// told adds the context's error, which the client reports in a way of its own: at
// a deadline it may return a moment before the context does.
func told(ctx context.Context, err error) error {
	cause := ctx.Err()
	if end, ok := ctx.Deadline(); ok && cause == nil && !time.Now().Before(end) {
		cause = context.DeadlineExceeded
	}
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", cause, err)
}

// version is what the server says of itself. A server that does not tell is
// measured all the same.
func version(ctx context.Context, rdb *redis.Client) string {
	info, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
