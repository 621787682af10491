package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
)

// A process that is to be killed, or stopped, must be a real one. On real
// servers the actors of such scenarios live in a worker: the test binary once
// more, which comes to Work instead of to the scenarios, and is told what to
// call on its lock.

// workerOf begins the name of a worker's process. The name of its test follows.
const workerOf = "worker of "

// orders are what a worker builds its lock from.
type orders struct {
	Nodes []lab.Entrance
	Key   string        // the lock
	TTL   time.Duration // its lease
	Poll  time.Duration // the pause between two attempts
	Node  time.Duration // the node timeout
}

// request is one call on the worker's lock.
type request struct {
	Call string        // TryLock, Lock or Unlock, or the readers'
	Left time.Duration // until the context's deadline; 0: none
}

// answer is what the call returned, or news.
type answer struct {
	Fenced, ReadWrite bool // with the first answer
	Granted           bool
	Error             string // in one word, as outcome says it
	Token             uint64
	Lost              bool // news: the lease is gone
}

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
	process.Serve(process.Name(), func(parent *process.Parent) error {
		return serve(parent, build)
	})
}

// serve does what the parent asks until it asks no more.
func serve(parent *process.Parent, build Build) error {
	var o orders
	if err := parent.Hear(&o); err != nil {
		return err
	}
	env := Env{Key: o.Key, TTL: o.TTL, Now: time.Now, Options: []lock.Option{
		lock.PollEvery(o.Poll), lock.NodeTimeout(o.Node)}}
	for _, n := range o.Nodes {
		if n.Store {
			continue
		}
		rdb := n.NewClient()
		if err := node.Connect(context.Background(), rdb); err != nil {
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
	notifier, isNotifier := l.(LossNotifier)
	fenced, isFenced := l.(Fenced)
	readWrite, isReadWrite := l.(ReadWrite)
	first := answer{Fenced: isFenced, ReadWrite: isReadWrite}
	if err := parent.Say(first); err != nil {
		return err
	}
	for {
		var r request
		if parent.Hear(&r) != nil {
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
		case "TryRLock":
			a.Granted, err = readWrite.TryRLock(ctx)
		case "RLock":
			err = readWrite.RLock(ctx)
			a.Granted = err == nil
		case "RUnlock":
			err = readWrite.RUnlock(ctx)
		}
		cancel()
		a.Error = outcome(err)
		if isFenced {
			a.Token = fenced.Token()
		}
		if isNotifier && a.Granted {
			lost := notifier.Lost()
			go func() { // ends with the process
				<-lost
				parent.Say(answer{Lost: true})
			}()
		}
		if err := parent.Say(a); err != nil {
			return err
		}
	}
}

// worker is the parent's end of a worker process. It is the lock that the actor
// plays with.
type worker struct {
	*process.Process[answer]
	answers chan answer // without the news
	lost    chan struct{}
	token   uint64
	offers  answer // what its lock offers
}

// startWorker starts the test binary once more, for the same test.
func startWorker(t *testing.T, o orders) (*worker, error) {
	// The subtest of the scenario is not there yet when Work is called.
	name := t.Name()
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	args := append(os.Args[1:len(os.Args):len(os.Args)],
		"-test.run=^"+strings.ReplaceAll(name, "/", "$/^")+"$",
		"-test.count=1", "-test.v=false")
	p, err := process.Start[answer](workerOf+name, args...)
	if err != nil {
		return nil, err
	}
	w := &worker{Process: p, answers: make(chan answer, 4),
		lost: make(chan struct{})}
	go w.read()
	err = w.Tell(o)
	offers, ok := <-w.answers
	if !ok {
		err = cmp.Or(w.Err(), errors.New("it ended at once"))
	}
	if err != nil {
		w.Kill()
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	w.offers = offers
	return w, nil
}

// read passes answers on until the worker ends.
func (w *worker) read() {
	defer close(w.answers)
	for a := range w.Answers {
		if a.Lost {
			close(w.lost)
			continue
		}
		w.answers <- a
	}
}

// call is one call on the worker's lock. A worker that dies meanwhile leaves the
// caller to the scenario, which ends its script.
func (w *worker) call(ctx context.Context, what string) (bool, error) {
	r := request{Call: what}
	if end, ok := ctx.Deadline(); ok {
		r.Left = time.Until(end)
	}
	if err := w.Tell(r); err != nil {
		return false, err
	}
	a, ok := <-w.answers
	if !ok {
		return false, fmt.Errorf("the worker died: %w", w.Err())
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

func (w *worker) TryRLock(ctx context.Context) (bool, error) {
	return w.call(ctx, "TryRLock")
}

func (w *worker) RLock(ctx context.Context) error {
	_, err := w.call(ctx, "RLock")
	return err
}

func (w *worker) RUnlock(ctx context.Context) error {
	_, err := w.call(ctx, "RUnlock")
	return err
}

// Lost is never closed where the lock does not tell of a loss.
func (w *worker) Lost() <-chan struct{} { return w.lost }

// Token is 0 of a lock that has none.
func (w *worker) Token() uint64 { return w.token }
