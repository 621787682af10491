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

func (n *stored) Way() Way { return Way{} }

// NewClient is nil: a store's driver dials by itself.
func (n *stored) NewClient(Dial) redis.UniversalClient { return nil }

func (n *stored) Open() (net.Conn, error) {
	return net.DialTimeout("tcp", n.store.Addr(), time.Second)
}

func (n *stored) Requests(from io.Reader) Frames { return n.store.Requests(from) }

func (n *stored) Replies(from io.Reader) Frames { return n.store.Replies(from) }

func (n *stored) Operate(args ...string) error {
	return failed("send "+args[0], errors.ErrUnsupported)
}

func (n *stored) Delete(...string) error {
	return failed("delete the lock",
		n.store.Delete(n.setting.Context, n.setting.Key))
}

func (n *stored) Fill() error {
	return failed("fill the memory", errors.ErrUnsupported)
}

func (n *stored) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(n.wake(), failed("remove what the scenario has left",
		n.store.Tidy(ctx, n.setting.Key)))
}
