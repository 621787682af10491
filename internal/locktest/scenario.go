package locktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/lock"
)

// Key is the name of the lock, and Lease its lease where a test chooses none.
const (
	Key   = "stock"
	Lease = 10 * time.Second
)

// Config is what a scenario is about.
type Config struct {
	Build   lock.Build
	Nodes   int           // 0: one
	TTL     time.Duration // 0: Lease
	Latency time.Duration // of every message
	Options []lock.Option // of every owner

	// Processes have locked before the scenario begins, so that the server
	// knows the lock's scripts, that of the renewal as well.
	Processes []string
}

// Scenario is a world with owners in it.
type Scenario struct {
	*lab.World
	Served []string // the owners that were granted the lock, in order
	Tokens []uint64 // and their fencing tokens, of a lock that has some

	// Forgot says that the server has lost the lock, so that two processes may
	// both believe they hold it.
	Forgot bool

	t         *testing.T
	config    Config
	processes []*Process
	owners    []*Owner
	inside    []*Owner
}

// Process is one client of the lab: all of its owners use the same rdb values.
type Process struct {
	*lab.Client
	scenario *Scenario
	env      lock.Env      // its owners share its tokens, too
	driven   *redis.Client // a driver with settings of its own, nil for the lab's
}

// Run runs a scenario in a world of virtual time, and then looks for what a
// lock may never do: a foreign release, or two owners that believe they hold it.
func Run(t *testing.T, c Config, script func(*Scenario)) {
	t.Helper()
	if c.TTL == 0 {
		c.TTL = Lease
	}
	config := lab.Config{Nodes: max(c.Nodes, 1), Key: Key, TTL: c.TTL,
		Latency: c.Latency}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s := &Scenario{World: w, t: t, config: c}
		for _, name := range c.Processes {
			s.Process(name).Warm()
		}
		s.Record()
		script(s)
		s.Play()
		for _, p := range s.processes {
			if p.driven != nil {
				assert.NoError(t, p.driven.Close())
			}
		}
		for _, b := range w.Breaks(history.ForeignRelease) {
			t.Error(b)
		}
		assert.Empty(t, w.Failures())
		if t.Failed() {
			t.Log("\n" + w.Render(-1))
		}
	}))
}

// Process is the process of that name.
func (s *Scenario) Process(name string) *Process {
	for _, p := range s.processes {
		if p.Name == name {
			return p
		}
	}
	p := &Process{Client: s.Client(name), scenario: s}
	p.env = p.Env(Key, s.config.Options...)
	s.processes = append(s.processes, p)
	return p
}

// Owner makes an owner of the lock. Its name is its process's and a number, which is also how
// many milliseconds it begins after the others: ties decide nothing.
func (s *Scenario) Owner(name string, options ...lock.Option) *Owner {
	return s.OwnerOf(Key, name, options...)
}

// OwnerOf makes an owner of another lock.
func (s *Scenario) OwnerOf(key, name string, options ...lock.Option) *Owner {
	process := strings.TrimRight(name, "0123456789")
	n, _ := strconv.Atoi(name[len(process):])
	o := &Owner{Process: s.Process(process), Name: name, key: key}
	o.Lock = o.Build(key, options...)
	o.then(func(located) { o.Sleep(time.Duration(n) * time.Millisecond) })
	s.owners = append(s.owners, o)
	return o
}

// Play starts the scripts that were not started yet, and plays until all of them have ended.
func (s *Scenario) Play() {
	for _, o := range s.owners {
		if o.begun || len(o.script) == 0 {
			continue
		}
		o.begun = true
		o.Go(func() {
			for _, step := range o.script {
				step()
			}
		})
	}
	s.World.Play()
}

// Serves plays the scripts. Owners are granted the lock in this order, and nobody else is.
func (s *Scenario) Serves(names ...string) {
	s.t.Helper()
	s.Play()
	assert.Equal(s.t, names, s.Served)
}

// Before is how many grants there were before that owner's first one.
func (s *Scenario) Before(name string) int { return slices.Index(s.Served, name) }

// Operator does something to the server at a moment, which is no client's doing.
func (s *Scenario) Operator(at time.Duration, what string, do func(n *lab.Node)) {
	o := s.Client("~")
	o.Go(func() {
		o.Sleep(at - s.Now())
		o.Step(what, func() { do(s.Node(0)) })
	})
}

// Deletes is an operator who deletes the lock: the server has lost it.
func (s *Scenario) Deletes(at time.Duration) {
	s.Forgot = true
	s.Operator(at, "deletes", func(n *lab.Node) { n.Delete() })
}

// Build makes one more handle, or a lock of another name, in this process.
func (p *Process) Build(key string, options ...lock.Option) lock.Lock {
	env := p.env
	env.Key = key
	return p.build(env, options)
}

func (p *Process) build(env lock.Env, options []lock.Option) lock.Lock {
	env.Options = append(slices.Clone(env.Options), options...)
	l, err := p.scenario.config.Build(env)
	require.NoError(p.scenario.t, err)
	return l
}

// Redis is the client for the first node.
func (p *Process) Redis() redis.UniversalClient { return p.env.Nodes[0] }

// Warm makes the server know the lock's scripts, and connects the process.
func (p *Process) Warm() {
	s := p.scenario
	p.Go(func() {
		l := p.Build(Key + ":warm")
		require.NoError(s.t, l.Lock(s.Context()))
		p.Sleep(s.TTL * 2 / 5) // until it is renewed
		require.NoError(s.t, l.Unlock(s.Context()))
	})
	s.World.Play()
}

// Driven gives the process a driver that repeats commands, waits and dials as go-redis does when
// nobody sets anything, wrapped by the application; the lab's clients do none of that. It is to
// be called before the process has owners. Wrap may be nil, or stands between the driver and its
// connections.
func (p *Process) Driven(wrap func(net.Conn) net.Conn) *Process {
	p.driven = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", // never dialed
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			c, err := p.Dial(p.scenario.Node(0))
			if err != nil || wrap == nil {
				return c, err
			}
			return wrap(c), nil
		},
		// Beside the point, and they send commands of their own.
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled},
	})
	p.env.Nodes = []redis.UniversalClient{&application{p.driven}}
	return p
}

// application is a client in a type of an application's own.
type application struct{ *redis.Client }

// CrashesAt ends the process at a moment, with all of its owners.
func (p *Process) CrashesAt(moment time.Duration) {
	p.Go(func() {
		p.Sleep(moment - p.scenario.Now())
		p.Step("dies", p.dies)
	})
}

func (p *Process) dies() {
	p.scenario.inside = slices.DeleteFunc(p.scenario.inside,
		func(o *Owner) bool { return o.Process == p })
	p.Crash()
}

// Commands are what the process has sent, publish/subscribe left out.
func (p *Process) Commands() (commands []string) {
	for _, e := range p.scenario.Timeline() {
		if e.Client == p.Name && e.Command != "" &&
			!strings.Contains(e.Command, "SUBSCRIBE") {
			commands = append(commands, e.Text)
		}
	}
	return commands
}

// Asked counts the commands with a text that the process has sent since a moment.
func (p *Process) Asked(text string, since time.Duration) (n int) {
	for _, e := range p.scenario.Timeline() {
		if e.Client == p.Name && e.At >= since && strings.Contains(e.Text, text) {
			n++
		}
	}
	return n
}

// located reports a failure with the line of the test that the step stands in,
// because the step runs long after it.
type located struct {
	*testing.T
	line string
}

func (l located) Errorf(format string, args ...any) {
	l.T.Helper()
	l.T.Errorf("%s: %s", l.line, fmt.Sprintf(format, args...))
}

// ErrUnknown stands for an error that leaves the outcome open, such as one of
// the network: it is not lock.ErrNotHeld.
var ErrUnknown = errors.New("an error that leaves the outcome open")

// expect compares a call's error with the one that a test wants, none by default.
func expect(t located, call string, err error, want []error) {
	t.Helper()
	switch {
	case len(want) == 0:
		assert.NoError(t, err, call)
	case want[0] == ErrUnknown:
		assert.Error(t, err, call)
		assert.NotErrorIs(t, err, lock.ErrNotHeld, call)
	default:
		assert.ErrorIs(t, err, want[0], call)
	}
}

// Around is a client's hook that is called with each command, and sends it with
// send. Pipelines pass it by.
type Around func(cmd redis.Cmder, send func() error) error

// DialHook leaves dialing alone.
func (Around) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook calls the function.
func (a Around) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return a(cmd, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook leaves pipelines alone.
func (Around) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
