package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// MasterName is what Sentinel calls the master that it watches.
const MasterName = "ladder"

// Sentinel is a master and its replica, watched by a Redis Sentinel that
// promotes the replica when the master dies. Stop must be called.
//
// The master is known by the port of a relay, to the replica and to the Sentinel
// alike, so that replication can be held back.
type Sentinel struct {
	master, replica *Redis
	link            *relay
	process         *server
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
	if s.master, err = StartRedis(ctx); err != nil {
		return nil, err
	}
	if s.link, err = newRelay(s.master.Addr()); err != nil {
		return nil, err
	}
	if s.replica, err = s.master.startReplica(ctx, s.link); err != nil {
		return nil, err
	}
	if s.process, err = newServer("redis-server"); err != nil {
		return nil, err
	}
	return s, s.process.startOn(ctx, s.launch)
}

// launch starts the Sentinel, which rewrites its configuration as it learns.
func (s *Sentinel) launch(ctx context.Context) error {
	host, port, _ := net.SplitHostPort(s.link.addr())
	config, err := s.process.configure("sentinel.conf",
		"port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %s %s %s 1\n"+
			"requirepass %[6]s\nsentinel auth-pass %[3]s %[6]s\n"+
			// Until Failover no silence of a busy machine is taken for a death.
			"sentinel down-after-milliseconds %[3]s 60000\n"+
			"sentinel failover-timeout %[3]s 5000\n",
		s.process.port, s.process.dir, MasterName, host, port, s.master.password)
	if err != nil {
		return err
	}
	err = s.process.launch("redis-server", config, "--sentinel",
		"--set-proc-title", "no") // sweep looks for the directory
	if err != nil {
		return err
	}
	rdb := redis.NewSentinelClient(s.options())
	defer rdb.Close()
	err = s.process.await(ctx, func() error {
		if err := dial(ctx, s.Sentinels()[0]); err != nil {
			return err
		}
		replicas, err := rdb.Replicas(ctx, MasterName).Result()
		if err == nil && (len(replicas) != 1 ||
			replicas[0]["master-link-status"] != "ok") {
			err = errors.New("it does not know the replica")
		}
		return err
	})
	if err != nil {
		s.process.stop()
	}
	return err
}

// options are an operator's.
func (s *Sentinel) options() *redis.Options {
	rdb := (&Redis{server: s.process, password: s.master.password}).Client()
	defer rdb.Close()
	return rdb.Options()
}

// Sentinels are the addresses of those who know where the master is.
func (s *Sentinel) Sentinels() []string {
	return []string{s.process.Addr()}
}

// MasterName is what they call it.
func (s *Sentinel) MasterName() string { return MasterName }

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

// HoldReplication waits until the replica has what the master has, and keeps
// from it what is written from then on.
func (s *Sentinel) HoldReplication(ctx context.Context) error {
	written, err := s.master.offset(ctx, "master_repl_offset")
	if err != nil {
		return fmt.Errorf("hold replication back: %w", err)
	}
	err = s.replica.await(ctx, func() error {
		has, err := s.replica.offset(ctx, "slave_repl_offset")
		if err == nil && has < written {
			err = fmt.Errorf("it has %d of %d bytes", has, written)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("hold replication back: %w", err)
	}
	s.link.hold.Store(true)
	return nil
}

// offset is how many bytes of replication a server has sent, or received.
func (r *Redis) offset(ctx context.Context, name string) (int64, error) {
	rdb := r.Client()
	defer rdb.Close()
	return number(rdb.Info(ctx, "replication"), name)
}

// Failover kills the master and waits until the Sentinel has noticed it and
// promoted the replica: about a second.
func (s *Sentinel) Failover(ctx context.Context) error {
	rdb := redis.NewSentinelClient(s.options())
	defer rdb.Close()
	s.master.Kill()
	s.link.close()
	err := rdb.Set(ctx, MasterName, "down-after-milliseconds", "200").Err()
	if err != nil {
		return fmt.Errorf("make the Sentinel notice: %w", err)
	}
	err = s.process.await(ctx, func() error {
		addr, err := rdb.GetMasterAddrByName(ctx, MasterName).Result()
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

// Stop kills all and removes their directories. It may be called twice.
func (s *Sentinel) Stop() {
	if s.process != nil {
		s.process.remove()
	}
	if s.link != nil {
		s.link.close()
	}
	for _, r := range []*Redis{s.replica, s.master} {
		if r != nil {
			r.Stop()
		}
	}
}
