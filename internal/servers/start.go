package servers

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/servers/process"
)

//go:embed keeper.sh
var keeper string

// patience is how long a server may take until it answers: several may be
// started at the same time, and one makes its data directory first.
const patience = time.Minute

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
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
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

// StopAll stops several servers.
func StopAll[S interface{ Stop() }](all []S) {
	for _, s := range all {
		s.Stop()
	}
}

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
