// Package servers starts real servers for tests and benchmarks: each in a
// directory of its own below the system's temporary one, on a free loopback
// port, and never for longer than the process that asked for it.
//
// A server runs under a small shell that waits for the end of its standard
// input, which this process holds open. However this process ends, by return, by
// panic, by Ctrl-C or by kill -9, its end of the pipe closes, and the shell kills
// the server and removes the directory. When the shell is killed too, the next
// Start removes the leftovers.
package servers

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// ErrMissing says that a server's program is not installed.
var ErrMissing = errors.New("not installed")

//go:embed keeper.sh
var keeper string

// prefix begins the names of all directories of this package.
const prefix = "lockladder-"

// patience is how long a server may take until it answers: several may be
// started at the same time, and one makes its data directory first.
const patience = time.Minute

// server is a server's program under its shell.
type server struct {
	dir  string
	name string // in errors
	port int
	log  bytes.Buffer

	mu    sync.Mutex // guards what follows; never held while a server is asked
	cmd   *exec.Cmd
	alive io.WriteCloser // while it is open the server lives
	ended chan struct{}  // the shell has ended
}

// newServer makes the directory of a server.
func newServer(name string) (*server, error) {
	sweep()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("make a server's directory: %w", err)
	}
	owner := strconv.Itoa(os.Getpid())
	if err := os.WriteFile(filepath.Join(dir, "owner"), []byte(owner),
		0o600); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("make a server's directory: %w", err)
	}
	// As sweepDir will spell it when it looks at the arguments of processes.
	return &server{dir: filepath.Clean(dir), name: name}, nil
}

// startOn launches a server on a port that is free, and removes it when that
// fails. Another program may take the port first, so it tries several.
func (s *server) startOn(ctx context.Context,
	launch func(context.Context) error) error {
	var err error
	for range 5 {
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = launch(ctx); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.remove()
	return err
}

// launch starts the program. It does not wait until the server answers.
func (s *server) launch(args ...string) error {
	os.Remove(filepath.Join(s.dir, "pid")) // of one that was killed
	cmd := exec.Command("sh", append([]string{"-c", keeper, "keeper", s.dir},
		args...)...)
	process.Detach(cmd)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	ended := make(chan struct{})
	s.mu.Lock()
	s.cmd, s.alive, s.ended = cmd, stdin, ended
	s.mu.Unlock()
	go func() { // owned by stop, which joins it
		cmd.Wait()
		close(ended)
	}()
	return nil
}

// stop kills the server and waits until it is gone.
func (s *server) stop() {
	s.mu.Lock()
	alive, ended := s.alive, s.ended
	s.mu.Unlock()
	if alive == nil {
		return
	}
	io.WriteString(alive, "stopped")
	alive.Close()
	<-ended
}

// remove stops the server and removes its directory.
func (s *server) remove() {
	s.stop()
	os.RemoveAll(s.dir)
}

// PID is the number of the server's process.
func (s *server) PID() (int, error) { return numberIn(s.dir, "pid") }

// Kill ends the server as kill -9 does; Restart brings it back.
func (s *server) Kill() { s.stop() }

// Pause stops the server's process: it accepts connections and never answers.
func (s *server) Pause() error { return s.signal(process.Pause) }

// Resume lets a paused server go on.
func (s *server) Resume() error { return s.signal(process.Resume) }

func (s *server) signal(send func(int) error) error {
	pid, err := s.PID()
	if err != nil {
		return err
	}
	if err := send(pid); err != nil {
		return fmt.Errorf("signal %s: %w", s.name, err)
	}
	return nil
}

// Addr is where the server listens: "127.0.0.1:40001".
func (s *server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// Await waits until ready succeeds, the program has ended, or ctx ends.
func (s *server) Await(ctx context.Context, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	for try := 1; ; try++ {
		err := ready()
		if err == nil {
			return nil
		}
		if try%20 == 0 && s.dead() {
			s.stop() // the shell has its last words
			return fmt.Errorf("%s ended at once: %s", s.name,
				lastLine(s.log.String()))
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ended:
			return fmt.Errorf("the shell of %s ended: %s", s.name,
				lastLine(s.log.String()))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", s.name, err)
		}
	}
}

// dead says whether the server has ended although its shell still waits. Then it
// is a zombie.
func (s *server) dead() bool {
	pid, err := s.PID()
	if err != nil {
		return false
	}
	state := process.State(pid) // 0, too, where there is no ps
	return state == 'Z' || state == 0 && !process.Running(pid)
}

// lastLine is what a server said last. Redis quotes a setting that it does not know in
// the line before.
func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	last := lines[len(lines)-1]
	if len(lines) > 1 {
		if quoted, ok := strings.CutPrefix(lines[len(lines)-2], ">>> "); ok {
			last = quoted + ": " + last
		}
	}
	return last
}

// find looks a program up.
func find(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is %w", program, ErrMissing)
	}
	return nil
}

// ports counts those that this process has asked for.
var ports atomic.Int64

// freePort finds a port that nobody uses, below those that systems give to
// outgoing connections: of these there are many here. None is given twice, so that a
// server that was killed finds its own free when it starts again, and a process of
// another number begins elsewhere. Another program may take the port before the
// server does; the server then ends at once, and is started anew on another port.
func freePort() (int, error) {
	var err error
	for range 1000 {
		port := 20000 + (int64(os.Getpid())*100+ports.Add(1))%12000
		var l net.Listener
		l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			return int(port), l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

// sweep removes what processes left behind that are gone, together with the
// shells that should have cleaned up after them.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range left {
		sweepDir(dir)
	}
}

// sweepDir removes one directory if its owner is gone. Without an owner it is being
// made just now, removed, or not of this package.
func sweepDir(dir string) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return
	}
	owner, err := numberIn(dir, "owner")
	if err != nil || process.Running(owner) {
		return
	}
	server, err := numberIn(dir, "pid")
	// The number may belong to another program by now.
	if err == nil && commandOf(server, dir) {
		if found, _ := os.FindProcess(server); found != nil {
			found.Kill()
		}
	}
	os.RemoveAll(dir)
}

// numberIn is the number that a file of a server's directory has.
func numberIn(dir, name string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, fmt.Errorf("look for a server's process: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// commandOf says whether a process was started with a directory among its arguments:
// as one of them, behind an option's equals sign, or as the beginning of a path. A
// longer name that only begins the same way is another directory's.
func commandOf(pid int, dir string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "args=", "-p",
		strconv.Itoa(pid)).Output()
	named := regexp.MustCompile(`(?m)(^|[ =])` + regexp.QuoteMeta(dir) + `($|[ /])`)
	return err == nil && named.Match(out)
}
