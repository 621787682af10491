package imports

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/lock"
)

// A worker process is the program once more, which comes to Serve instead of to
// its own work. It ends when its standard input does: however the process ends
// that has started it, no worker outlives it.

// workerEnv says that a process is a worker. Its orders come by standard input:
// they have a password in them.
const workerEnv = "LOCKLADDER_IMPORT_WORKER"

// readyWithin is how long a process may take until it works.
const readyWithin = 20 * time.Second

// ready is what a worker says when it works.
const ready = "ready\n"

// Serve is where a worker process is one: it works and never returns. In any
// other process it does nothing. A program that calls Launch calls it first. Find
// knows the locks by their names.
func Serve(find func(rung string) (lock.Build, error)) {
	if os.Getenv(workerEnv) == "" {
		return
	}
	// What a terminal sends to all of its processes is the parent's to answer.
	signal.Ignore(os.Interrupt)
	if err := serve(find, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(find func(string) (lock.Build, error), parent io.Reader,
	answer io.Writer) error {
	var o Orders
	if err := json.NewDecoder(parent).Decode(&o); err != nil {
		return fmt.Errorf("read a worker's orders: %w", err)
	}
	build, err := find(o.Rung)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process
		io.Copy(io.Discard, parent)
		cancel()
		time.Sleep(endWithin)
		os.Exit(1) // the work does not end with its context
	}()
	servers, err := benchmark.Connect(ctx, o.Addresses,
		benchmark.Config{Clients: 1, Password: o.Password})
	if err != nil {
		return err
	}
	var nodes []redis.UniversalClient
	for node := range o.Nodes {
		nodes = append(nodes, servers.Client(node, 8))
	}
	if _, err := io.WriteString(answer, ready); err != nil {
		return fmt.Errorf("answer the parent: %w", err)
	}
	return o.worker(nodes, build).Run(ctx)
}

// process is the parent's end of a worker process.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	kill   func()
	done   chan struct{}
	err    error
}

// Launch starts a worker as a process and returns when it works. The program's
// main calls Serve.
func Launch(o Orders) (Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program: %w", err)
	}
	p := &process{cmd: exec.Command(self), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), workerEnv+"=1")
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.stdin = stdin
	// A process that ends before it reads them says why itself.
	json.NewEncoder(stdin).Encode(o)
	p.kill = sync.OnceFunc(func() { p.cmd.Process.Kill() })
	late := time.AfterFunc(readyWithin, p.kill)
	said, _ := bufio.NewReader(stdout).ReadString('\n')
	late.Stop()
	go func() { // ends with the process, which End, Kill and the pipe see to
		defer close(p.done)
		p.err = p.cmd.Wait()
		stdin.Close()
	}()
	if said != ready {
		p.kill()
		<-p.done
		return nil, p.Err()
	}
	return p, nil
}

func (p *process) Kill()                 { p.kill() }
func (p *process) End()                  { p.stdin.Close() }
func (p *process) Done() <-chan struct{} { return p.done }

// Err is the last line that the process has written, or how it has ended.
func (p *process) Err() error {
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return errors.New(last)
	}
	return p.err
}
