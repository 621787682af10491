package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// Replicate starts a replica of the server, waits until it has what the server
// has, and then holds replication back, so that later writes never reach it.
func (r *Redis) Replicate(ctx context.Context) error {
	link, err := newRelay(r.Addr())
	if err != nil {
		return err
	}
	replica, err := r.startReplica(ctx, link)
	if err != nil {
		link.close()
		return err
	}
	link.hold.Store(true)
	r.replica, r.link = replica, link
	return nil
}

// startReplica starts a replica of the server, which it reaches through a
// relay, and waits until it has what the server has.
func (r *Redis) startReplica(ctx context.Context, link *relay) (*Redis, error) {
	host, port, _ := net.SplitHostPort(link.addr())
	replica, err := start(ctx, &Redis{password: r.password,
		options: []string{"--replicaof", host + " " + port}})
	if err != nil {
		return nil, fmt.Errorf("start a replica: %w", err)
	}
	rdb := replica.Client()
	defer rdb.Close()
	err = replica.await(ctx, func() error {
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
func (r *Redis) Promote(ctx context.Context) error {
	if r.replica == nil {
		return errors.New("there is no replica to promote")
	}
	r.Kill()
	r.link.close()
	rdb := r.replica.Client()
	defer rdb.Close()
	if err := rdb.Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		return fmt.Errorf("promote a replica: %w", err)
	}
	r.promoted.Store(true)
	return nil
}

// Restore ends the replica, and starts the server again if it was killed for it.
func (r *Redis) Restore(ctx context.Context) error {
	if r.replica == nil {
		return nil
	}
	r.link.close()
	r.replica.Stop()
	r.replica, r.link = nil, nil
	if !r.promoted.Swap(false) {
		return nil
	}
	return r.Restart(ctx)
}

// relay passes bytes between a port of its own and a server. While it holds, it
// drops the bytes of connections that replicate.
type relay struct {
	listener net.Listener
	target   string
	hold     atomic.Bool
	mu       sync.Mutex
	conns    []net.Conn
	closed   bool
	running  sync.WaitGroup
}

// newRelay starts a relay; close ends and joins its goroutines.
func newRelay(target string) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a replica: %w", err)
	}
	r := &relay{listener: l, target: target}
	r.running.Go(r.accept)
	return r, nil
}

func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.target)
		if err != nil {
			near.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, near, far)
		closed := r.closed
		r.mu.Unlock()
		if closed {
			near.Close()
			far.Close()
			return
		}
		replication := new(atomic.Bool)
		r.running.Go(func() { r.pass(near, far, replication) })
		r.running.Go(func() { r.pass(far, near, replication) })
	}
}

// pass passes bytes one way until the connection ends, at either side, and then
// ends it at the other.
func (r *relay) pass(from, to net.Conn, replication *atomic.Bool) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte("PSYNC")) {
			replication.Store(true) // a replica asks for what it missed
		}
		if replication.Load() && r.hold.Load() {
			continue // read and dropped: nothing is left to arrive later
		}
		if _, err := to.Write(buffer[:n]); err != nil && err != io.EOF {
			return
		}
	}
}

func (r *relay) close() {
	r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for _, c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
}
