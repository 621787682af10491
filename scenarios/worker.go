package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// A process that is to be killed, or stopped, must be a real one. On real servers
// the actors of such stories live in a worker: the test binary once more, which
// comes to Work instead of to the stories, and is told what to call on its lock.

// workerEnv holds the orders of a worker.
const workerEnv = "LOCKLADDER_WORKER"

// orders are what a worker builds its lock from.
type orders struct {
	Test  string // the test that runs the lock
	Nodes []lab.Entrance
	Key   string        // the lock
	TTL   time.Duration // its lease
	Poll  time.Duration // the pause between two attempts
	Node  time.Duration // the node timeout
}

// request is one call on the worker's lock.
type request struct {
	Call string        // TryLock, Lock or Unlock
	Left time.Duration // until the context's deadline; 0: none
}

// answer is what the call returned, or news.
type answer struct {
	LossNotifier, Fenced bool // with the first answer
	PID                  int  // and that of the worker
	Granted              bool
	Error                string // in one word, as outcome says it
	Token                uint64
	Lost                 bool // news: the lease is gone
}

// Work is where a worker process is one: it serves its parent and never returns.
// In any other process it does nothing. A test that runs the scenarios on real
// servers calls it first, with the lock that it will run.
func Work(t *testing.T, build Build) {
	t.Helper()
	text := os.Getenv(workerEnv)
	if text == "" {
		return
	}
	var o orders
	err := json.Unmarshal([]byte(text), &o)
	if err == nil && o.Test != t.Name() {
		t.SkipNow() // another lock's, whose name begins the same way
	}
	if err == nil {
		err = serve(o, build, os.Stdin, os.NewFile(3, "answers"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve does what the parent asks until it asks no more.
func serve(o orders, build Build, from io.Reader, to io.Writer) error {
	env := Env{Key: o.Key, TTL: o.TTL, Now: time.Now, Options: []lock.Option{
		lock.PollEvery(o.Poll), lock.NodeTimeout(o.Node)}}
	for _, node := range o.Nodes {
		if node.Store {
			continue
		}
		rdb := node.NewClient()
		if err := lab.Connect(context.Background(), rdb); err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		env.Nodes = append(env.Nodes, rdb)
	}
	env.Dial = func(ctx context.Context, node int) (net.Conn, error) {
		return o.Nodes[node].Dial(ctx, "")
	}
	l, err := build(env)
	if err != nil {
		return fmt.Errorf("build the lock: %w", err)
	}
	losable, isLossNotifier := l.(LossNotifier)
	fenced, isFenced := l.(Fenced)
	var writing sync.Mutex
	encoder := json.NewEncoder(to)
	say := func(a answer) error {
		writing.Lock()
		defer writing.Unlock()
		return encoder.Encode(a)
	}
	if err := say(answer{LossNotifier: isLossNotifier, Fenced: isFenced,
		PID: os.Getpid()}); err != nil {
		return err
	}
	decoder := json.NewDecoder(bufio.NewReader(from))
	for {
		var r request
		if err := decoder.Decode(&r); err != nil {
			return nil // the parent is done
		}
		ctx, cancel := context.WithCancel(context.Background())
		if r.Left > 0 {
			ctx, cancel = context.WithTimeout(context.Background(), r.Left)
		}
		var a answer
		switch r.Call {
		case "TryLock":
			a.Granted, err = l.TryLock(ctx)
		case "Lock":
			err = l.Lock(ctx)
			a.Granted = err == nil
		case "Unlock":
			err = l.Unlock(ctx)
		}
		cancel()
		a.Error = outcome(err)
		if isFenced {
			a.Token = fenced.Token()
		}
		if isLossNotifier && a.Granted {
			lost := losable.Lost()
			go func() { // ends with the process
				<-lost
				say(answer{Lost: true})
			}()
		}
		if err := say(a); err != nil {
			return err
		}
	}
}

// keeper lets a worker live as long as descriptor 4 is open. Its other end closes
// however the parent ends, and no worker outlives it, not even a stopped one.
const keeper = `
trap '' INT TERM HUP
exec 5<&0
"$@" <&5 4<&- 5<&- &
worker=$!
exec 5<&- 3>&-
cat <&4 >/dev/null
kill -9 $worker 2>/dev/null
wait $worker 2>/dev/null`

// worker is the parent's end of a worker process. It is the lock that the actor
// plays with.
type worker struct {
	cmd     *exec.Cmd   // its shell
	process *os.Process // itself
	alive   *os.File    // while it is open the worker lives
	orders  io.WriteCloser
	answers chan answer
	lost    chan struct{}
	token   uint64
}

// startWorker starts the test binary once more, for the same test.
func startWorker(t *testing.T, o orders) (*worker, answer, error) {
	// The subtest of the scenario is not there yet when Work is called.
	name := t.Name()
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	o.Test = name
	text, err := json.Marshal(o)
	if err != nil {
		return nil, answer{}, fmt.Errorf("write the orders: %w", err)
	}
	args := append([]string{}, os.Args[1:]...)
	args = append(args, "-test.run=^"+strings.ReplaceAll(name, "/", "$/^")+"$",
		"-test.count=1", "-test.v=false")
	w := &worker{cmd: exec.Command("sh", append([]string{"-c", keeper, "keeper",
		os.Args[0]}, args...)...),
		answers: make(chan answer, 4), lost: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	w.cmd.Stderr = os.Stderr
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, answer{}, fmt.Errorf("start a worker: %w", err)
	}
	life, alive, err := os.Pipe()
	if err != nil {
		ours.Close()
		theirs.Close()
		return nil, answer{}, fmt.Errorf("start a worker: %w", err)
	}
	w.alive = alive
	w.cmd.ExtraFiles = []*os.File{theirs, life}
	if w.orders, err = w.cmd.StdinPipe(); err == nil {
		err = w.cmd.Start()
	}
	theirs.Close()
	life.Close()
	if err != nil {
		ours.Close()
		alive.Close()
		return nil, answer{}, fmt.Errorf("start a worker: %w", err)
	}
	go w.read(ours)
	first, ok := <-w.answers
	if !ok {
		w.kill()
		return nil, answer{}, errors.New("a worker ended at once")
	}
	if w.process, err = os.FindProcess(first.PID); err != nil {
		w.kill()
		return nil, answer{}, fmt.Errorf("find a worker: %w", err)
	}
	return w, first, nil
}

// read passes answers on until the worker ends.
func (w *worker) read(from io.ReadCloser) {
	defer from.Close()
	defer close(w.answers)
	decoder := json.NewDecoder(from)
	for {
		var a answer
		if decoder.Decode(&a) != nil {
			return
		}
		if a.Lost {
			close(w.lost)
			continue
		}
		w.answers <- a
	}
}

// kill ends the worker as kill -9 does, and joins it.
func (w *worker) kill() {
	if w.process != nil {
		w.process.Kill()
	}
	w.alive.Close()
	w.orders.Close()
	w.cmd.Wait()
}

// call is one call on the worker's lock. A worker that dies meanwhile leaves the
// caller to the story, which ends its script.
func (w *worker) call(ctx context.Context, what string) (bool, error) {
	r := request{Call: what}
	if end, ok := ctx.Deadline(); ok {
		r.Left = time.Until(end)
	}
	if err := json.NewEncoder(w.orders).Encode(r); err != nil {
		return false, fmt.Errorf("ask a worker: %w", err)
	}
	a, ok := <-w.answers
	if !ok {
		return false, errors.New("the worker died")
	}
	w.token = a.Token
	return a.Granted, inWords(a.Error)
}

// inWords is the error that outcome puts into a word.
func inWords(word string) error {
	for _, known := range outcomes {
		if known.name == word {
			return known.err
		}
	}
	if word == "ok" {
		return nil
	}
	return errors.New(word)
}

func (w *worker) TryLock(ctx context.Context) (bool, error) {
	return w.call(ctx, "TryLock")
}

func (w *worker) Lock(ctx context.Context) error {
	_, err := w.call(ctx, "Lock")
	return err
}

func (w *worker) Unlock(ctx context.Context) error {
	_, err := w.call(ctx, "Unlock")
	return err
}

// asOffered is the worker's lock with the features that its lock offers.
func (w *worker) asOffered(first answer) lock.Lock {
	switch {
	case first.LossNotifier && first.Fenced:
		return struct {
			*worker
			losableWorker
			fencedWorker
		}{w, losableWorker{w}, fencedWorker{w}}
	case first.LossNotifier:
		return struct {
			*worker
			losableWorker
		}{w, losableWorker{w}}
	case first.Fenced:
		return struct {
			*worker
			fencedWorker
		}{w, fencedWorker{w}}
	}
	return w
}

type losableWorker struct{ of *worker }

func (l losableWorker) Lost() <-chan struct{} { return l.of.lost }

type fencedWorker struct{ of *worker }

func (f fencedWorker) Token() uint64 { return f.of.token }
