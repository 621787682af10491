package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockladder/lockladder/internal/servers/proxy"
)

// Redis is one redis-server. It keeps nothing on disk. Stop must be called.
type Redis struct {
	*server
	password string // "": it needs none
	options  []string

	replica  *Redis // see Replicate
	link     *proxy.Proxy
	promoted atomic.Bool
}

// Installed says whether redis-server can be started: nil, or ErrMissing.
func Installed() error { return find("redis-server") }

// StartRedis starts a redis-server with a random password and waits until it
// answers. Options are configuration directives as on its command line:
// "--maxclients", "20000". Without the program the error is ErrMissing. A
// failure leaves nothing behind.
func StartRedis(ctx context.Context, options ...string) (*Redis, error) {
	return start(ctx, &Redis{password: password(), options: options})
}

// StartOpenRedis is StartRedis without a password, for tests of programs that
// take none.
func StartOpenRedis(ctx context.Context) (*Redis, error) {
	return start(ctx, &Redis{})
}

func start(ctx context.Context, r *Redis) (*Redis, error) {
	if err := find("redis-server"); err != nil {
		return nil, err
	}
	var err error
	if r.server, err = newServer("redis-server"); err != nil {
		return nil, err
	}
	if err := r.startOn(ctx, r.launch); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Redis) launch(ctx context.Context) error {
	var secrets string
	if r.password != "" {
		secrets = fmt.Sprintf("requirepass %[1]s\nmasterauth %[1]s\n", r.password)
	}
	config, err := r.configure("redis.conf", "%s", secrets)
	if err != nil {
		return err
	}
	args := append([]string{"redis-server", config, "--port", strconv.Itoa(r.port),
		"--bind", "127.0.0.1", "--dir", r.dir, "--save", "",
		"--appendonly", "no", "--daemonize", "no",
		"--repl-diskless-sync-delay", "0", // else a replica waits for others
		"--set-proc-title", "no"}, r.options...) // sweep looks for the directory
	if err := r.server.launch(args...); err != nil {
		return err
	}
	err = r.Await(ctx, func() error {
		if err := dial(ctx, r.Addr()); err != nil {
			return err // without the driver, which prints what it fails at
		}
		return r.own(ctx)
	})
	if err != nil {
		r.stop()
	}
	return err
}

// own says whether who answers is this server: another one may have its port.
func (r *Redis) own(ctx context.Context) error {
	pid, err := r.PID()
	if err != nil {
		return err
	}
	rdb := r.Client()
	defer rdb.Close()
	text, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(text, fmt.Sprintf("process_id:%d\r\n", pid)) {
		return fmt.Errorf("another server answers on port %d", r.port)
	}
	return nil
}

// Addr is where the server listens: "127.0.0.1:40001".
func (r *Redis) Addr() string {
	if r.promoted.Load() {
		return r.replica.Addr()
	}
	return r.server.Addr()
}

// Auth is what a client needs for AUTH: no user's name, and the password, which
// is empty when none is needed. The replica has the same.
func (r *Redis) Auth() (user, password string) { return "", r.password }

// Client is a new client of the server, for operators. The caller closes it.
func (r *Redis) Client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: r.Addr(), Password: r.password, MaxRetries: -1, DialerRetries: 1,
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
		r.link.Close()
		r.replica.Stop()
	}
	r.remove()
}

// Restart starts a killed server again, on the same port and without its data.
func (r *Redis) Restart(ctx context.Context) error { return r.launch(ctx) }

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

// StopAll stops several servers.
func StopAll(all []*Redis) {
	for _, r := range all {
		r.Stop()
	}
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
	if major, _, _ := strings.Cut(version, "."); version != "" {
		if n, err := strconv.Atoi(major); err == nil && n < 7 {
			return fmt.Errorf("the Redis server at %s can't be used: it is version %s, and"+
				" 7.0 or newer is needed", o.Addr, version)
		}
	}
	return nil
}
