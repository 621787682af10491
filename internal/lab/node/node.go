// Package node is what a lock lives on: an embedded Redis, a real one (a single
// server, a cluster, or a master that Sentinels watch), or a store of another
// kind. Node is the one interface of them all. The abilities that only some of
// them have are in interfaces of their own.
package node

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// Node is one independent server, or what is one to a lock. Its errors say what it did not do.
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

	// Operate executes an operator's command, and Delete frees the lock as an operator does.
	Operate(args ...string) error
	Delete(keys ...string) error

	// Restart makes it lose all data, if it keeps none, and its connections, which cut breaks.
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

	// Accept takes a new connection to the node at one of its addresses; "" is its own.
	Accept(addr string) (Conn, error)
}

// Opaque is a node whose protocol is not Redis's: the lab can tell requests and replies apart,
// but not what they do to the lock. Whose it is shows in what the node holds.
type Opaque interface {
	Node
	Store() Store
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
