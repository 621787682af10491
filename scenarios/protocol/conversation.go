package protocol

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// longestLine is how long a line of a program may be, in bytes.
const longestLine = 1 << 16

// conversation is one process of a program, and what is said.
type conversation struct {
	program   *Program
	cmd       *exec.Cmd
	in        io.WriteCloser
	listeners []net.Listener
	greeted   chan struct{} // closed when it has said hello, or has not
	gone      chan struct{} // closed when the process is gone
	heard     chan struct{} // closed when nothing more is heard

	mu      sync.Mutex // guards the following
	ids     int
	owners  int
	waiting map[int]chan Answer
	lost    map[int]chan struct{} // of grants, by the id of the request
	lines   int
	ended   bool  // it is to end: nothing is a misbehavior any more
	err     error // what it did wrong

	errors tail
}

// start starts a process.
func (p *Program) start() (*conversation, error) {
	c := &conversation{program: p, waiting: map[int]chan Answer{},
		lost: map[int]chan struct{}{}, greeted: make(chan struct{}),
		gone: make(chan struct{}), heard: make(chan struct{})}
	if len(p.args) == 0 {
		return nil, errors.New("there is no program: name one behind --")
	}
	c.cmd = exec.Command(p.args[0], p.args[1:]...)
	c.cmd.Env, c.cmd.Stderr = p.environment, &c.errors
	// A process that it has forked may keep the streams open.
	c.cmd.WaitDelay = time.Second
	in, out, err := process.Launch(c.cmd)
	if err != nil {
		return nil, fmt.Errorf("start the program: %w", err)
	}
	c.in = in
	go c.wait(out) // ends with the process, which kill ends
	go c.read(out) // and so does this
	return c, nil
}

// read hears the program until it says no more.
func (c *conversation) read(out io.Reader) {
	lines := bufio.NewReaderSize(out, longestLine)
	for c.hear(lines) == nil {
	}
	close(c.heard)
	select {
	case <-c.gone:
	case <-time.After(c.cmd.WaitDelay):
		c.misbehaves("has closed its standard output")
	}
}

// wait waits for the end of the process.
func (c *conversation) wait(out io.Closer) {
	err := c.cmd.Wait()
	select {
	case <-c.heard:
	case <-time.After(c.cmd.WaitDelay): // somebody else keeps it open
		out.Close()
		<-c.heard
	}
	out.Close()
	how := "has ended"
	if err != nil {
		how = fmt.Sprintf("has ended (%v)", err)
	}
	c.misbehaves("%s%s", how, c.errors.last())
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.gone)
	for id, answer := range c.waiting {
		close(answer)
		delete(c.waiting, id)
	}
}

// hear reads one line.
func (c *conversation) hear(lines *bufio.Reader) error {
	line, err := lines.ReadSlice('\n')
	c.mu.Lock()
	if len(line) > 0 {
		c.lines++
	}
	n := c.lines
	c.mu.Unlock()
	if errors.Is(err, bufio.ErrBufferFull) {
		return c.misbehaves("has written a line of more than %d bytes (line %d): %s",
			longestLine, n, quote(line))
	}
	if err != nil && len(line) > 0 {
		return c.misbehaves("has written a line without an end (line %d): %s", n, quote(line))
	}
	if err != nil {
		return err // of its output, and in most cases of the program
	}
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		return c.misbehaves("has written what is no answer (line %d): %s; what is for"+
			" people belongs on standard error", n, quote(line))
	}
	a.line = strings.TrimSpace(string(line))
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Type == Lost {
		lost, ok := c.lost[a.Of]
		if !ok {
			return c.misbehavesLocked("says that the grant %d is lost, and there is no"+
				" such grant (line %d): %s", a.Of, n, quote(line))
		}
		select {
		case <-lost:
		default:
			close(lost)
		}
		return nil
	}
	answer, ok := c.waiting[a.ID]
	if !ok {
		return c.misbehavesLocked("answers %d, which nobody has asked or which is"+
			" answered (line %d): %s", a.ID, n, quote(line))
	}
	delete(c.waiting, a.ID)
	if a.Type == Granted { // before anybody may hear of its loss
		c.lost[a.ID] = make(chan struct{})
	}
	answer <- a
	return nil
}

// misbehaves notes what the program has done wrong, unless it has been told to end,
// and ends it.
func (c *conversation) misbehaves(format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.misbehavesLocked(format, args...)
}

func (c *conversation) misbehavesLocked(format string, args ...any) error {
	err := fmt.Errorf("%w: %s %s", ErrMisbehaves, c.program.Name(), fmt.Sprintf(format, args...))
	if !c.ended && c.err == nil {
		c.err = err
		c.program.fail(err)
	}
	process.Kill(c.cmd.Process.Pid)
	return err
}

// ask sends a request and waits for its answer. When ctx ends, the program is told
// so, and has some time to answer that.
func (c *conversation) ask(ctx context.Context, r Request) (Answer, error) {
	answer := make(chan Answer, 1)
	c.mu.Lock()
	if c.err != nil || c.ended {
		c.mu.Unlock()
		return Answer{}, c.over()
	}
	c.ids++
	r.ID = c.ids
	if end, ok := ctx.Deadline(); ok && r.Type != Hello && r.Type != Build {
		r.Deadline = max(time.Until(end).Milliseconds(), 1)
	}
	// A cancel that follows comes too late for a command that is sent at once.
	r.Canceled = errors.Is(ctx.Err(), context.Canceled)
	c.waiting[r.ID] = answer
	err := c.say(r)
	c.mu.Unlock()
	if err != nil {
		return Answer{}, c.deaf()
	}
	ended := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case a, ok := <-answer:
			if !ok {
				return Answer{}, c.over()
			}
			return a, nil
		case <-ended:
			if r.Type == Hello || r.Type == Build {
				return Answer{}, ctx.Err()
			}
			ended = nil
			late = time.After(c.program.patience.unanswered)
			if errors.Is(ctx.Err(), context.Canceled) { // a deadline is known there
				c.mu.Lock()
				c.say(Request{Type: Cancel, Of: r.ID}) // or its end is noticed
				c.mu.Unlock()
			}
		case <-late:
			return Answer{}, fmt.Errorf("the program has not answered %q (id %d) within"+
				" %v after its deadline: %w", r.Type, r.ID,
				c.program.patience.unanswered, ctx.Err())
		}
	}
}

// deaf is the error of a process that reads no more: most often it has ended.
func (c *conversation) deaf() error {
	select {
	case <-c.gone:
	case <-time.After(2 * c.cmd.WaitDelay):
		return c.misbehaves("has closed its standard input")
	}
	return c.over()
}

// over is why the conversation is.
func (c *conversation) over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.err, errors.New("the program's process has ended"))
}

// say writes a line. The caller holds mu, so that lines stay whole.
func (c *conversation) say(r Request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}

// kill ends the process, and all that it has started, as kill -9 does, and waits
// until it is gone. It may be called again.
func (c *conversation) kill() {
	c.end()
	process.Kill(c.cmd.Process.Pid)
	<-c.gone
}

// end lets nothing be a misbehavior from now on.
func (c *conversation) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	for _, l := range c.listeners {
		l.Close()
	}
}

// tail keeps the last line that was written to it and says what is wrong.
type tail struct {
	mu   sync.Mutex
	line string
	rest []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, b...)
	for {
		line, rest, ended := bytes.Cut(t.rest, []byte("\n"))
		if !ended {
			t.rest = t.rest[max(0, len(t.rest)-longestLine):]
			return len(b), nil
		}
		if !aside.Match(line) && !cause.MatchString(t.line) {
			t.line = string(bytes.TrimSpace(line))
		}
		t.rest = rest
	}
}

// Below the cause of a crash some languages write where it was: in lines that are indented,
// or after the line that Go's cause begins. go run adds a status.
var (
	aside = regexp.MustCompile(`^(\s|$|exit status \d|Node\.js v|note: )`)
	cause = regexp.MustCompile(`^(panic|fatal error): `)
)

// last is that line, quoted and introduced, or nothing.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.line == "" {
		return ""
	}
	return "; its standard error says " + quote([]byte(t.line))
}

// quote shortens and quotes a line.
func quote(line []byte) string {
	const most = 120
	line = bytes.TrimSpace(line)
	if len(line) > most {
		return fmt.Sprintf("%q...", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
