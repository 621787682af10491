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
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// ErrMissing says that a server's program is not installed.
var ErrMissing = errors.New("not installed")

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

// Restart starts a killed server again, on the same port, with what is in its directory.
func (s *Server) Restart() error { return s.begin(context.Background()) }

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

// PID is the number of the server's process.
func (s *Server) PID() (int, error) { return numberIn(s.Dir, "pid") }

// Auth is what a client needs: a user's name and a password, or neither.
func (s *Server) Auth() (user, password string) { return s.User, s.Password }

// Pause stops the server's process: it accepts connections and never answers.
func (s *Server) Pause() error { return s.signal(process.Pause) }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.signal(process.Resume) }

// Addr is where the server listens: "127.0.0.1:40001".
func (s *Server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
}
