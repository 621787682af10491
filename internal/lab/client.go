package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Call is what a client is doing when it sends a command.
type Call string

// The calls of a lock. What is sent outside of a call is sent by the lock on its
// own account.
const (
	Acquire Call = "acquire"
	Release Call = "release"
	Renewal Call = "renewal"
)

// Fault is what happens to one command. Times are virtual, since the beginning.
type Fault struct {
	Deliver     time.Duration // when the request reaches the node
	Answer      time.Duration // when the reply reaches the client
	AnswerAfter time.Duration // how long the reply takes, from the sending
	LoseReply   bool          // executed; the connection breaks, not a reply
	Refuse      bool          // the connection breaks before it is sent
	Hang        bool          // it is never executed, and never answered
	CrashBefore bool          // the client dies instead of sending it
	CrashAfter  bool          // executed; the client dies before the reply

	// IfSent says that the story is the same when there is no such command.
	IfSent bool

	// Until is the event that Deliver or Answer stands for: in real time the
	// command, or the reply, is held until it has happened.
	Until func() bool
}

// happens says whether anything happens at all.
func (f Fault) happens() bool {
	return f.Deliver > 0 || f.Answer > 0 || f.AnswerAfter > 0 || f.LoseReply ||
		f.Refuse || f.Hang || f.CrashBefore || f.CrashAfter
}

// hold keeps a command or a reply back until its event, in real time.
func (c *Client) hold(f Fault) {
	if f.Until != nil {
		c.await(f.Until, 3*c.world.told(c.world.TTL)/2)
	}
}

// Client is one process with its connections to every node.
type Client struct {
	Name  string
	Skew  time.Duration // how far its own clock is ahead
	Far   time.Duration // how much longer than the others' its messages travel
	world *World
	nodes []redis.UniversalClient

	process   *os.Process // where the client lives in a process of its own
	end       func()      // kills and joins it
	listeners []net.Listener

	dead    atomic.Bool
	cuts    sync.Mutex // windows: connections of real stores live on beside the story
	windows []*window
	counts  sync.Mutex // guards what follows: on real servers all go on at once
	faults  map[fated]Fault
	always  Fault
	call    Call
	sent    map[Call]int
	decided map[Call]int // see Decided

	steered // see Steer
}

type fated struct {
	call Call
	nth  int
}

// window is a time in which nothing passes between the client and the network.
type window struct {
	from, to time.Duration
	open     atomic.Bool // in real time only after an event
}

// errDead is what a dead client's driver is told; no lock code ever sees it.
var errDead = errors.New("the process has died")

// Client makes a client of that name. Names order those who act at one instant.
func (w *World) Client(name string) *Client {
	c := &Client{Name: name, world: w, call: Renewal,
		faults: map[fated]Fault{}, sent: map[Call]int{},
		decided: map[Call]int{}}
	for _, n := range w.nodes {
		if n.store() != nil {
			continue // its driver comes by Dial
		}
		rdb := w.newClient(n, c)
		rdb.AddHook(mortal{c})
		c.nodes = append(c.nodes, rdb)
	}
	w.clients = append(w.clients, c)
	return c
}

// newClient makes a client's driver for a node.
func (w *World) newClient(n *Node, c *Client) redis.UniversalClient {
	if w.Driver == nil || w.real() {
		return n.way().NewClient(
			func(_ context.Context, addr string) (net.Conn, error) {
				return c.dial(n, addr)
			})
	}
	o := single(func(context.Context, string, string) (net.Conn, error) {
		return c.dial(n, "")
	})
	w.Driver(o)
	return redis.NewClient(o)
}

// Dial connects the client to a node, for drivers that bring their own pool.
func (c *Client) Dial(n *Node) (net.Conn, error) { return c.dial(n, "") }

// dial connects to a node at one of its addresses; "" is the node's own.
func (c *Client) dial(n *Node, addr string) (net.Conn, error) {
	if c.dead.Load() {
		return nil, errDead
	}
	n.mu.Lock()
	refusing := n.refusing
	n.mu.Unlock()
	if refusing {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return connect(c, n, addr)
}

// mortal fails the commands of a dead process, and when the world has ended it
// ends the goroutines that still send some. To end them at once would leave
// behind those that wait for their answers: a lock may ask from goroutines of
// its own.
type mortal struct{ client *Client }

func (m mortal) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m mortal) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return m.process(func() error { return next(ctx, cmd) }, cmd)
	}
}

func (m mortal) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return m.process(func() error { return next(ctx, cmds) }, cmds...)
	}
}

func (m mortal) process(next func() error, cmds ...redis.Cmder) error {
	var err error
	if !m.client.dead.Load() {
		err = next()
	}
	if !m.client.dead.Load() {
		return err
	}
	if m.client.world.over.Load() {
		runtime.Goexit()
	}
	time.Sleep(time.Second) // for who asks again at once, for ever
	for _, cmd := range cmds {
		cmd.SetErr(errDead)
	}
	return errDead
}

// mustLive ends the calling goroutine when the process is dead.
func (c *Client) mustLive() {
	if c.dead.Load() {
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
	tokens := 0
	return lock.Env{
		Nodes:   c.nodes,
		Process: c,
		Dial: func(_ context.Context, node int) (net.Conn, error) {
			return c.Dial(w.nodes[node])
		},
		Key: key,
		TTL: w.TTL,
		Now: func() time.Time { return time.Now().Add(w.lasts(c.Skew)) },
		Options: append([]lock.Option{
			lock.Tokens(func() string {
				tokens++
				return fmt.Sprintf("%s#%d", owner, tokens)
			}),
			lock.Seed(seed(owner)),
		}, options...),
	}
}

// seed differs from client to client and is the same in every run.
func seed(name string) uint64 {
	var s uint64 = 14695981039346656037
	for _, b := range []byte(name) {
		s = (s ^ uint64(b)) * 1099511628211
	}
	return s
}

// Crash ends the process: it sends nothing more, ever.
func (c *Client) Crash() {
	if c.kill() {
		c.world.leave(c, "")
		c.world.record(&Entry{Client: c.Name, Text: "dies", Node: -1})
	}
}

// kill is Crash without a word.
func (c *Client) kill() bool {
	if c.dead.Swap(true) {
		return false
	}
	if c.end != nil {
		c.end()
	}
	for _, n := range c.world.nodes {
		n.mu.Lock()
		var conns []*conn
		for k := range n.conns {
			if k.client == c {
				conns = append(conns, k)
			}
		}
		n.mu.Unlock()
		for _, k := range conns {
			k.close()
		}
	}
	return true
}

func (c *Client) close() {
	for _, l := range c.listeners {
		l.Close()
	}
	for _, rdb := range c.nodes {
		rdb.Close()
	}
}

// Lives says in which process the client lives, and how to end it.
func (c *Client) Lives(process *os.Process, end func()) {
	c.process, c.end = process, end
}

// Stop stops the client's process for a time: a real one by a signal, a virtual
// one by holding everything that it sends and receives. A real one is not stopped
// before the event: on a busy machine it may not have come so far.
func (c *Client) Stop(from, to time.Duration, event func() bool) {
	if c.process == nil {
		c.Hold(from, to, event)
		return
	}
	time.AfterFunc(time.Until(c.world.moment(from)), func() {
		c.await(event, c.world.told(c.world.TTL))
		pause(c.process)
	})
	time.AfterFunc(time.Until(c.world.moment(to)), func() { resume(c.process) })
}

// Hold lets nothing pass between the client and the network in a time: a
// process that is stopped, or a cut cable. What was sent meanwhile arrives late.
// In real time it does not begin before the event: on a busy machine the client may
// not have come so far.
func (c *Client) Hold(from, to time.Duration, event func() bool) {
	h := &window{from: from, to: to}
	c.cuts.Lock()
	c.windows = append(c.windows, h)
	c.cuts.Unlock()
	if !c.world.real() {
		h.open.Store(true)
		return
	}
	time.AfterFunc(time.Until(c.world.moment(from)), func() {
		c.await(event, c.world.told(c.world.TTL))
		h.open.Store(true)
	})
}

// held is when the window ends in which the client is now; the zero time when it
// is in none.
func (c *Client) held() time.Time {
	c.cuts.Lock()
	defer c.cuts.Unlock()
	for _, h := range c.windows {
		if !h.open.Load() {
			continue // and the story may not have begun
		}
		if now := c.world.Now(); h.from <= now && now < h.to {
			return c.world.moment(h.to)
		}
	}
	return time.Time{}
}

// Fault decides the fate of one command: the n-th that the client sends in the
// next call of that kind which has so many, counted from 1.
func (c *Client) Fault(call Call, nth int, f Fault) {
	c.counts.Lock()
	defer c.counts.Unlock()
	c.faults[fated{call, nth}] = f
}

// Always decides the fate of every command that has no fate of its own.
func (c *Client) Always(f Fault) {
	c.counts.Lock()
	defer c.counts.Unlock()
	c.always = f
}

// latency is how long anything is on its way between the client and a node.
func (c *Client) latency() time.Duration {
	return c.world.Latency + c.world.lasts(c.Far)
}

// fate counts a command and looks up what happens to it.
func (c *Client) fate() Fault {
	c.counts.Lock()
	defer c.counts.Unlock()
	if !c.world.recording {
		c.sent[c.call]++
		return Fault{}
	}
	c.sent[c.call]++
	nth := fated{c.call, c.sent[c.call]}
	if f, ok := c.faults[nth]; ok {
		delete(c.faults, nth)
		return f
	}
	return c.always
}

// Begin says what the client does from now on; commands are counted anew.
func (c *Client) Begin(call Call) {
	c.counts.Lock()
	defer c.counts.Unlock()
	c.call = call
	if call != Renewal {
		c.sent[call], c.decided[call] = 0, 0
	}
}

// Decided is which command of the newest call of a kind was the first to change
// the lock, counted from 1; 0 when none has.
func (c *Client) Decided(call Call) int {
	c.counts.Lock()
	defer c.counts.Unlock()
	return c.decided[call]
}

// decides notes that the command under way has changed the lock.
func (c *Client) decides() {
	c.counts.Lock()
	defer c.counts.Unlock()
	if c.decided[c.call] == 0 {
		c.decided[c.call] = c.sent[c.call]
	}
}

// calls is what the client is doing.
func (c *Client) calls() Call {
	c.counts.Lock()
	defer c.counts.Unlock()
	return c.call
}

// Unfired says whether a fate was decided for a command that was never sent,
// and that the story can't do without.
func (w *World) Unfired() bool {
	for _, c := range w.clients {
		if c.unfired() {
			return true
		}
	}
	return false
}

func (c *Client) unfired() bool {
	c.counts.Lock()
	defer c.counts.Unlock()
	for _, f := range c.faults {
		if f.happens() && !f.IfSent {
			return true
		}
	}
	return false
}

// Sent is how many commands the client has sent in the newest call of a kind, or
// on its own account since the story began.
func (c *Client) Sent(call Call) int {
	c.counts.Lock()
	defer c.counts.Unlock()
	return c.sent[call]
}

// Go starts a script of the client; Play runs until all scripts have ended. A
// dead client's script ends where it stands.
func (c *Client) Go(script func()) {
	w := c.world
	w.running.Add(1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				w.Fail("%s panicked in %s: %v", c.Name, panicked(), r)
			}
			w.running.Add(-1)
			w.gate.notice()
		}()
		script()
	}()
}

// Step waits for the client's turn at the gate and then does something that the
// world must see in order.
func (c *Client) Step(what string, do func()) {
	c.mustLive()
	if !c.world.gate.wait(time.Now(), c.Name, -1, what) {
		runtime.Goexit()
	}
	c.mustLive()
	c.world.take()
	defer c.world.give()
	do()
}

// Quit ends the calling script.
func (c *Client) Quit() { runtime.Goexit() }

// Sleep lets virtual time pass. The gate comes after it: what other scripts have
// done until then is seen.
func (c *Client) Sleep(d time.Duration) {
	time.Sleep(c.world.lasts(d))
	c.Step("goes on", func() {})
}

// Enter records that the client believes to hold the lock, until Leave, its
// death, or until the channel tells that the lease is gone.
func (c *Client) Enter(lost <-chan struct{}) *Holding {
	return c.EnterAs(c.Name, lost)
}

// EnterAs is Enter for one of several owners that share the client.
func (c *Client) EnterAs(owner string, lost <-chan struct{}) *Holding {
	return c.world.enter(c, owner, lost)
}

// Leave records that the client no longer believes to hold the lock.
func (c *Client) Leave() { c.LeaveAs(c.Name) }

// LeaveAs is Leave for one of several owners that share the client.
func (c *Client) LeaveAs(owner string) { c.world.leave(c, owner) }
