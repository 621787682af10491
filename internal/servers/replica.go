package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Replicate starts a replica of the server, waits until it has what the server
// has, and then cuts it off, so that later writes never reach it.
func (r *Redis) Replicate() error {
	ctx := context.Background()
	replica, err := r.StartReplica(ctx, r.Addr())
	if err != nil {
		return err
	}
	rdb := replica.Client()
	defer rdb.Close()
	if err := rdb.Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		replica.Stop()
		return fmt.Errorf("hold replication back: %w", err)
	}
	r.replica = replica
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

// Promote kills the server. Its replica is the master from then on, and Addr the
// replica's, until Restore.
func (r *Redis) Promote() error {
	if r.replica == nil {
		return errors.New("there is no replica to promote")
	}
	r.Kill()
	r.promoted.Store(true)
	return nil
}

// Restore ends the replica, and starts the server again if it was killed for it.
func (r *Redis) Restore() error {
	if r.replica == nil {
		return nil
	}
	r.replica.Stop()
	r.replica = nil
	if !r.promoted.Swap(false) {
		return nil
	}
	return r.Restart()
}
