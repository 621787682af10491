package main

import (
	"bytes"
	"cmp"
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

// started is the soak's end of the conversation with a process. Close or Kill must be called.
type started struct {
	OS *os.Process

	in   io.WriteCloser
	out  io.ReadCloser
	said *json.Decoder
	log  bytes.Buffer
	done chan struct{}
	err  error // after done
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
	p := &started{done: make(chan struct{})}
	cmd.Stderr = &p.log
	if p.in, p.out, err = process.Launch(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.OS, p.said = cmd.Process, json.NewDecoder(p.out)
	go func() { // ends with the process, which Close and Kill join
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Tell sends the process a value. It fails when the process has ended.
func (p *started) Tell(v any) error { return json.NewEncoder(p.in).Encode(v) }

// Hear returns the next word that the process says. One that says none in time, or
// something else, is killed.
func (p *started) Hear(within time.Duration) (word string, err error) {
	late := time.AfterFunc(within, func() { p.OS.Kill() })
	defer late.Stop()
	if err := p.said.Decode(&word); err != nil {
		p.OS.Kill()
		return "", fmt.Errorf("it has ended: %w", cmp.Or(p.Err(), err))
	}
	return word, nil
}

// Close ends the conversation and waits until the process is gone. One that has not ended
// in time is killed, which is the error.
func (p *started) Close() (err error) {
	p.in.Close()
	select {
	case <-p.done:
	case <-time.After(endWithin):
		err = errors.New("it had to be killed")
	}
	p.Kill()
	return err
}

// Kill ends the process as kill -9 does, also a stopped one, and waits until it is gone. It
// may be called again.
func (p *started) Kill() {
	p.OS.Kill()
	p.in.Close()
	<-p.done
	p.out.Close()
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
