package node

import (
	"context"
	"errors"
	"io"
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

func (n *stored) Store() Store { return n.store }

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

// Store is a real server of another kind than Redis. Its own methods say which
// locks it holds for whom, and how its protocol is cut into requests.
type Store interface {
	Server

	// Holder says what the store has for the lock of that name: a text that
	// differs from grant to grant, "" when the lock is free; and when the lease
	// ends, zero when it has none or lasts as long as a session.
	Holder(ctx context.Context, key string) (holder string, ends time.Time,
		err error)

	// Delete frees the lock as an operator does, and takes it from its holder.
	Delete(ctx context.Context, key string) error

	// Tidy removes all that locks whose names contain key have left behind.
	Tidy(ctx context.Context, key string) error

	// Requests reads what a client sends, and Replies what a server sends.
	Requests(from io.Reader) Frames
	Replies(from io.Reader) Frames
}

// OwnStore is a store that was started for the scenarios. It keeps its data.
type OwnStore interface {
	Store
	host
}

// Frames are the units of a protocol in one direction of a connection, one after
// the other. A frame that a driver or a server sends on its own account, such as
// a greeting or a keep-alive, has no text.
type Frames interface {
	Next() (raw []byte, text string, err error)
}
