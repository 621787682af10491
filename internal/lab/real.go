package lab

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server is a real Redis server.
type Server interface {
	Addr() string
	Auth() (user, password string) // empty: none is needed
}

// OwnServer is a server that was started for the stories, which may do to it
// what they must not do to somebody's.
type OwnServer interface {
	Server
	Kill()          // as kill -9 does
	Restart() error // after Kill, on the same address, without its data
	Pause() error   // it accepts connections and never answers
	Resume() error
	Replicate() error // starts a replica and holds replication back from then on
	Promote() error   // kills the server; Addr is the replica's from then on
	Restore() error   // takes a replica away and brings the server back
}

// Pool lends servers to stories that are told at the same time.
type Pool interface {
	// Borrow waits until so many are free. The error is TooFew when there will
	// never be so many.
	Borrow(ctx context.Context, n int) ([]Server, error)
	Return(lent []Server)
}

// NamedPool is a Pool that knows by their names which keys are of its stories.
type NamedPool interface {
	Pool
	Run() string // keys are named lockladder:RUN:...
}

// TooFew is the error of a Pool that has not as many servers as a lock needs. It
// says how many there are.
type TooFew string

func (e TooFew) Error() string { return string(e) }

// ClusterServer is a Redis Cluster, and one node to a lock: its masters know
// which of them has a key.
type ClusterServer interface {
	Server
	Masters() []string // addresses
}

// SentinelServer is a server that Sentinels watch, and know where it is. Auth is
// theirs, too.
type SentinelServer interface {
	Server
	MasterName() string
	Sentinels() []string // addresses
}

// Way is how a client finds a node: by its one address, if nothing else is said.
type Way struct {
	Masters   []string // of a cluster
	Name      string   // of a master that Sentinels watch
	Sentinels []string
	Password  string // of the Sentinels; connections to servers have theirs
}

func (n *Node) way() Way {
	switch s := n.remote.(type) {
	case ClusterServer:
		return Way{Masters: s.Masters()}
	case SentinelServer:
		_, password := s.Auth()
		return Way{Name: s.MasterName(), Sentinels: s.Sentinels(),
			Password: password}
	}
	return Way{}
}

// NewClient makes a client that does nothing on its own account: no command is
// repeated, but by a cluster's client, which has to; the caller's context ends
// every wait. What it asks of Sentinels goes past dial.
func (w Way) NewClient(dial func(_ context.Context, addr string) (net.Conn,
	error)) redis.UniversalClient {
	dialer := func(ctx context.Context, _, addr string) (net.Conn, error) {
		if slices.Contains(w.Sentinels, addr) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}
		return dial(ctx, addr)
	}
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch {
	case len(w.Masters) > 0:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: w.Masters, Dialer: dialer, PoolSize: 16, DialerRetries: 1,
			ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
			Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: quiet,
		})
	case w.Name != "":
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: w.Name, SentinelAddrs: w.Sentinels,
			SentinelPassword: w.Password,
			Dialer:           dialer, PoolSize: 16, MaxRetries: -1, DialerRetries: 1,
			ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
			Protocol: 2, DisableIdentity: true,
		})
	}
	return redis.NewClient(single(dialer))
}

// single are the settings of a client of one server.
func single(dialer func(_ context.Context, _, addr string) (net.Conn,
	error)) *redis.Options {
	return &redis.Options{
		Addr:   "127.0.0.1:1", // never dialled; a name would be looked up
		Dialer: dialer, PoolSize: 16, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled},
		// The explorer connects hundreds of thousands of times, and go-redis
		// would take 64 KiB each time.
		ReadBufferSize: 4096, WriteBufferSize: 4096,
	}
}

// Connect does with a client what a command would else wait for when it is the
// first: it connects, and a cluster's client learns who has which keys. Stories
// are about locks that have done so.
func Connect(ctx context.Context, rdb redis.UniversalClient) error {
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		err := cluster.ForEachMaster(ctx,
			func(ctx context.Context, rdb *redis.Client) error {
				return rdb.Ping(ctx).Err()
			})
		if err != nil {
			return fmt.Errorf("connect to a cluster: %w", err)
		}
		return cluster.ClusterKeySlot(ctx, "").Err() // it asks for all commands
	}
	return rdb.Ping(ctx).Err()
}

// Connect connects the client to every node, in real time.
func (c *Client) Connect(ctx context.Context) error {
	if !c.world.real() {
		return nil
	}
	for _, rdb := range c.nodes {
		if err := Connect(ctx, rdb); err != nil {
			return err
		}
	}
	return nil
}

// Entrance is where a process of a client's own finds a node.
type Entrance struct {
	Way
	Doors map[string]string // the node's addresses: where the lab listens for it
	Store bool              // it is no Redis: its driver comes by Dial
}

// Dial connects to one of the node's addresses; "" is its own.
func (e Entrance) Dial(ctx context.Context, addr string) (net.Conn, error) {
	door, ok := e.Doors[addr]
	if !ok {
		door = e.Doors[""]
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", door)
}

// NewClient is Way's.
func (e Entrance) NewClient() redis.UniversalClient {
	return e.Way.NewClient(e.Dial)
}

// Listen opens a port for each address of each node, where a process of the
// client's own is connected to it through the lab's network.
func (c *Client) Listen() ([]Entrance, error) {
	var entrances []Entrance
	for _, n := range c.world.nodes {
		e := Entrance{Way: n.way(), Doors: map[string]string{},
			Store: n.store() != nil}
		for _, addr := range append([]string{""}, e.Masters...) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, fmt.Errorf("listen for a process: %w", err)
			}
			c.listeners = append(c.listeners, l)
			e.Doors[addr] = l.Addr().String()
			go c.let(l, n, addr) // ends with the listener, which close closes
		}
		entrances = append(entrances, e)
	}
	return entrances, nil
}

// let connects who comes to l with the node.
func (c *Client) let(l net.Listener, n *Node, addr string) {
	for {
		far, err := l.Accept()
		if err != nil {
			return
		}
		if c.dead.Load() || serveConn(c, n, far, addr) != nil {
			far.Close()
		}
	}
}

// real says whether the world lives on real servers.
func (w *World) real() bool { return len(w.Servers) > 0 }

// Real says whether the world lives on real servers, in real time.
func (w *World) Real() bool { return w.real() }

// lasts is how long a story's duration lasts.
func (w *World) lasts(d time.Duration) time.Duration {
	if w.Scale == 0 {
		return d
	}
	return time.Duration(float64(d) * w.Scale)
}

// Lasts is how long a story's duration lasts, for contexts and timers.
func (w *World) Lasts(d time.Duration) time.Duration { return w.lasts(d) }

// told is a duration as the story tells it.
func (w *World) told(d time.Duration) time.Duration {
	if w.Scale == 0 {
		return d
	}
	return time.Duration(float64(d) / w.Scale)
}

// moment is when a moment of the story is.
func (w *World) moment(d time.Duration) time.Time {
	return w.start.Add(w.lasts(d))
}

// take and give enclose what only one may do at a time. In virtual time the gate
// sees to that, and a mutex would stop the clock.
func (w *World) take() {
	if w.real() {
		w.turn.Lock()
	}
}

func (w *World) give() {
	if w.real() {
		w.turn.Unlock()
	}
}

// inRealTime is Run on real servers.
func (w *World) inRealTime(tell func(*World)) error {
	w.gate = &gate{real: true}
	defer w.watchTheClock()()
	return w.live(tell)
}

// watchTheClock keeps how late this machine is, until the returned function is
// called: how long after its time a timer fires.
func (w *World) watchTheClock() (stop func()) {
	const tick = 50 * time.Millisecond // often enough for a lease of seconds
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			due := time.Now().Add(tick)
			select {
			case <-time.After(tick):
				w.tardy(time.Since(due))
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-done }
}

// Calm waits until no timer has been so late for a second, at most for a limit.
func Calm(late, limit time.Duration) {
	const tick = 20 * time.Millisecond
	end, since := time.Now().Add(limit), time.Now()
	for now := time.Now(); now.Before(end) && now.Sub(since) < time.Second; {
		time.Sleep(tick)
		if time.Since(now) > tick+late {
			since = time.Now()
		}
		now = time.Now()
	}
}

// tardy is told how long something took that takes no time in a story.
func (w *World) tardy(d time.Duration) {
	for {
		longest := w.lateness.Load()
		if int64(d) <= longest || w.lateness.CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// Late is by how much the machine was late so far, at its latest, in real time:
// a timer that fired, a command that reached a server, or a server that answered.
// A story that it was too late for was not told as it is written.
func (w *World) Late() time.Duration { return time.Duration(w.lateness.Load()) }

// longestReal is how much real time a story may take: the longest has eight
// leases.
func (w *World) longestReal() time.Duration { return time.Minute + 20*w.TTL }

// playInRealTime waits until every script has ended.
func (w *World) playInRealTime() {
	limit := time.NewTimer(w.longestReal())
	defer limit.Stop()
	for w.running.Load() > 0 {
		select {
		case <-w.gate.arrived:
		case <-limit.C:
			w.Fail("the story did not end within %v", w.longestReal())
			return
		}
	}
}

// Until waits for an event, in real time: there no margin is wide enough. In
// virtual time the story's times are exact, and it does nothing. It gives up
// after the story's patience; what follows then shows whether that matters.
func (c *Client) Until(event func() bool, patience time.Duration) {
	c.await(event, patience)
	c.mustLive()
}

// await is Until for what is no script.
func (c *Client) await(event func() bool, patience time.Duration) {
	w := c.world
	if !w.real() {
		return
	}
	for end := time.Now().Add(w.lasts(patience)); time.Now().Before(end); {
		happened := false
		w.take()
		happened = event()
		w.give()
		if happened || c.dead.Load() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// own is the node's server when the stories may do to it what they like.
func (n *Node) own() OwnServer {
	own, _ := n.remote.(OwnServer)
	return own
}

// host is a server that may be killed and stopped.
type host interface {
	Kill()
	Restart() error
	Pause() error
	Resume() error
}

// host is the node's server, of whatever kind, that may be killed and stopped.
func (n *Node) host() host { return n.remote.(host) }

// must reports that a server did not do what the story needs.
func (n *Node) must(what string, err error) {
	if err != nil {
		n.world.Fail("node %d: %s: %v", n.index+1, what, err)
	}
}

// newObserver is a client for what belongs to no client of the story.
func (n *Node) newObserver() redis.UniversalClient {
	s := n.remote
	user, password := s.Auth()
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if cluster, ok := s.(ClusterServer); ok {
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: cluster.Masters(), Username: user, Password: password,
			DialerRetries: 1, DialTimeout: time.Second, ReadTimeout: time.Second,
			Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: quiet,
		})
	}
	return redis.NewClient(&redis.Options{
		Username: user, Password: password,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", s.Addr())
		},
		MaxRetries: 3, DialerRetries: 1, DialTimeout: time.Second,
		ReadTimeout: time.Second, Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: quiet,
	})
}

// each does something on every server of the node.
func (n *Node) each(ctx context.Context,
	do func(context.Context, *redis.Client) error) error {
	if cluster, ok := n.observer.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, do)
	}
	return do(ctx, n.observer.(*redis.Client))
}

// order sends an operator's command.
func (n *Node) order(args []string) {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	n.must("send "+args[0], n.observer.Do(n.world.ctx, words...).Err())
}

// look reads a key's value, or a hash's fields, and what is left of its lease.
const look = `
local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind
if kind == 'string' then
  value = redis.call('GET', KEYS[1])
elseif kind == 'hash' then
  local fields = redis.call('HKEYS', KEYS[1])
  table.sort(fields)
  value = table.concat(fields, ' ')
end
local now = redis.call('TIME')
return {kind, value, redis.call('PTTL', KEYS[1]),
  now[1] * 1000 + math.floor(now[2] / 1000)}`

// observeRemote is observe on a real server. A server that does not answer has
// nothing to say.
func (n *Node) observeRemote(key string) state {
	if n.store() != nil {
		return n.observeStore(key)
	}
	n.mu.Lock()
	away := n.refusing || n.silent
	n.mu.Unlock()
	if away {
		return state{}
	}
	asked := time.Now()
	reply, err := n.observer.Eval(n.world.ctx, look, []string{key}).Slice()
	n.world.tardy(time.Since(asked))
	if err != nil {
		return state{}
	}
	if reply[0] == "none" {
		return state{serverNow: reply[3].(int64)}
	}
	s := state{exists: true, value: reply[1].(string),
		serverNow: reply[3].(int64)}
	if ttl := reply[2].(int64); ttl >= 0 {
		s.ends = time.Now().Add(time.Duration(ttl) * time.Millisecond)
		s.serverEnds = reply[3].(int64) + ttl
	}
	return s
}

// tidy removes the story's keys and lets the server go.
func (n *Node) tidy() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	n.mu.Lock()
	refusing, silent := n.refusing, n.silent
	n.mu.Unlock()
	if silent {
		n.must("resume", n.host().Resume())
	}
	if refusing {
		n.must("restart", n.host().Restart())
	}
	if s := n.store(); s != nil {
		n.must("remove what the story has left", s.Tidy(ctx, n.world.Key))
		return
	}
	if own := n.own(); own != nil {
		n.must("restore", own.Restore())
	}
	n.must("remove the story's keys", n.each(ctx,
		func(ctx context.Context, rdb *redis.Client) error {
			keys := rdb.Scan(ctx, 0, "*"+n.world.Key+"*", 1000).Iterator()
			for keys.Next(ctx) {
				if err := rdb.Del(ctx, keys.Val()).Err(); err != nil {
					return err
				}
			}
			return keys.Err()
		}))
	n.observer.Close()
}

// accept takes a new connection to the node at one of its addresses; "" is its
// own.
func (n *Node) accept(addr string) (backend, error) {
	if n.remote == nil {
		return newPeer(n.server()), nil
	}
	if len(n.way().Masters)+len(n.way().Sentinels) == 0 || addr == "" {
		addr = n.remote.Addr()
	}
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return nil, err
	}
	u := &upstream{conn: c, replies: make(chan string, 16),
		arrived: make(chan struct{}, 1)}
	user, password := n.remote.Auth()
	if password != "" {
		args := []string{"AUTH", user, password}
		if user == "" {
			args = []string{"AUTH", password}
		}
		if err := proto.Write(c, args); err != nil {
			c.Close()
			return nil, err
		}
	}
	go u.read(password != "")
	return u, nil
}

// upstream is a connection to a real server.
type upstream struct {
	conn    net.Conn
	replies chan string
	arrived chan struct{}

	mu       sync.Mutex
	messages []string
}

// read tells replies and messages apart until the connection ends. The first
// reply may be that to AUTH. Nobody waits for it: a stopped server would let the
// client hang. A refusal is the reply to all that follows.
func (u *upstream) read(auth bool) {
	defer close(u.replies)
	r := bufio.NewReader(u.conn)
	var refusal string
	for {
		frame, err := proto.Read(r)
		if err != nil {
			return
		}
		if auth {
			auth = false
			if !strings.HasPrefix(frame, "+OK") {
				refusal = frame
			}
			continue
		}
		if !isMessage(frame) {
			u.replies <- cmp.Or(refusal, frame)
			continue
		}
		u.mu.Lock()
		u.messages = append(u.messages, frame)
		u.mu.Unlock()
		select {
		case u.arrived <- struct{}{}:
		default:
		}
	}
}

func (u *upstream) execute(args []string) string {
	if proto.Write(u.conn, args) != nil {
		return ""
	}
	frames := 1
	if strings.Contains(strings.ToUpper(args[0]), "SUBSCRIBE") {
		frames = max(len(args)-1, 1) // a reply for each channel
	}
	var reply strings.Builder
	for range frames {
		frame, ok := <-u.replies
		if !ok {
			return ""
		}
		reply.WriteString(frame)
	}
	return reply.String()
}

func (u *upstream) subscribe()            {}
func (u *upstream) news() <-chan struct{} { return u.arrived }
func (u *upstream) close()                { u.conn.Close() }

func (u *upstream) message() pushed {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.messages) == 0 {
		return pushed{}
	}
	message := u.messages[0]
	u.messages = u.messages[1:]
	return pushed{frame: message}
}
