package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/lockladder/lockladder/internal/servers/proxy"
)

// Replicate starts a replica of the server, waits until it has what the server
// has, and then holds replication back, so that later writes never reach it.
func (r *Redis) Replicate() error {
	link, err := proxy.Listen(r.Addr())
	if err != nil {
		return err
	}
	replica, err := r.StartReplica(context.Background(), link.Addr())
	if err != nil {
		link.Close()
		return err
	}
	link.Set(proxy.Weather{Swallow: proxy.Both})
	r.replica, r.link = replica, link
	return nil
}

// StartReplica starts a replica of the server, which it reaches at an address, and
// waits until it has what the server has. The caller stops it.
func (r *Redis) StartReplica(ctx context.Context, at string) (*Redis, error) {
	host, port, _ := net.SplitHostPort(at)
	replica, err := StartRedis(ctx, "--replicaof", host+" "+port)
	if err != nil {
		return nil, fmt.Errorf("start a replica: %w", err)
	}
	rdb := replica.Client()
	defer rdb.Close()
	err = replica.Await(ctx, func() error {
		info, err := rdb.Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = errors.New("it is not in step with its master")
		}
		return err
	})
	if err != nil {
		replica.Stop()
		return nil, fmt.Errorf("start a replica: %w", err)
	}
	return replica, nil
}

// Promote kills the server and makes its replica the master. Addr is the
// replica's from then on, until Restore.
func (r *Redis) Promote() error {
	if r.replica == nil {
		return errors.New("there is no replica to promote")
	}
	r.Kill()
	r.link.Close()
	rdb := r.replica.Client()
	defer rdb.Close()
	if err := rdb.Do(context.Background(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		return fmt.Errorf("promote a replica: %w", err)
	}
	r.promoted.Store(true)
	return nil
}

// Restore ends the replica, and starts the server again if it was killed for it.
func (r *Redis) Restore() error {
	if r.replica == nil {
		return nil
	}
	r.link.Close()
	r.replica.Stop()
	r.replica, r.link = nil, nil
	if !r.promoted.Swap(false) {
		return nil
	}
	return r.Restart()
}
