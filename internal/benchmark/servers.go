package benchmark

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
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

	// embeddedMemory is the memory from which on the collector works harder.
	embeddedMemory = 300 << 20

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
	password string
	nodes    []*redis.Client
	pool     int // connections of each client
	network  *network
	traffic  *traffic
	embedded []*miniredis.Miniredis
	virtual  func(node int) (net.Conn, error)
	calls    func() int64 // of virtual servers

	// The collector's settings to go back to, 0 when untouched.
	gcBefore    int
	limitBefore int64
}

// Config is how the clients of a run reach its servers.
type Config struct {
	// Clients is how many there are at one time.
	Clients int

	// Pool is how many connections the clients of a process share; 0 is one
	// for each, and some for what a lock does on its own account.
	Pool int

	// RTT is added to the round-trip time of the network.
	RTT time.Duration

	// Prefix begins all keys, "" is a new one.
	Prefix string

	// Password is what all servers ask for, "" if they ask for none.
	Password string
}

// Embed starts n servers inside this process. They are reached without the
// network and without file descriptors, of which 1000 clients on five servers
// would need 10,000.
func Embed(n int, config Config) *Servers {
	s := newServers(config, false)
	// With the default the collector takes half of the time: a script of the
	// embedded server allocates a whole Lua interpreter.
	if os.Getenv("GOGC") == "" {
		s.gcBefore = debug.SetGCPercent(400)
	}
	// It may take what it likes only as long as there is not much in use.
	if os.Getenv("GOMEMLIMIT") == "" {
		s.limitBefore = debug.SetMemoryLimit(embeddedMemory)
	}
	for range n {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true) // or no lease would ever end
		s.embedded = append(s.embedded, server)
		s.add()
	}
	return s
}

// Virtual uses n servers that dial connects to, in a world whose time is not the
// real one; calls is how many commands they have executed so far. No connection
// is warmed up, and no key is removed.
func Virtual(n int, config Config, dial func(node int) (net.Conn, error),
	calls func() int64) *Servers {
	s := newServers(config, true)
	s.virtual, s.calls = dial, calls
	for range n {
		s.add()
	}
	return s
}

// Connect opens a client for each address, host:port, and asks all of them for
// a sign of life before ctx ends. Its error names the address and the cause, and
// nothing is left open then.
func Connect(ctx context.Context, addresses []string, config Config) (
	*Servers, error) {
	s := newServers(config, false)
	s.Addresses = addresses
	var alive errgroup.Group
	for _, address := range addresses {
		rdb := s.add()
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

func newServers(config Config, virtual bool) *Servers {
	return &Servers{
		prefix: cmp.Or(config.Prefix,
			"lockladder:bench:"+uuid.NewString()[:8]+":"),
		password: config.Password,
		pool:     cmp.Or(config.Pool, config.Clients+spare),
		network:  newNetwork(config.RTT, virtual),
		traffic:  &traffic{},
	}
}

// Pool is how many connections each client of a node has, at most.
func (s *Servers) Pool() int { return s.pool }

// add opens a client of the next node, whose traffic is counted.
func (s *Servers) add() *redis.Client {
	rdb := s.client(len(s.nodes), s.pool)
	s.nodes = append(s.nodes, rdb)
	return rdb
}

// client makes a client of a node. With the library's own pool, ten connections
// a CPU, the holder would queue for a connection behind those who wait for it.
func (s *Servers) client(node, pool int) *redis.Client {
	o := &redis.Options{
		Addr:                  "127.0.0.1:1", // not dialled
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1, // a repeated SETNX would refuse its sender
		DialerRetries:         1,
		DialTimeout:           replyWithin,
		ReadTimeout:           replyWithin,
		WriteTimeout:          replyWithin,
		ContextTimeoutEnabled: true,
		PoolSize:              pool,
		PipelinePoolSize:      -1, // pipelines use the warm connections too
		ReadBufferSize:        4096,
		WriteBufferSize:       4096,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
	if s.Embedded() {
		o.ReadTimeout, o.WriteTimeout = embeddedWithin, embeddedWithin
	}
	if len(s.Addresses) > 0 {
		o.Addr = s.Addresses[node]
	}
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.dial(ctx, node)
	}
	rdb := redis.NewClient(o)
	rdb.AddHook(tap{s.traffic, node})
	return rdb
}

// dial connects to a node, counted from 0.
func (s *Servers) dial(ctx context.Context, node int) (net.Conn, error) {
	return s.network.dial(func() (net.Conn, error) {
		if s.virtual != nil {
			return s.virtual(node)
		}
		if s.Embedded() {
			return s.embedded[node].Dial()
		}
		d := net.Dialer{Timeout: replyWithin}
		conn, err := d.DialContext(ctx, "tcp", s.Addresses[node])
		if err != nil || s.password == "" {
			return conn, err
		}
		if err := authenticate(ctx, conn, s.password); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	})
}

// authenticate shows a server the password. It is done for every driver alike: a
// lock may bring its own, which is given nothing but a connection. It ends with
// the context, and leaves no deadline behind.
func authenticate(ctx context.Context, conn net.Conn, password string) error {
	if err := conn.SetDeadline(time.Now().Add(replyWithin)); err != nil {
		return fmt.Errorf("authenticate: %w", err)
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
	switch {
	case err != nil:
		return fmt.Errorf("authenticate: %w", err)
	case !strings.HasPrefix(answer, "+OK"):
		return fmt.Errorf("authenticate: %s",
			strings.TrimSpace(strings.TrimPrefix(answer, "-")))
	}
	return conn.SetDeadline(time.Time{})
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
		if s.virtual != nil {
			nodes = append(nodes, rdb)
			continue
		}
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
	if len(s.Addresses) > 0 {
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
	if s.limitBefore != 0 {
		debug.SetMemoryLimit(s.limitBefore)
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
	s.network.close()
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

// aside are the connections of one client that shares none with the others.
type aside struct {
	servers *Servers
	nodes   []*redis.Client

	mu    sync.Mutex
	conns []net.Conn // of a lock that brings its own driver
	dead  bool
}

// apart makes connections to the first n nodes for one client.
func (s *Servers) apart(n int) *aside {
	a := &aside{servers: s}
	for node := range n {
		a.nodes = append(a.nodes, s.client(node, spare))
	}
	return a
}

func (a *aside) clients() []redis.UniversalClient {
	var nodes []redis.UniversalClient
	for _, rdb := range a.nodes {
		nodes = append(nodes, rdb)
	}
	return nodes
}

// dial is the servers' dial, until close.
func (a *aside) dial(ctx context.Context, node int) (net.Conn, error) {
	conn, err := a.servers.dial(ctx, node)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		conn.Close()
		return nil, net.ErrClosed
	}
	a.conns = append(a.conns, conn)
	return conn, nil
}

// close cuts all connections, for ever. It may be called twice.
func (a *aside) close() {
	a.mu.Lock()
	conns := a.conns
	a.conns, a.dead = nil, true
	a.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
	for _, rdb := range a.nodes {
		rdb.Close()
	}
}

// usage is what servers say that they have done.
type usage struct {
	cpu   time.Duration
	calls int64
	known bool
}

// usage asks the first n nodes. A server that does not say makes it unknown.
func (s *Servers) usage(ctx context.Context, n int) usage {
	if s.virtual != nil {
		return usage{calls: s.calls(), known: true}
	}
	if s.Embedded() {
		return usage{}
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	sum := usage{known: true}
	for _, rdb := range s.nodes[:n] {
		info, err := rdb.InfoMap(ctx, "cpu", "commandstats").Result()
		if err != nil {
			return usage{}
		}
		for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
			seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
			if err != nil {
				return usage{}
			}
			sum.cpu += time.Duration(seconds * float64(time.Second))
		}
		for name, stats := range info["Commandstats"] {
			if name == "cmdstat_info" || name == "cmdstat_auth" {
				continue // how it is asked, and how a connection begins
			}
			var calls int64
			if _, err := fmt.Sscanf(stats, "calls=%d,", &calls); err != nil {
				return usage{}
			}
			sum.calls += calls
		}
	}
	return sum
}

func (u usage) since(before usage) usage {
	return usage{u.cpu - before.cpu, u.calls - before.calls,
		u.known && before.known}
}

// PIDs are the servers' processes on this machine. It fails when one is not
// there, or when it cannot be told.
func (s *Servers) PIDs(ctx context.Context) ([]int, error) {
	var pids []int
	for _, rdb := range s.nodes {
		info, err := rdb.InfoMap(ctx, "server").Result()
		if err != nil {
			return nil, fmt.Errorf("ask %s for its process: %w",
				rdb.Options().Addr, told(ctx, err))
		}
		pid, err := strconv.Atoi(info["Server"]["process_id"])
		if err != nil || !isRedis(pid) {
			return nil, fmt.Errorf("the server at %s is no process of this "+
				"machine that can be pinned", rdb.Options().Addr)
		}
		pids = append(pids, pid)
	}
	return pids, nil
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
