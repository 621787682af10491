package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers/proxy"
	"github.com/lockladder/lockladder/lock"
)

// Keys are the Redis keys that stand for the lock of a name.
func (p *Program) Keys(key string) []string {
	if p.hello.Keys == nil {
		return []string{key}
	}
	return named(p.hello.Keys, key)
}

// Keeps are those that stay on purpose when nobody holds the lock of a name.
func (p *Program) Keeps(key string) []string { return named(p.hello.Keeps, key) }

// Readers is the sorted set of its readers, "" when there is none.
func (p *Program) Readers(key string) string {
	return named([]string{p.hello.Readers}, key)[0]
}

// Nodes is how many independent servers the lock needs.
func (p *Program) Nodes() int { return max(p.hello.Servers, 1) }

// Failed is closed when a process of the program has misbehaved; Err says how.
func (p *Program) Failed() <-chan struct{} { return p.fails }

// Err is the first misbehavior, nil before there is one.
func (p *Program) Err() error {
	p.failing.Lock()
	defer p.failing.Unlock()
	return p.failed
}

// fail notes a misbehavior.
func (p *Program) fail(err error) {
	p.failing.Lock()
	defer p.failing.Unlock()
	if p.failed == nil {
		p.failed = err
		close(p.fails)
	}
}

// Close ends all processes of the program. No other one is started.
func (p *Program) Close() {
	p.mu.Lock()
	p.closed = true
	running := p.processes
	p.processes = map[any]*conversation{}
	p.mu.Unlock()
	for _, c := range running {
		c.kill()
	}
}

// allKeys are all keys that a lock of the name may leave.
func (p *Program) allKeys(key string) []string {
	keys := slices.Concat(p.Keys(key), p.Keeps(key))
	if readers := p.Readers(key); readers != "" {
		keys = append(keys, readers)
	}
	return keys
}

// named are the keys of the lock of a name.
func named(forms []string, key string) []string {
	var keys []string
	for _, form := range forms {
		keys = append(keys, strings.ReplaceAll(form, KeyOf, key))
	}
	return keys
}

// living is the process of a scenario that can be told in which process of the
// system it lives: it is then stopped and killed with it, and ends with its world.
type living interface {
	Lives(process *os.Process, end func())
}

// Build makes an owner of the lock that env names, in the program's process that
// stands for env.Process, which is started if it isn't running. The program reaches
// each node through a port of its own. It is a lock.Build.
func (p *Program) Build(env lock.Env) (lock.Lock, error) {
	c, err := p.process(env)
	if err != nil {
		return nil, err
	}
	return c.build(env)
}

// process is the conversation with the process that stands for env.Process, which
// has said hello.
func (p *Program) process(env lock.Env) (*conversation, error) {
	c, begins, err := p.find(env.Process)
	if err != nil {
		return nil, err
	}
	if !begins {
		<-c.greeted // if it has not, its next request says so
		return c, nil
	}
	defer close(c.greeted)
	key := cmp.Or[any](env.Process, c)
	end := func() {
		c.kill()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.processes, key)
	}
	if client, ok := env.Process.(living); ok {
		client.Lives(c.cmd.Process, end)
	}
	nodes, err := c.nodes(env)
	var offers Answer
	if err == nil {
		offers, err = c.hello(nodes)
	}
	if err != nil {
		end()
		return nil, err
	}
	if p.hello.Type == "" { // it wasn't tried out
		p.hello = offers
	}
	return c, nil
}

// find is the conversation with a process, which begins if there is none.
func (p *Program) find(process any) (c *conversation, begins bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errors.New("the program was closed")
	}
	if process != nil && p.processes[process] != nil {
		return p.processes[process], false, nil
	}
	if c, err = p.start(); err != nil {
		return nil, false, err
	}
	p.processes[cmp.Or[any](process, c)] = c
	return c, true, nil
}

// nodes opens a port for each node, which leads to it through env.Dial, so that a
// scenario's faults of the network are the program's too.
func (c *conversation) nodes(env lock.Env) ([]Node, error) {
	var nodes []Node
	for i, rdb := range env.Nodes {
		node := Node{Address: "127.0.0.1:0"}
		if client, ok := rdb.(*redis.Client); ok {
			o := client.Options()
			node = Node{Address: o.Addr, User: o.Username, Password: o.Password}
		}
		if env.Dial != nil {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, fmt.Errorf("listen for the program: %w", err)
			}
			c.listeners = append(c.listeners, l)
			node.Address = l.Addr().String()
			go proxy.Forward(l, func() (net.Conn, error) { // ends with the listener
				return env.Dial(context.Background(), i)
			})
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// hello is the first exchange with a process.
func (c *conversation) hello(nodes []Node) (Answer, error) {
	within := c.program.patience.hello
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	a, err := c.ask(ctx, Request{Type: Hello, Protocol: Version, Nodes: nodes})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = c.misbehaves("says no hello within %v: does it flush its lines?", within)
	case err == nil && a.Type != Hello:
		err = c.misbehaves("answers hello with %q, it must answer with \"type\":\"hello\"", a.line)
	case err == nil && a.Protocol != Version:
		err = c.misbehaves("speaks version %d of the protocol, this is version %d:"+
			" %q", a.Protocol, Version, a.line)
	}
	if err != nil {
		return a, err
	}
	for _, f := range a.Features {
		if !slices.Contains(Features, f) {
			return a, c.misbehaves("offers %q, the features are %s", f, strings.Join(Features, ", "))
		}
	}
	return a, nil
}
