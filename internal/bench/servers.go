package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sync/errgroup"

	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/internal/servers/proxy"
	"github.com/lockladder/lockladder/lock"
)

const (
	// spare connections are for what is not a waiting client: renewals, and
	// commands that a lock has left behind.
	spare = 8

	// replyWithin bounds one command on a server that may have gone silent.
	replyWithin = 5 * time.Second

	// embeddedWithin is for embedded servers. They always answer, on a busy
	// machine late: given up, a grant would block the others for a lease.
	embeddedWithin = 60 * time.Second

	// embeddedMemory is the memory from which on the collector works harder, and
	// memoryEach is added for each client: its connection, at both ends, and what it runs.
	embeddedMemory = 300 << 20
	memoryEach     = 64 << 10

	// garbage is how much a round on real servers may leave behind before the collector comes.
	garbage = 256 << 20

	// warmWithin bounds the opening of one node's connections, and warmEach is added for
	// each of them. sweepWithin bounds the removal of a run's keys.
	warmWithin  = 30 * time.Second
	warmEach    = time.Millisecond
	sweepWithin = 30 * time.Second
)

// Servers are the Redis nodes of a run, one client each. All keys of a run have one random prefix.
type Servers struct {
	// Addresses are the servers that the user named, empty when embedded.
	Addresses []string

	// Product and Version are the first server's own word, "" when it does not say.
	Product, Version string

	config  Config
	prefix  string
	nodes   []*redis.Client
	named   []*redis.Client // they tell programs where the nodes are
	pool    int             // connections of each client
	network *proxy.Network
	traffic *traffic

	dial     func(ctx context.Context, node int) (net.Conn, error)
	embedded []*miniredis.Miniredis
	collect  func()       // as before embedded servers
	calls    func() int64 // of servers in a world whose time is not the real one
}

// Config is how the clients of a run reach its servers.
type Config struct {
	// Clients is how many there are at one time.
	Clients int

	// Pool is how many connections the clients share; 0 is one for each, and some for
	// what a lock does on its own account.
	Pool int

	// RTT is added to the round-trip time of the network.
	RTT time.Duration

	// Password is what all servers ask for, "" if they ask for none.
	Password string
}

// Embed starts n servers inside this process. They are reached without the network and without
// file descriptors, of which 1000 clients on five servers would need 10,000.
func Embed(n int, config Config) *Servers {
	s := newServers(config)
	// With the default the collector takes half of the time: a script of the
	// embedded server allocates a whole Lua interpreter. It may take what it likes
	// only as long as there is not much in use.
	s.collect = process.CollectLater(400, embeddedMemory+int64(config.Clients)*memoryEach)
	s.dial = func(_ context.Context, node int) (net.Conn, error) {
		return s.embedded[node].Dial()
	}
	for range n {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true) // or no lease would ever end
		s.embedded = append(s.embedded, server)
		s.add("", embeddedWithin)
	}
	return s
}

// Virtual uses n servers that dial connects to, in a world whose time is not the real one; calls is
// how many commands they have executed so far. No connection is warmed up, and no key is removed.
func Virtual(n int, config Config, dial func(node int) (net.Conn, error), calls func() int64) *Servers {
	late := config.RTT
	config.RTT = 0
	s := newServers(config)
	s.calls, s.prefix = calls, "bench:" // the same in every run
	s.dial = func(_ context.Context, node int) (net.Conn, error) { return dial(node) }
	if late > 0 {
		// The driver's greeting takes no time: a connection is there before it is
		// used, as on real servers after the warming up. (The driver also holds a
		// mutex meanwhile, and that would stop the clock.)
		s.network = proxy.NewVirtualNetwork(late/2, greets)
	}
	for range n {
		s.add("", replyWithin)
	}
	return s
}

// greets says whether a request begins with HELLO.
func greets(request []byte) bool {
	words := bytes.SplitN(request, []byte("\r\n"), 4)
	return len(words) > 2 && bytes.EqualFold(words[2], []byte("HELLO"))
}

// Connect opens a client for each address, host:port, and asks all of them for a sign of life
// before ctx ends. Its error names the address and the cause, and nothing is left open then.
func Connect(ctx context.Context, addresses []string, config Config) (*Servers, error) {
	s := newServers(config)
	s.Addresses = addresses
	s.dial = s.reach
	var alive errgroup.Group
	for _, address := range addresses {
		rdb := s.add(address, replyWithin)
		alive.Go(func() error {
			if err := rdb.Ping(ctx).Err(); err != nil {
				return lock.Failed(ctx, "reach the server at", address, err)
			}
			return nil
		})
	}
	if err := alive.Wait(); err != nil {
		return nil, errors.Join(err, s.closeClients())
	}
	// A server that does not tell its version is measured all the same.
	info := s.nodes[0].InfoMap(ctx, "server")
	s.Product, s.Version = "redis", info.Item("Server", "redis_version")
	if valkey := info.Item("Server", "valkey_version"); valkey != "" {
		s.Product, s.Version = "valkey", valkey // the other is the Redis that it is like
	}
	return s, nil
}

func newServers(config Config) *Servers {
	s := &Servers{
		config:  config,
		prefix:  "lockladder:bench:" + uuid.NewString()[:8] + ":",
		pool:    cmp.Or(config.Pool, config.Clients+spare),
		traffic: &traffic{},
		collect: func() {},
	}
	if config.RTT > 0 {
		// A second thread: the runtime takes its time to notice that its only one is asleep.
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
		s.network = proxy.NewNetwork(config.RTT / 2)
	}
	return s
}

// add opens a client of the next node, whose traffic is counted. With the library's own pool,
// ten connections a CPU, the holder would queue for a connection behind those who wait for it.
func (s *Servers) add(address string, within time.Duration) *redis.Client {
	node := len(s.nodes)
	rdb := redis.NewClient(&redis.Options{
		Addr:                  cmp.Or(address, "127.0.0.1:1"), // not dialled
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1, // a repeated SETNX would refuse its sender
		DialerRetries:         1,
		DialTimeout:           replyWithin,
		ReadTimeout:           within,
		WriteTimeout:          within,
		ContextTimeoutEnabled: true,
		PoolSize:              s.pool,
		PipelinePoolSize:      -1, // pipelines use the warm connections too
		ReadBufferSize:        4096,
		WriteBufferSize:       4096,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return s.Dial(ctx, node)
		},
	})
	rdb.AddHook(tap{s.traffic, node})
	s.nodes = append(s.nodes, rdb)
	return rdb
}

// Dial connects to a node, counted from 0.
func (s *Servers) Dial(ctx context.Context, node int) (net.Conn, error) {
	conn, err := s.dial(ctx, node)
	if err != nil || s.network == nil {
		return conn, err
	}
	return s.network.Through(conn), nil
}

// Nodes is how many servers there are.
func (s *Servers) Nodes() int { return len(s.nodes) }

// Pool is how many connections each client of a node has, at most.
func (s *Servers) Pool() int { return s.pool }

// Prefix begins the keys of a row. The braces keep all of them in one slot of a cluster, and
// make a lock that adds keys of its own keep the prefix in front. Close removes them.
func (s *Servers) Prefix(row string) string { return s.prefix + "{" + row + "}:" }

// Embedded says that the servers are part of this process.
func (s *Servers) Embedded() bool { return len(s.embedded) > 0 }

// Warm opens all connections to the first n nodes, or to as many as there are, and returns
// their clients. Opened under way, 1000 connections would be what is measured.
func (s *Servers) Warm(ctx context.Context, n int) (nodes []redis.UniversalClient, err error) {
	for _, rdb := range s.nodes[:min(n, len(s.nodes))] {
		if s.calls == nil { // elsewhere they are open in no time
			err = warm(ctx, rdb, s.pool)
		}
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, rdb)
	}
	return nodes, nil
}

// warm takes every connection of the pool and then returns them all. Those
// that are open already cost one round trip.
func warm(ctx context.Context, rdb *redis.Client, connections int) error {
	ctx, cancel := context.WithTimeout(ctx, warmWithin+time.Duration(connections)*warmEach)
	defer cancel()
	taken := make([]*redis.Conn, connections)
	// The first failure ends the others, which would fail as well, one by one.
	dialling, ctx := errgroup.WithContext(ctx)
	dialling.SetLimit(32) // a server's backlog may be as short as 128
	for i := range taken {
		taken[i] = rdb.Conn()
		dialling.Go(func() error {
			err := ctx.Err()
			if err == nil {
				err = taken[i].Ping(ctx).Err()
			}
			if err != nil {
				return lock.Failed(ctx, fmt.Sprintf("open %d connections to", connections), rdb.Options().Addr, err)
			}
			return nil
		})
	}
	err := dialling.Wait()
	for _, conn := range taken {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// Clear empties the embedded servers: they look at every key at every command, so that a row
// would pay for what earlier ones left. On other servers keys stay until Close.
func (s *Servers) Clear() {
	for _, server := range s.embedded {
		server.FlushAll()
	}
}

// collectorStaysAway tells whether garbage is collected between the rounds on real
// servers, and not in them: unless GOGC or GOMEMLIMIT says otherwise.
func collectorStaysAway() bool { return os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" }

// Tidy collects what was left behind so far, so that no row pays for the one before it. Where the
// collector stays away, it does so until the function that is returned is called: on one CPU it
// would stand between a command and its reply for milliseconds, and the longest wait of a row would
// be its work. It comes all the same when the process has grown by as much as garbage.
func (s *Servers) Tidy() (end func()) {
	runtime.GC()
	if len(s.Addresses) == 0 || !collectorStaysAway() {
		return func() {}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return process.CollectLater(-1, int64(m.Sys-m.HeapIdle+garbage))
}

// Close removes every key of the run from servers that are not embedded, also after ctx has
// ended, and closes all clients. After an error keys may have stayed; it names their prefix.
func (s *Servers) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepWithin)
	defer cancel()
	var errs []error
	if len(s.Addresses) > 0 {
		for _, rdb := range s.nodes {
			errs = append(errs, sweep(ctx, rdb, s.prefix))
		}
	}
	errs = append(errs, s.closeClients())
	for _, server := range s.embedded {
		server.Close()
	}
	s.collect()
	return errors.Join(errs...)
}

// closeClients closes all clients. It removes no keys.
func (s *Servers) closeClients() error {
	var errs []error
	for _, rdb := range slices.Concat(s.nodes, s.named) {
		errs = append(errs, rdb.Close())
	}
	if s.network != nil {
		s.network.Close()
	}
	return errors.Join(errs...)
}
