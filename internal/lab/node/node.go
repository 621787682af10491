// Package node is what a lock lives on: an embedded Redis, a real one (a single
// server, a cluster, or a master that Sentinels watch), or a store of another
// kind. Node is the one interface of them all. The abilities that only some of
// them have are in interfaces of their own.
package node

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// Node is one independent server, or what is one to a lock. Its errors say what it
// did not do.
type Node interface {
	// Observe asks for a key without being a client. A node that does not answer
	// has nothing to say.
	Observe(key string) history.State

	// Lasts says whether a key that was seen in a state is still there.
	Lasts(key string, seen history.State) bool

	// Way is how a client finds the node.
	Way() Way

	// NewClient makes a client, which does nothing on its own account, or nil
	// when its driver comes by another way.
	NewClient(dial Dial) redis.UniversalClient

	// Operate executes an operator's command, and Delete frees the lock as an
	// operator does.
	Operate(args ...string) error
	Delete(keys ...string) error

	// Restart makes it lose all data, if it keeps none, and its connections,
	// which cut breaks.
	Restart(cut func()) error

	// Replicate gives it a replica that hears of nothing that happens from then
	// on, and Promote lets the replica take its place.
	Replicate() error
	Promote(cut func()) error

	// Fill makes its memory full for the rest of the scenario: with maxmemory and
	// noeviction it refuses what needs more.
	Fill() error

	// Refuse takes it down, or brings it up again, and Hang makes it accept
	// commands and never answer.
	Refuse(refusing bool) error
	Hang() error

	// Close removes what the scenario has left and lets the node go.
	Close() error
}

// Redis is a node that speaks Redis's protocol.
type Redis interface {
	Node

	// Accept takes a new connection to the node at one of its addresses; "" is
	// its own.
	Accept(addr string) (Conn, error)
}

// Opaque is a node whose protocol is not Redis's: the lab can tell requests and
// replies apart, but not what they do to the lock. Whose it is shows in what the
// node holds.
type Opaque interface {
	Node
	Open() (net.Conn, error)
	Requests(from io.Reader) Frames
	Replies(from io.Reader) Frames
}

// Dial connects to a node at one of its addresses; "" is its own.
type Dial = func(ctx context.Context, addr string) (net.Conn, error)

// Conn is a server's side of one connection.
type Conn interface {
	// Execute returns the raw reply, or nothing when the server is gone. From a
	// SUBSCRIBE on messages come between the replies.
	Execute(args []string) string
	// News has an element when Message has something.
	News() <-chan struct{}
	Message() Pushed
	Close()
}

// Pushed is a message to a client; without a frame there is none.
type Pushed struct {
	Frame string
	At    time.Time // when it was published
}

// Server is a real Redis server.
type Server interface {
	Addr() string
	Auth() (user, password string) // empty: none is needed
}

// host is a server that may be killed and stopped.
type host interface {
	Kill()          // as kill -9 does
	Restart() error // after Kill, on the same address
	Pause() error   // it accepts connections and never answers
	Resume() error
}

// OwnServer is a server that was started for the scenarios, which may do to it
// what they must not do to somebody's. It comes back without its data.
type OwnServer interface {
	Server
	host
	Replicate() error // starts a replica and holds replication back from then on
	Promote() error   // kills the server; Addr is the replica's from then on
	Restore() error   // takes a replica away and brings the server back
}

// ClusterServer is a Redis Cluster, and one node to a lock: its masters know
// which of them has a key.
type ClusterServer interface {
	Server
	Masters() []string // addresses
}

// SentinelServer is a server that Sentinels watch, and know where it is. Auth is
// theirs, too.
type SentinelServer interface {
	Server
	MasterName() string
	Sentinels() []string // addresses
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
