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
	"crypto/rand"
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

// Kind is how a server is started, and how one knows that it answers.
type Kind struct {
	Name           string                                     // in errors
	Command        func(s *Server) ([]string, error)          // its program and the arguments
	Ready          func(ctx context.Context, s *Server) error // nil when it answers
	User, Password string                                     // what a client needs, or neither
}

// Server is a server's program under its shell. Stop must be called.
type Server struct {
	Kind
	Dir  string // its own
	Port int
	log  bytes.Buffer

	mu    sync.Mutex // guards what follows; never held while a server is asked
	cmd   *exec.Cmd
	alive io.WriteCloser // while it is open the server lives
	ended chan struct{}  // the shell has ended
}

// Start starts a server on a free port and waits until it answers. Another program may
// take the port first, so it tries several. A failure leaves nothing behind.
func Start(ctx context.Context, k Kind) (*Server, error) {
	s, err := newServer(k)
	if err != nil {
		return nil, err
	}
	for range 5 {
		if s.Port, err = FreePort(); err != nil {
			break
		}
		if err = s.begin(ctx); err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.Stop()
	return nil, err
}

// newServer makes the directory of a server.
func newServer(k Kind) (*Server, error) {
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
	return &Server{Kind: k, Dir: filepath.Clean(dir)}, nil
}

// Restart starts a killed server again, on the same port, with what is in its directory.
func (s *Server) Restart() error { return s.begin(context.Background()) }

// begin launches the program, and waits until it answers.
func (s *Server) begin(ctx context.Context) error {
	command, err := s.Command(s)
	if err != nil {
		return err
	}
	if err := s.launch(command...); err != nil {
		return err
	}
	err = s.Await(ctx, func() error { return s.Ready(ctx, s) })
	if err != nil {
		s.Kill()
	}
	return err
}

// launch starts the program. It does not wait until the server answers.
func (s *Server) launch(args ...string) error {
	os.Remove(filepath.Join(s.Dir, "pid")) // of one that was killed
	cmd := exec.Command("sh", append([]string{"-c", keeper, "keeper", s.Dir},
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

// Kill ends the server as kill -9 does, and waits until it is gone. Restart brings it back.
func (s *Server) Kill() {
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

// Stop kills the server and removes its directory. It may be called twice.
func (s *Server) Stop() {
	s.Kill()
	os.RemoveAll(s.Dir)
}

// StopAll stops several servers.
func StopAll[S interface{ Stop() }](all []S) {
	for _, s := range all {
		s.Stop()
	}
}

// PID is the number of the server's process.
func (s *Server) PID() (int, error) { return numberIn(s.Dir, "pid") }

// Auth is what a client needs: a user's name and a password, or neither.
func (s *Server) Auth() (user, password string) { return s.User, s.Password }

// Pause stops the server's process: it accepts connections and never answers.
func (s *Server) Pause() error { return s.signal(process.Pause) }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.signal(process.Resume) }

func (s *Server) signal(send func(int) error) error {
	pid, err := s.PID()
	if err != nil {
		return err
	}
	if err := send(pid); err != nil {
		return fmt.Errorf("signal %s: %w", s.Name, err)
	}
	return nil
}

// Addr is where the server listens: "127.0.0.1:40001".
func (s *Server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
}

// Await waits until ready succeeds, the program has ended, or ctx ends.
func (s *Server) Await(ctx context.Context, ready func() error) error {
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
			s.Kill() // the shell has its last words
			return fmt.Errorf("%s ended at once: %s", s.Name,
				lastLine(s.log.String()))
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ended:
			return fmt.Errorf("the shell of %s ended: %s", s.Name,
				lastLine(s.log.String()))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", s.Name, err)
		}
	}
}

// dead says whether the server has ended although its shell still waits. Then it
// is a zombie.
func (s *Server) dead() bool {
	pid, err := s.PID()
	if err != nil {
		return false
	}
	state := process.State(pid) // 0, too, where there is no ps
	return state == 'Z' || state == 0 && !process.Running(pid)
}

// Password is the password of all servers that this process starts, so that those of a
// cluster, and a master and its replica, know each other's. A client that has strayed to
// a server of another run is refused there.
var Password = sync.OnceValue(rand.Text)

// Configure writes a configuration file into the server's directory and returns
// its name. A password belongs there: other users can read the arguments of a
// process, and can't look into the directory.
func (s *Server) Configure(name, format string, args ...any) (string, error) {
	path := filepath.Join(s.Dir, name)
	err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600)
	if err != nil {
		return path, fmt.Errorf("write a server's configuration: %w", err)
	}
	return path, nil
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

// Has says whether a program is installed: nil, or ErrMissing.
func Has(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is %w", program, ErrMissing)
	}
	return nil
}

// ports counts those that this process has asked for.
var ports atomic.Int64

// FreePort finds a port that nobody uses, below those that systems give to
// outgoing connections: of these there are many here. None is given twice, so that a
// server that was killed finds its own free when it starts again, and a process of
// another number begins elsewhere. Another program may take the port before the
// server does; the server then ends at once, and is started anew on another port.
func FreePort() (int, error) {
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
