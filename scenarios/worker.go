package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// A process that is to be killed, or stopped, must be a real one. On real servers the
// actors of such scenarios live in a worker: the test binary once more, which comes to
// Work instead of to the scenarios, and is a lock behind the protocol of package protocol.

// workerOf begins the name of a worker's process. The name of its test follows.
const workerOf = "worker of "

// entrances is the environment variable that tells a worker where its nodes are.
const entrances = "LOCKLADDER_NODES"

// Work is where a worker process is one: it serves its parent and never returns.
// In any other process it does nothing. A test that runs the scenarios on real
// servers calls it first, with the lock that it will run.
func Work(t *testing.T, build Build) {
	t.Helper()
	name, ok := strings.CutPrefix(process.Name(), workerOf)
	if !ok {
		return
	}
	if name != t.Name() {
		t.SkipNow() // another lock's, whose name begins the same way
	}
	signal.Ignore(os.Interrupt) // a terminal's Ctrl-C is for the parent
	out := os.Stdout
	os.Stdout = os.Stderr // what a test prints is no answer
	if err := work(out, build); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", process.Name(), err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work serves the parent until it asks no more.
func work(out io.Writer, build Build) error {
	var nodes []lab.Entrance
	if err := json.Unmarshal([]byte(os.Getenv(entrances)), &nodes); err != nil {
		return fmt.Errorf("understand %s: %w", entrances, err)
	}
	var clients []redis.UniversalClient
	for _, n := range nodes {
		if n.Store {
			continue
		}
		rdb := n.NewClient()
		if err := node.Connect(context.Background(), rdb); err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		clients = append(clients, rdb)
	}
	return protocol.Serve(parent{}, out, protocol.Answer{}, func(env Env) (Lock, error) {
		env.Nodes = clients
		env.Dial = func(ctx context.Context, node int) (net.Conn, error) {
			return nodes[node].Dial(ctx, "")
		}
		return build(env)
	})
}

// parent is the standard input, whose end is the parent's. A lock that doesn't end its
// calls then has five seconds.
type parent struct{}

func (parent) Read(b []byte) (int, error) {
	n, err := os.Stdin.Read(b)
	if err != nil {
		time.AfterFunc(5*time.Second, func() { os.Exit(1) })
	}
	return n, err
}

// startProcess lets the actor live in a worker from now on: the test binary, started once
// more for the same test.
func (a *actor) startProcess() error {
	s := a.run
	nodes, err := a.process.Listen()
	if err != nil {
		return err
	}
	where, err := json.Marshal(nodes)
	if err != nil {
		return err
	}
	// The subtest of the scenario is not there yet when Work is called.
	name := s.t.Name()
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	args := append(os.Args[1:len(os.Args):len(os.Args)],
		"-test.run=^"+strings.ReplaceAll(name, "/", "$/^")+"$",
		"-test.count=1", "-test.v=false")
	p, err := protocol.Again(append(process.Environment(workerOf+name),
		entrances+"="+string(where)), args...)
	if err != nil {
		return err
	}
	a.lock, err = p.Build(Env{Key: s.Key, TTL: s.TTL, Options: s.allOptions(),
		Process: a.process})
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	return nil
}
