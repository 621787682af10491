package node

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// Embedded is a Node in this process, in virtual time. Besides what every
// node can do its clock can jump and run at another rate.
type Embedded struct {
	// Driver changes the settings of its clients; nil changes nothing.
	Driver func(*redis.Options)

	// Seen is called for every command that it executes, those inside scripts
	// included.
	Seen func(from *server.Peer, command string, args []string)

	// Clock is what its clock says; nil is the world's time.
	Clock func() time.Time

	// Expire waits for the end of a lease, in the world's order, and is false when
	// the world has ended instead.
	Expire func(end time.Time) bool

	// Scripts is what scripts did to the nodes of this world; nil keeps nothing.
	Scripts *Scripts

	mu      sync.Mutex
	redis   *miniredis.Miniredis
	retired []*miniredis.Miniredis

	changes *tracking
	sent    sent
	memory  memory

	rate    float64   // how fast its clock runs; 0 is as fast as all others
	drifted time.Time // what its clock said when it was given that rate
	since   time.Time // which was then
}

// Boot starts the server, empty.
func (n *Embedded) Boot() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.redis != nil {
		n.retired = append(n.retired, n.redis)
	}
	n.redis = miniredis.NewMiniRedis()
	// Inside the bubble only: outside, the baseline would be the real date, and
	// keys would never expire.
	n.redis.ClockTTL(true)
	// Dial is what starts a server without a listener.
	if c, err := n.redis.Dial(); err == nil {
		c.Close()
	}
	n.sent.reset()
	n.changes = &tracking{observe: n.Observe, expire: n.Expire,
		shown: map[string]*tracked{}, expiring: map[time.Time]bool{}}
	n.redis.Server().SetPreHook(
		func(from *server.Peer, command string, args ...string) bool {
			n.changes.saw(command, args)
			n.sent.saw(command, args)
			if n.Seen != nil {
				n.Seen(from, command, args)
			}
			full := n.memory.refuses(command)
			if full {
				from.WriteError(outOfMemory)
			}
			return full
		})
}

func (n *Embedded) Close() error {
	n.mu.Lock()
	servers := append(n.retired, n.redis)
	n.mu.Unlock()
	for _, server := range servers {
		server.Close()
	}
	return nil
}

// Server is the server now, with its clock set.
func (n *Embedded) Server() *miniredis.Miniredis {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Clock != nil {
		n.redis.SetTime(n.Clock())
	} else if n.rate != 0 {
		n.redis.SetTime(n.clock())
	}
	return n.redis
}

func (n *Embedded) Observe(key string) history.State {
	m := n.Server()
	if !m.Exists(key) {
		return history.State{}
	}
	s := history.State{Exists: true}
	if ttl := m.TTL(key); ttl > 0 {
		if n.rate != 0 {
			ttl = time.Duration(float64(ttl) / n.rate)
		}
		s.Ends = time.Now().Add(ttl)
	}
	switch m.Type(key) {
	case "string":
		s.Value, _ = m.Get(key)
	case "hash":
		fields, _ := m.HKeys(key)
		slices.Sort(fields)
		s.Value = strings.Join(fields, " ")
	case "zset":
		s.Value, s.Members = "zset", n.moments(m, key)
	default:
		s.Value = m.Type(key)
	}
	return s
}

// moments are the members of a sorted set, with the world's time at which the
// server's clock says what their scores say.
func (n *Embedded) moments(m *miniredis.Miniredis, key string) map[string]time.Time {
	scores, err := m.SortedSet(key)
	if err != nil {
		return nil
	}
	clock := n.clock
	if n.Clock != nil {
		clock = n.Clock
	}
	moments := map[string]time.Time{}
	for member, score := range scores {
		left := time.UnixMilli(int64(score)).Sub(clock())
		if n.rate != 0 {
			left = time.Duration(float64(left) / n.rate)
		}
		moments[member] = time.Now().Add(left)
	}
	return moments
}

func (n *Embedded) Lasts(key string, _ history.State) bool {
	return n.Observe(key).Exists
}

// Lasting are the keys that no expiry will ever remove.
func (n *Embedded) Lasting() []string {
	m := n.Server()
	return slices.DeleteFunc(m.Keys(), func(key string) bool {
		return m.TTL(key) != 0
	})
}

func (n *Embedded) Way() Way { return Way{} }

func (n *Embedded) NewClient(dial Dial) redis.UniversalClient {
	o := quiet(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, "")
	}).Simple()
	o.PoolSize = 4 * MostOpen
	if n.Driver != nil {
		n.Driver(o)
	}
	return redis.NewClient(o)
}

// MostOpen is how many connections a client may have open to a node in virtual time. A
// client that waited for one of a full pool would end the process: the driver's pools
// share their timers, and a bubble must not touch another one's.
const MostOpen = 100

func (n *Embedded) Accept(string) (Conn, error) { return n.connected(), nil }

// connected is a connection to the server as it is now.
func (n *Embedded) connected() *peer {
	return newPeer(n, n.Server().Server(), n.changes)
}

func (n *Embedded) Operate(args ...string) error {
	n.connected().dispatch(args)
	n.changes.invalidate(nil)
	return nil
}

func (n *Embedded) Delete(keys ...string) error {
	return n.Operate(append([]string{"DEL"}, keys...)...)
}

// Evict removes every key but some, as a server does that is out of memory.
func (n *Embedded) Evict(keep []string) {
	for _, key := range n.Server().Keys() {
		if !slices.Contains(keep, key) {
			n.Operate("DEL", key)
		}
	}
}

// Restart loses all data: it has no persistence.
func (n *Embedded) Restart(cut func()) error {
	n.Boot()
	cut()
	return nil
}

// Replicate has nothing to do: every replica here has heard of nothing. The network
// refuses what is sent to a node that is down, and swallows it where one hangs.
func (n *Embedded) Replicate() error { return nil }

func (n *Embedded) Refuse(bool) error { return nil }

func (n *Embedded) Hang() error { return nil }

func (n *Embedded) Promote(cut func()) error { return n.Restart(cut) }

func (n *Embedded) Fill() error {
	n.memory.full.Store(true)
	return nil
}

// JumpClock moves the node's clock ahead.
func (n *Embedded) JumpClock(ahead time.Duration) {
	n.Server().FastForward(ahead)
	n.changes.invalidate(nil)
}

// Drift lets the node's clock run at another rate from now on: at 1.01 it gains
// ten milliseconds in a second.
func (n *Embedded) Drift(rate float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drifted, n.since, n.rate = n.clock(), time.Now(), rate
}

// clock is what the node's clock says.
func (n *Embedded) clock() time.Time {
	if n.rate == 0 {
		return time.Now()
	}
	return n.drifted.Add(time.Duration(float64(time.Since(n.since)) * n.rate))
}
