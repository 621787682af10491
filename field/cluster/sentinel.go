package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/field/proxy"
	"github.com/lockladder/lockladder/internal/servers"
)

// masterName is what Sentinel calls the master that it watches.
const masterName = "ladder"

// Sentinel is a master and its replica, watched by a Redis Sentinel that
// promotes the replica when the master dies. Stop must be called.
//
// The master is known by the port of a proxy, to the replica and to the Sentinel
// alike, so that replication can be held back.
type Sentinel struct {
	master, replica *servers.Redis
	link            *proxy.Proxy
	sentinel        *servers.Redis
	failed          atomic.Bool // the replica is the master now
}

// StartSentinel starts the three and waits until the Sentinel knows the replica.
// A failure leaves nothing behind.
func StartSentinel(ctx context.Context) (_ *Sentinel, err error) {
	s := &Sentinel{}
	defer func() {
		if err != nil {
			s.Stop()
			err = fmt.Errorf("start a Sentinel and its servers: %w", err)
		}
	}()
	if s.master, err = servers.StartRedis(ctx); err != nil {
		return nil, err
	}
	if s.link, err = proxy.Listen(s.master.Addr()); err != nil {
		return nil, err
	}
	if s.replica, err = s.master.StartReplica(ctx, s.link.Addr()); err != nil {
		return nil, err
	}
	if s.sentinel, err = servers.StartRedis(ctx, "--sentinel"); err != nil {
		return nil, err
	}
	return s, s.watch(ctx)
}

// watch names the master to the Sentinel, and waits until it knows the replica.
func (s *Sentinel) watch(ctx context.Context) error {
	rdb := s.client()
	defer rdb.Close()
	host, port, _ := net.SplitHostPort(s.link.Addr())
	if err := rdb.Monitor(ctx, masterName, host, port, "1").Err(); err != nil {
		return err
	}
	_, password := s.Auth()
	for option, value := range map[string]string{"auth-pass": password,
		// Until Failover no silence of a busy machine is taken for a death.
		"down-after-milliseconds": "60000", "failover-timeout": "5000"} {
		if err := rdb.Set(ctx, masterName, option, value).Err(); err != nil {
			return err
		}
	}
	return s.sentinel.Await(ctx, func() error {
		replicas, err := rdb.Replicas(ctx, masterName).Result()
		if err == nil && (len(replicas) != 1 ||
			replicas[0]["master-link-status"] != "ok") {
			err = errors.New("it does not know the replica")
		}
		return err
	})
}

// client is an operator's.
func (s *Sentinel) client() *redis.SentinelClient {
	rdb := s.sentinel.Client()
	defer rdb.Close()
	return redis.NewSentinelClient(rdb.Options())
}

// Sentinels are the addresses of those who know where the master is.
func (s *Sentinel) Sentinels() []string { return []string{s.sentinel.Addr()} }

// MasterName is what they call it.
func (s *Sentinel) MasterName() string { return masterName }

// Addr is where the master of the moment listens.
func (s *Sentinel) Addr() string {
	if s.failed.Load() {
		return s.replica.Addr()
	}
	return s.master.Addr()
}

// Auth is what a client needs for AUTH at the Sentinel, the master and the
// replica: no user's name, and the password.
func (s *Sentinel) Auth() (user, password string) { return s.master.Auth() }

// Replicate waits until the replica has what the master has, and keeps from it what
// is written from then on.
func (s *Sentinel) Replicate() error {
	ctx := context.Background()
	written, err := offset(ctx, s.master, "master_repl_offset")
	if err == nil {
		err = s.replica.Await(ctx, func() error {
			has, err := offset(ctx, s.replica, "slave_repl_offset")
			if err == nil && has < written {
				err = fmt.Errorf("it has %d of %d bytes", has, written)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("hold replication back: %w", err)
	}
	s.link.Set(proxy.Weather{Swallow: proxy.Both, Said: "PSYNC"})
	return nil
}

// offset is how many bytes of replication a server has sent, or received.
func offset(ctx context.Context, r *servers.Redis, name string) (int64, error) {
	rdb := r.Client()
	defer rdb.Close()
	return number(rdb.Info(ctx, "replication"), name)
}

// Promote kills the master and waits until the Sentinel has noticed it and
// promoted the replica: about a second.
func (s *Sentinel) Promote() error {
	ctx := context.Background()
	rdb := s.client()
	defer rdb.Close()
	s.master.Kill()
	s.link.Close()
	err := rdb.Set(ctx, masterName, "down-after-milliseconds", "200").Err()
	if err != nil {
		return fmt.Errorf("make the Sentinel notice: %w", err)
	}
	err = s.sentinel.Await(ctx, func() error {
		addr, err := rdb.GetMasterAddrByName(ctx, masterName).Result()
		if err == nil && net.JoinHostPort(addr[0], addr[1]) != s.replica.Addr() {
			err = errors.New("it has not promoted the replica")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("fail over: %w", err)
	}
	s.failed.Store(true)
	return nil
}

// It can fail over, once, and nothing else.
var errOnlyFailover = errors.New("a server under a Sentinel only fails over")

func (*Sentinel) Kill()          {}
func (*Sentinel) Restart() error { return errOnlyFailover }
func (*Sentinel) Pause() error   { return errOnlyFailover }
func (*Sentinel) Resume() error  { return errOnlyFailover }
func (*Sentinel) Restore() error { return nil }

// Stop kills all and removes their directories. It may be called twice.
func (s *Sentinel) Stop() {
	if s.link != nil {
		s.link.Close()
	}
	for _, r := range []*servers.Redis{s.sentinel, s.replica, s.master} {
		if r != nil {
			r.Stop()
		}
	}
}
