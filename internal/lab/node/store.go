package node

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// stored is a node on a store that is no Redis.
type stored struct {
	*borrowed
	store Store
}

// Observe is Node's.
func (n *stored) Observe(key string) history.State {
	if n.away() {
		return history.State{}
	}
	ctx, cancel := context.WithTimeout(n.setting.Context, time.Second)
	defer cancel()
	holder, ends, err := n.store.Holder(ctx, key)
	if err != nil || holder == "" {
		return history.State{}
	}
	return history.State{Exists: true, Value: holder, Ends: ends,
		Reading: &history.Reading{Ends: ends.UnixMilli()}}
}

// Way is Node's.
func (n *stored) Way() Way { return Way{} }

// NewClient is nil: a store's driver dials by itself.
func (n *stored) NewClient(Dial) redis.UniversalClient { return nil }

// Connect is Node's.
func (n *stored) Connect(context.Context, redis.UniversalClient) error { return nil }

// Open is Opaque's.
func (n *stored) Open() (net.Conn, error) {
	return net.DialTimeout("tcp", n.store.Addr(), time.Second)
}

// Requests is Opaque's.
func (n *stored) Requests(from io.Reader) Frames { return n.store.Requests(from) }

// Replies is Opaque's.
func (n *stored) Replies(from io.Reader) Frames { return n.store.Replies(from) }

// Operate is Node's.
func (n *stored) Operate(args ...string) error {
	return failed("send "+args[0], errors.ErrUnsupported)
}

// Delete is Node's.
func (n *stored) Delete(...string) error {
	return failed("delete the lock",
		n.store.Delete(n.setting.Context, n.setting.Key))
}

// Replicate is Node's.
func (n *stored) Replicate() error {
	return failed("start a replica", errors.ErrUnsupported)
}

// Promote is Node's.
func (n *stored) Promote(func()) error {
	return failed("promote a replica", errors.ErrUnsupported)
}

// Fill is Node's.
func (n *stored) Fill() error {
	return failed("fill the memory", errors.ErrUnsupported)
}

// Close is Node's.
func (n *stored) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(n.wake(), failed("remove what the scenario has left",
		n.store.Tidy(ctx, n.setting.Key)))
}
