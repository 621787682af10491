package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis is one Redis server. It keeps nothing on disk. Stop must be called.
type Redis struct {
	*Server
	replica  *Redis // see Replicate
	promoted atomic.Bool
}

// program is what is started as a Redis server: another one, such as valkey-server, if
// the environment names it.
func program() string { return cmp.Or(os.Getenv("LOCKLADDER_REDIS_SERVER"), "redis-server") }

// Installed says whether it can be started: nil, or ErrMissing.
func Installed() error { return Has(program()) }

// StartRedis starts a server with a random password and waits until it
// answers. Options are configuration directives as on its command line:
// "--maxclients", "20000". Without the program the error is ErrMissing. A
// failure leaves nothing behind.
func StartRedis(ctx context.Context, options ...string) (*Redis, error) {
	if err := Installed(); err != nil {
		return nil, err
	}
	s, err := Start(ctx, Kind{Name: filepath.Base(program()), Password: Password(), Ready: own,
		Command: func(s *Server) ([]string, error) {
			config, err := s.Configure("redis.conf", "requirepass %[1]s\nmasterauth %[1]s\n",
				s.Password)
			return append([]string{program(), config, "--port", strconv.Itoa(s.Port),
				"--bind", "127.0.0.1", "--dir", s.Dir, "--save", "",
				"--appendonly", "no", "--daemonize", "no",
				"--repl-diskless-sync-delay", "0", // else a replica waits for others
				"--set-proc-title", "no"}, options...), err // sweep looks for the directory
		}})
	if err != nil {
		return nil, err
	}
	return &Redis{Server: s}, nil
}

// own says whether who answers is this server: another one may have its port.
func own(ctx context.Context, s *Server) error {
	if err := dial(ctx, s.Addr()); err != nil {
		return err // without the driver, which prints what it fails at
	}
	pid, err := s.PID()
	if err != nil {
		return err
	}
	rdb := client(s.Addr(), s.Password)
	defer rdb.Close()
	text, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(text, fmt.Sprintf("process_id:%d\r\n", pid)) {
		return fmt.Errorf("another server answers on port %d", s.Port)
	}
	return nil
}

// Addr is where the server listens: "127.0.0.1:40001".
func (r *Redis) Addr() string {
	if r.promoted.Load() {
		return r.replica.Addr()
	}
	return r.Server.Addr()
}

// Client is a new client of the server, for operators. The caller closes it.
func (r *Redis) Client() *redis.Client { return client(r.Addr(), r.Password) }

func client(addr, password string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Password: password, MaxRetries: -1, DialerRetries: 1,
		// A lost SYN is sent again after a second, and then after two.
		DialTimeout: 4 * time.Second, ContextTimeoutEnabled: true,
		// A server on a busy machine answers late, and it is the only one to ask.
		ReadTimeout: 30 * time.Second,
		Protocol:    2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	})
}

// Stop kills the server and removes its directory. It may be called twice.
func (r *Redis) Stop() {
	if r.replica != nil {
		r.replica.Stop()
	}
	r.Server.Stop()
}

// dial finds out whether somebody listens, without the driver, which prints what
// it fails at.
func dial(ctx context.Context, addr string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return c.Close()
}

// StartAll starts so many servers that know nothing of each other. A failure
// leaves none behind.
func StartAll(ctx context.Context, n int, options ...string) ([]*Redis, error) {
	var all []*Redis
	for range n {
		r, err := StartRedis(ctx, options...)
		if err != nil {
			StopAll(all)
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Reach says whether somebody's server can be used: the error is one line with
// the address and the cause, never with the password, within five seconds.
func Reach(ctx context.Context, options *redis.Options) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := dial(ctx, options.Addr); err != nil {
		return fmt.Errorf("the Redis server at %s can't be reached: %w",
			options.Addr, err)
	}
	o := *options
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	rdb := redis.NewClient(&o)
	defer rdb.Close()
	if err := rdb.Ping(ctx).Err(); err != nil {
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = ctx.Err()
		}
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			err = fmt.Errorf("it ends the connection, as a port for TLS does; name one"+
				" without TLS: %w", err)
		}
		return fmt.Errorf("the Redis server at %s can't be used: %w", o.Addr, err)
	}
	// A server that keeps its version to itself is believed.
	info, _ := rdb.InfoMap(ctx, "server").Result()
	version := info["Server"]["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < 7 {
		return fmt.Errorf("the Redis server at %s can't be used: it is version %s, and"+
			" 7.0 or newer is needed", o.Addr, version)
	}
	return nil
}
