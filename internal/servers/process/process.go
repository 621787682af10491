// Package process starts this program once more, tells it what to do, and ends it
// in every case.
//
// A process that Start has started talks to its parent in JSON, a value a line,
// on its standard streams. It lives hardly longer than its parent, however that ends,
// by return, by panic or by kill -9: it hears the end of its standard input and has
// five seconds to end by itself. A process that is stopped at that moment hears nothing;
// Unix wakes it with SIGHUP, because its process group has lost its parent.
//
// A process that After has started is the opposite: it waits for its parent's end
// and then does its work.
package process

import (
	"bufio"
	"bytes"
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
)

// variable is the environment variable that has the name of a process.
const variable = "LOCKLADDER_PROCESS"

// endWithin is how long a process may live when its parent has ended the
// conversation, and how long Close waits besides. Tests shorten it.
var endWithin = 5 * time.Second

// unheard is how many values may wait at either end of a conversation before the
// other end must wait.
const unheard = 16

// Name is what this process was started as, and empty in a process that was
// started by other means.
func Name() string { return os.Getenv(variable) }

// Parent is a process's end of the conversation with its parent.
type Parent struct {
	lines chan []byte
	gone  chan struct{}

	mu      sync.Mutex // guards encoder
	encoder *json.Encoder
}

// Serve does nothing unless this process was started under that name. Then it does
// the work and exits, with status 1 and one line on standard error when the work
// fails. Output that the program prints meanwhile goes to standard error, because
// standard output is the conversation's.
func Serve(name string, work func(*Parent) error) {
	if Name() != name {
		return
	}
	p := listen()
	go func() { // ends with the process
		<-p.gone
		time.Sleep(endWithin)
		os.Exit(1)
	}()
	exit(name, work(p))
}

// ServeAfter does nothing unless this process was started by After under that name.
// Then it waits until its parent has ended, or wants it to begin, does the work,
// and exits as Serve does.
func ServeAfter[Order any](name string, work func(Order) error) {
	if Name() != name {
		return
	}
	p := listen()
	var order Order
	err := p.Hear(&order)
	if err == nil {
		<-p.gone
		err = work(order)
	}
	exit(name, err)
}

func listen() *Parent {
	signal.Ignore(os.Interrupt) // a terminal's Ctrl-C is for the parent
	p := &Parent{lines: make(chan []byte, unheard), gone: make(chan struct{}),
		encoder: json.NewEncoder(os.Stdout)}
	os.Stdout = os.Stderr
	go func() { // ends with the parent
		defer close(p.gone)
		defer close(p.lines)
		for in := bufio.NewReader(os.Stdin); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			p.lines <- line
		}
	}()
	return p
}

func exit(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Hear waits for what the parent tells next. It returns io.EOF when the parent has
// ended the conversation, or has ended.
func (p *Parent) Hear(v any) error {
	line, ok := <-p.lines
	if !ok {
		return io.EOF
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("understand the parent: %w", err)
	}
	return nil
}

// Say gives the parent an answer. Several goroutines may call it.
func (p *Parent) Say(v any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.encoder.Encode(v); err != nil {
		return fmt.Errorf("answer the parent: %w", err)
	}
	return nil
}

// Process is the parent's end of the conversation with a process. Close or Kill
// must be called.
type Process[Answer any] struct {
	OS *os.Process

	// Answers has what the process says. It is closed when the process has ended.
	// One that says what is no Answer is killed.
	Answers <-chan Answer

	name    string
	in      io.Closer
	encoder *json.Encoder
	log     bytes.Buffer
	done    chan struct{}
	err     error // after done
}

// Start starts this program with these arguments, under a name that it knows by
// Serve. A failure leaves no process behind.
func Start[Answer any](name string, args ...string) (*Process[Answer], error) {
	cmd, err := command(name, args)
	if err != nil {
		return nil, err
	}
	answers := make(chan Answer, unheard)
	p := &Process[Answer]{Answers: answers, name: name,
		done: make(chan struct{})}
	cmd.Stderr = &p.log
	in, out, err := Launch(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.OS, p.in, p.encoder = cmd.Process, in, json.NewEncoder(in)
	go func() { // ends with the process, which Close and Kill join
		p.err = cmd.Wait()
		close(p.done)
	}()
	go func() { // ends with the process, too
		defer close(answers)
		defer out.Close()
		for words := json.NewDecoder(out); ; {
			var a Answer
			if err := words.Decode(&a); err == io.EOF {
				return
			} else if err != nil {
				p.OS.Kill() // nobody will hear what else it says
				return
			}
			answers <- a
		}
	}()
	return p, nil
}

// Launch starts a command in a process group of its own. Out has what it prints, also
// after its end, and the caller closes it.
func Launch(cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser, err error) {
	Detach(cmd)
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	// Not StdoutPipe: the last answers are heard after the end of the process.
	out, theirs, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	defer theirs.Close()
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// After starts this program with these arguments, under a name that it knows by
// ServeAfter, and gives it an order for when this process has ended. The returned
// function lets the process begin at once, waits until it has ended, and returns
// an error when it has failed. The process's output goes to this process's
// standard error.
func After(name string, order any, args ...string) (finish func() error,
	err error) {
	cmd, err := command(name, args)
	if err != nil {
		return nil, err
	}
	Detach(cmd)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := json.NewEncoder(in).Encode(order); err != nil {
		return nil, fmt.Errorf("tell %s: %w", name, errors.Join(err, in.Close(),
			cmd.Wait()))
	}
	return func() error {
		in.Close()
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}, nil
}

func command(name string, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = Environment(name)
	return cmd, nil
}

// Environment is this process's, for one that is to know itself by that name.
func Environment(name string) []string {
	return append(os.Environ(), variable+"="+name)
}

// Tell sends the process a value, for its Hear. It fails when the process has
// ended.
func (p *Process[Answer]) Tell(v any) error {
	if err := p.encoder.Encode(v); err != nil {
		return fmt.Errorf("tell %s: %w", p.name, err)
	}
	return nil
}

// End ends the conversation: the process has five seconds to end by itself.
func (p *Process[Answer]) End() { p.in.Close() }

// Close is End, and waits until the process is gone. One that has not ended within
// ten seconds is killed, which is the error.
func (p *Process[Answer]) Close() error {
	p.End()
	late := time.NewTimer(2 * endWithin)
	defer late.Stop()
	for answers := p.Answers; ; {
		select {
		case _, ok := <-answers: // nobody else waits for it
			if !ok {
				answers = nil
			}
		case <-p.done:
			return nil
		case <-late.C:
			p.Kill()
			return fmt.Errorf("%s had to be killed", p.name)
		}
	}
}

// Kill ends the process as kill -9 does, also a stopped one, and waits until it is
// gone. It may be called again.
func (p *Process[Answer]) Kill() {
	p.OS.Kill()
	p.in.Close()
	for range p.Answers {
	}
	<-p.done
}

// Done is closed when the process is gone.
func (p *Process[Answer]) Done() <-chan struct{} { return p.done }

// Err waits until the process is gone and says why: the line with its panic, the
// last line of its standard error, or its status. It is nil when the process has
// ended well.
func (p *Process[Answer]) Err() error {
	<-p.done
	if p.err == nil {
		return nil
	}
	last := p.err.Error()
	for line := range strings.Lines(p.log.String()) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
		if strings.HasPrefix(line, "panic: ") ||
			strings.HasPrefix(line, "fatal error: ") {
			break
		}
	}
	return errors.New(last)
}
