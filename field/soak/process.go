package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// A process of the soak's is this program once more. The two talk in JSON, a value a line,
// on its standard streams. It lives hardly longer than the soak, see process.Launch.

// endWithin is how long a process has to end by itself when it was told to.
var endWithin = 10 * time.Second

// unheard is how many words may wait at either end.
const unheard = 16

// serve does nothing unless this process was started under that name. Then it does the
// work and exits, with status 1 and one line on standard error when the work fails.
// Output that the program prints meanwhile goes to standard error.
func serve(name string, work func(soak *json.Decoder, say *json.Encoder) error) {
	if process.Name() != name {
		return
	}
	signal.Ignore(os.Interrupt) // a terminal's Ctrl-C is for the soak
	say := json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr
	if err := work(json.NewDecoder(os.Stdin), say); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// started is the soak's end of the conversation with a process. Close or Kill must be
// called.
type started struct {
	OS *os.Process

	// Answers has what the process says. It is closed when the process has ended. One that
	// says what is no word is killed.
	Answers <-chan string

	in      io.Closer
	encoder *json.Encoder
	log     bytes.Buffer
	done    chan struct{}
	err     error // after done
}

// start starts this program under a name that it knows by serve. A failure leaves no
// process behind.
func start(name string) (*started, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = process.Environment(name)
	answers := make(chan string, unheard)
	p := &started{Answers: answers, done: make(chan struct{})}
	cmd.Stderr = &p.log
	in, out, err := process.Launch(cmd)
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
			var word string
			if err := words.Decode(&word); err == io.EOF {
				return
			} else if err != nil {
				p.OS.Kill() // nobody will hear what else it says
				return
			}
			answers <- word
		}
	}()
	return p, nil
}

// Tell sends the process a value. It fails when the process has ended.
func (p *started) Tell(v any) error { return p.encoder.Encode(v) }

// Close ends the conversation and waits until the process is gone. One that has not ended
// in time is killed, which is the error.
func (p *started) Close() error {
	p.in.Close()
	late := time.NewTimer(endWithin)
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
			return errors.New("it had to be killed")
		}
	}
}

// Kill ends the process as kill -9 does, also a stopped one, and waits until it is gone. It
// may be called again.
func (p *started) Kill() {
	p.OS.Kill()
	p.in.Close()
	for range p.Answers {
	}
	<-p.done
}

// Err waits until the process is gone and says why: the line with its panic, the last line
// of its standard error, or its status. It is nil when the process has ended well.
func (p *started) Err() error {
	<-p.done
	if p.err == nil {
		return nil
	}
	last := p.err.Error()
	for line := range strings.Lines(p.log.String()) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			break
		}
	}
	return errors.New(last)
}
