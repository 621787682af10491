package lab

import (
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/network"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/lab/order"
)

// Config is what a world is made of.
type Config struct {
	Nodes int           // how many independent Redis nodes
	Key   string        // the name of the lock
	TTL   time.Duration // the lease
	Keys  []string      // the keys whose owner is watched; by default Key

	// Readers is a sorted set whose members are the readers of the lock, each
	// with the end of its lease, in milliseconds, as its score; "" when there
	// is none. It is watched, too. Real servers don't show its members.
	Readers string

	// LeaseEnd reads the end of the lease from a key's value, for locks whose
	// lease is not the key's expiry.
	LeaseEnd func(value string) (time.Time, bool)

	// Most is how many things may pass in a second of virtual time before the
	// scenario counts as stuck; by default 200,000.
	Most int

	// Servers are the real servers to use, one a node; none means that the world
	// is virtual. Scale is how much time a second of a scenario takes; 0 is a
	// second.
	Servers []node.Server
	Scale   float64

	// Latency is how long everything is on its way between a client and a node,
	// in either direction. Real servers have their own.
	Latency time.Duration

	// Driver changes the settings of a virtual world's clients; nil means that
	// a client does nothing on its own account, see node.Way.NewClient.
	Driver func(*redis.Options)

	// Fate is network.Net's, and Rewrite may change the words of a command before a
	// client sends it.
	Fate    func(client string, nth int, now time.Duration) (network.Fault, bool)
	Rewrite func(words []any)

	// Virtual servers call Seen for every command that they execute, including
	// those inside scripts.
	Seen func(node int, from *server.Peer, command string, args []string)

	// Scripts is what scripts did to virtual servers, in other worlds as well; nil
	// keeps nothing from one world to the next. It is not used with Seen or Carry.
	Scripts *node.Scripts

	// Order is who goes next in a virtual world, and Carry what takes commands
	// and replies, where that is not as usual.
	Order order.Order
	Carry func(*network.Conn) network.Carrier
}

// embedded starts a node in virtual time.
func embedded(w *World, i int, scripts *node.Scripts) node.Node {
	n := &node.Embedded{Driver: w.Driver, Scripts: scripts, Expire: func(end time.Time) bool {
		return w.order.Wait(order.Turn{Due: end, Node: i, Text: "expiry"})
	}}
	if w.Seen != nil {
		n.Seen = func(from *server.Peer, command string, args []string) {
			w.Seen(i, from, command, args)
		}
	}
	n.Boot()
	return n
}
