package lab

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/network"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/lab/order"
	"github.com/lockladder/lockladder/lock"
)

// Client is one process with its connections to every node.
type Client struct {
	*network.Endpoint
	Skew  time.Duration // how far its own clock is ahead
	world *World
	nodes []redis.UniversalClient

	process   *os.Process // where the client lives in a process of its own
	listeners []net.Listener
	leaks     sync.Once
	asleep    atomic.Bool // see Pause
}

// Client makes a client of that name. Names order those who act at one instant.
func (w *World) Client(name string) *Client {
	c := &Client{Endpoint: w.net.Endpoint(name), world: w}
	for _, n := range w.nodes {
		rdb := n.port.Node.NewClient(func(_ context.Context, addr string) (net.Conn, error) {
			return c.open(n, addr)
		})
		if rdb == nil {
			continue // its driver comes by Dial
		}
		rdb.AddHook(mortal{c})
		c.nodes = append(c.nodes, rdb)
	}
	w.clients = append(w.clients, c)
	return c
}

// ErrConnections says that a lock gives no connection back.
var ErrConnections = errors.New("the lock leaks connections")

// open connects the client to one of a node's addresses.
func (c *Client) open(n *Node, addr string) (net.Conn, error) {
	if !c.world.Exact() || c.Opened(n.port) < node.MostOpen {
		return c.Open(n.port, addr)
	}
	c.leaks.Do(func() {
		c.world.Fail("%w: %s has %d open at a node (give each back: close a"+
			" redis.Conn, a PubSub and a transaction)", ErrConnections, c.Name,
			node.MostOpen)
	})
	return nil, ErrConnections
}

// InUse is how many connections its drivers have that are not idle, with those of subscriptions.
func (c *Client) InUse() (n int) {
	for _, rdb := range c.nodes {
		pool := rdb.PoolStats()
		n += int(pool.TotalConns - pool.IdleConns + pool.PubSubStats.Active)
	}
	return n
}

// Dial connects the client to a node, for drivers that bring their own pool.
func (c *Client) Dial(n *Node) (net.Conn, error) { return c.Open(n.port, "") }

// Connect connects the client to every node where that takes time.
func (c *Client) Connect(ctx context.Context) error {
	if c.world.Exact() {
		return nil
	}
	for _, rdb := range c.nodes {
		if err := node.Connect(ctx, rdb); err != nil {
			return err
		}
	}
	return nil
}

// mortal fails the commands of a dead process, and when the world has ended it ends the
// goroutines that still send some. To end them at once would leave behind those that wait for
// their answers: a lock may ask from goroutines of its own.
type mortal struct{ client *Client }

func (m mortal) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m mortal) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return m.process(ctx, func() error { return next(ctx, cmd) }, cmd)
	}
}

func (m mortal) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return m.process(ctx, func() error { return next(ctx, cmds) }, cmds...)
	}
}

func (m mortal) process(ctx context.Context, next func() error, cmds ...redis.Cmder) error {
	var err error
	if !m.client.Dead() {
		m.client.from(ctx, cmds)
		m.client.rewrite(cmds)
		err = next()
	}
	if !m.client.Dead() {
		return err
	}
	switch {
	case !m.client.world.Over():
		time.Sleep(time.Second) // a lock may ask again at once, forever
	case !unwatches(cmds):
		runtime.Goexit()
	}
	for _, cmd := range cmds {
		cmd.SetErr(network.ErrDead)
	}
	return network.ErrDead
}

// unwatches says whether this is the driver's UNWATCH: the driver sends it while the
// goroutine ends, and gives the connection back only afterwards.
func unwatches(cmds []redis.Cmder) bool {
	return len(cmds) == 1 && strings.EqualFold(cmds[0].Name(), "UNWATCH")
}

// rewrite lets the world change what is sent. The line that sends it is known by
// the words after the change as well.
func (c *Client) rewrite(cmds []redis.Cmder) {
	if c.world.Rewrite == nil {
		return
	}
	for _, cmd := range cmds {
		words := cmd.Args()
		before := begins(words)
		c.world.Rewrite(words)
		c.From(begins(words), c.Line(before[:]))
	}
}

// begins are the first two words of a command.
func begins(words []any) (two [2]string) {
	for i := range min(len(words), len(two)) {
		two[i] = fmt.Sprint(words[i])
	}
	return two
}

// fromLine is the key of FromLine.
type fromLine struct{}

// FromLine says which line of a lock's code sends the commands of a context, such as
// "mine/lock.js:7", where that isn't a line of Go.
func FromLine(ctx context.Context, line string) context.Context {
	return context.WithValue(ctx, fromLine{}, line)
}

// from notes which line of the lock's code sends these commands: the hook runs in
// the goroutine that does.
func (c *Client) from(ctx context.Context, cmds []redis.Cmder) {
	if !c.world.log.Recording && !c.world.Lines {
		return // nobody will ask
	}
	line, _ := ctx.Value(fromLine{}).(string)
	for _, cmd := range cmds {
		args := cmd.Args()
		if len(args) < 2 || node.OfDriver(fmt.Sprint(args[0])) {
			continue
		}
		if line == "" {
			line = caller()
		}
		c.From(begins(args), line)
	}
}

// module is what the import paths of this module's packages begin with.
const module = "github.com/lockladder/lockladder/"

// caller is the line of the lock that is running: the innermost one that belongs neither to the
// driver nor to what all locks share. A lock of another module is named by its whole import path.
func caller() string {
	var at stack
	deep := runtime.Callers(3, at[:])
	line, known := lines.Load(at)
	if !known {
		line, _ = lines.LoadOrStore(at, innermost(at[:deep]))
	}
	return line.(string)
}

// stack has the program counters of a goroutine's calls, the innermost first.
type stack [64]uintptr

// lines has the line of each stack that was seen: to name its functions takes longer
// than to execute most commands.
var lines sync.Map

// innermost finds the lock's line among the calls.
func innermost(counters []uintptr) string {
	frames := runtime.CallersFrames(counters)
	for {
		frame, more := frames.Next()
		slash := strings.LastIndexByte(frame.Function, '/') + 1
		name, _, _ := strings.Cut(frame.Function[slash:], ".")
		in, ours := strings.CutPrefix(frame.Function[:slash]+name, module)
		switch {
		case ours && !shared.MatchString(in), !ours && foreign(in):
			file := in + "/" + filepath.Base(frame.File)
			sources.LoadOrStore(file, frame.File)
			return fmt.Sprintf("%s:%d", file, frame.Line)
		case !more:
			return ""
		}
	}
}

// foreign says whether a package is of another module, and neither the driver's nor
// one of Go's own, whose paths have no dot in their first word. The module that is
// tested may have none either.
func foreign(in string) bool {
	host, _, _ := strings.Cut(in, "/")
	tested := testedModule()
	return strings.Contains(host, ".") && !strings.HasPrefix(in, "github.com/redis/") ||
		tested != "" && strings.HasPrefix(strings.TrimSuffix(in, "_test")+"/", tested+"/")
}

// testedModule is the path of the module that this program was built in.
var testedModule = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Path
})

// sources has the path on this machine of each file that a line has named.
var sources sync.Map

// Source is where a file of a lock's code is on this machine, by its name in a
// timeline, such as "gold/lock.go".
func Source(name string) (file string, ok bool) {
	found, _ := sources.Load(name)
	file, ok = found.(string)
	return file, ok
}

// shared are the packages of this module whose lines are no lock's.
var shared = regexp.MustCompile(`^(internal|lock|scenarios)(/|$)`)

// mustLive ends the calling goroutine when the process is dead.
func (c *Client) mustLive() {
	if c.Dead() {
		runtime.Goexit()
	}
}

// Env is the client's view of the world, for a lock at the given key.
func (c *Client) Env(key string, options ...lock.Option) lock.Env {
	return c.EnvOf(c.Name, key, options...)
}

// EnvOf is Env for one of several owners that share the client: its tokens and
// its jitter are its own.
func (c *Client) EnvOf(owner, key string, options ...lock.Option) lock.Env {
	w := c.world
	var tokens atomic.Int64
	return lock.Env{
		Nodes:   c.nodes,
		Process: c,
		Done:    w.ctx.Done(),
		Dial: func(_ context.Context, node int) (net.Conn, error) {
			return c.Dial(w.nodes[node])
		},
		Key: key,
		TTL: w.TTL,
		Now: func() time.Time { return time.Now().Add(w.Lasts(c.Skew)) },
		Options: append([]lock.Option{
			lock.Tokens(func() string {
				return fmt.Sprintf("%s#%d", owner, tokens.Add(1))
			}),
			lock.Seed(seed(owner)),
		}, options...),
	}
}

// Build makes one owner of the lock. A panic is an error, and so is no lock.
func Build(build lock.Build, env lock.Env) (l lock.Lock, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = order.Panicked("build", p)
		}
	}()
	if build == nil {
		return nil, errors.New("build is nil, it must make an owner of the lock")
	}
	l, err = build(env)
	if err != nil {
		return nil, fmt.Errorf("the lock can't be built: %w", err)
	}
	if v := reflect.ValueOf(l); !v.IsValid() ||
		v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("the lock can't be built: build returns neither" +
			" a lock nor an error")
	}
	return l, nil
}

// seed differs from client to client and is the same in every run.
func seed(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

func (c *Client) close() {
	for _, l := range c.listeners {
		l.Close()
	}
	for _, rdb := range c.nodes {
		rdb.Close()
	}
}

// Pause stops the process, or lets it go on. A stopped process has been told nothing.
func (c *Client) Pause(asleep bool) {
	c.asleep.Store(asleep)
	what := "wakes up"
	if asleep {
		what = "stops: the whole process"
	}
	c.Note("%s", what)
}

// Asleep says whether the process is stopped.
func (c *Client) Asleep() bool { return c.asleep.Load() }

// Go starts a script of the client; Play runs until all scripts have ended. A
// dead client's script ends where it stands.
func (c *Client) Go(script func()) {
	w := c.world
	w.running.Add(1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				w.Fail("%w", order.Panicked(c.Name, r))
			}
			w.running.Add(-1)
			w.order.Notice()
		}()
		script()
	}()
}

// Step waits for the client's turn and then does something that the world must see in order.
func (c *Client) Step(what string, do func()) {
	c.mustLive()
	if !c.world.order.Wait(order.Turn{Due: time.Now(), Client: c.Name, Node: -1, Text: what}) {
		runtime.Goexit()
	}
	c.mustLive()
	c.world.real.Take()
	defer c.world.real.Give()
	do()
}

// Quit ends the calling script.
func (c *Client) Quit() { runtime.Goexit() }

// Sleep lets the scenario's time pass. The client's turn comes after it, so the
// client sees everything that other scripts have done until then.
func (c *Client) Sleep(d time.Duration) {
	time.Sleep(c.world.Lasts(d))
	c.Step("goes on", func() {})
}

// Until waits for an event where no margin is wide enough for a busy machine.
// Where times are exact it does nothing. It gives up after some of the scenario's
// time; the rest of the scenario then shows whether that matters.
func (c *Client) Until(event func() bool, patience time.Duration) {
	c.world.real.Await(event, c.Dead, c.world.Lasts(patience))
	c.mustLive()
}

// EnterAs records that an owner in the client believes to hold the lock, until
// LeaveAs, the client's death, or until the channel tells that the lease is gone. One
// that reads shares it: others may read with it.
func (c *Client) EnterAs(owner string, shared bool, lost <-chan struct{}) *history.Holding {
	w := c.world
	h := w.log.Enter(c.Name, owner, c, shared, lost)
	if !w.nodes[0].SeesGrants() {
		for _, key := range w.Keys {
			w.log.Believe(c.Name, history.Place{Key: key}, w.nodes[0].Observe(key))
		}
	}
	return h
}

// LeaveAs records that the owner no longer believes to hold the lock.
func (c *Client) LeaveAs(owner string) { c.world.log.Leave(c.Name, owner) }

// OverlapAs says that the scenario isn't about this owner's overlap with others:
// it is seen among the believers, and no break of its own.
func (c *Client) OverlapAs(owner string) { c.world.log.Overlap(c.Name, owner) }

// Note records what the client does or is told.
func (c *Client) Note(format string, args ...any) {
	c.world.log.Note(c.Name, format, args...)
}
