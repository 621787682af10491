// Package cluster runs the rungs on a Redis Cluster, and on a master whose replica a
// Redis Sentinel promotes.
package cluster

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers"
)

// slots is how many slots the keys of a Redis Cluster are divided into.
const slots = 16384

// Cluster is a Redis Cluster of masters without replicas, each with an equal
// share of the slots. Stop must be called.
type Cluster struct{ masters []*master }

// master is one of its masters, and an operator's client of it.
type master struct {
	*servers.Redis
	operator *redis.Client
}

// order sends an operator's command.
func (m *master) order(ctx context.Context, args ...any) error {
	return m.operator.Do(ctx, args...).Err()
}

func (m *master) Stop() {
	m.operator.Close()
	m.Redis.Stop()
}

// StartCluster starts so many masters and waits until all of them serve all
// slots, which a new cluster does after two seconds. A failure leaves nothing
// behind.
func StartCluster(ctx context.Context, masters int) (*Cluster, error) {
	c := &Cluster{}
	for range masters {
		// Each listens to the others on its port plus 10000. A busy machine is no
		// reason to declare a master dead.
		r, err := servers.StartRedis(ctx, "--cluster-enabled", "yes",
			"--cluster-node-timeout", "60000")
		if err != nil {
			c.Stop()
			return nil, err
		}
		c.masters = append(c.masters, &master{r, r.Client()})
	}
	if err := c.join(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("join %d masters to a cluster: %w", masters, err)
	}
	return c, nil
}

// join makes a cluster of the masters, as redis-cli --cluster create does.
func (c *Cluster) join(ctx context.Context) error {
	for i, r := range c.masters {
		first := i * slots / len(c.masters)
		last := (i+1)*slots/len(c.masters) - 1
		orders := [][]any{
			{"CLUSTER", "ADDSLOTSRANGE", first, last},
			// Of two masters with one epoch each would give way to the other.
			{"CLUSTER", "SET-CONFIG-EPOCH", i + 1},
		}
		if i > 0 {
			host, port, _ := net.SplitHostPort(c.Addr())
			orders = append(orders, []any{"CLUSTER", "MEET", host, port})
		}
		for _, args := range orders {
			if err := r.order(ctx, args...); err != nil {
				return err
			}
		}
	}
	for _, r := range c.masters {
		err := r.Await(ctx, func() error {
			info, err := r.operator.ClusterInfo(ctx).Result()
			if err != nil {
				return err
			}
			for _, line := range []string{"cluster_state:ok",
				"cluster_slots_ok:" + strconv.Itoa(slots),
				"cluster_known_nodes:" + strconv.Itoa(len(c.masters))} {
				if !strings.Contains(info, line) {
					return fmt.Errorf("%s is without %s", r.Addr(), line)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Masters are the masters' addresses.
func (c *Cluster) Masters() []string {
	var addrs []string
	for _, r := range c.masters {
		addrs = append(addrs, r.Addr())
	}
	return addrs
}

// Addr is a master's address: from one a client learns of all.
func (c *Cluster) Addr() string { return c.masters[0].Addr() }

// Auth is what a client needs for AUTH at each master: no user's name, and the
// password.
func (c *Cluster) Auth() (user, password string) { return c.masters[0].Auth() }

// Stop kills all masters and removes their directories. It may be called twice.
func (c *Cluster) Stop() { servers.StopAll(c.masters) }

// Move is a slot on its way from one master to another. A client that asks its
// old master for a key that is not there any more gets ASK; when the move has
// finished, MOVED.
type Move struct {
	slot     int64
	from, to *master
	ids      [2]string // of from and to
	all      []*master
}

// Move begins to move the slot of a key to another master. No key is moved yet.
func (c *Cluster) Move(ctx context.Context, key string) (*Move, error) {
	m := &Move{all: c.masters}
	at := -1
	for i, r := range c.masters {
		slot, err := r.operator.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			return nil, fmt.Errorf("find the slot of %q: %w", key, err)
		}
		m.slot = slot
		switch err := r.operator.Exists(ctx, key).Err(); {
		case err == nil:
			at = i
		case !strings.HasPrefix(err.Error(), "MOVED "):
			return nil, fmt.Errorf("find the master of %q: %w", key, err)
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("no master has the slot of %q", key)
	}
	m.from, m.to = c.masters[at], c.masters[(at+1)%len(c.masters)]
	for i, r := range []*master{m.from, m.to} {
		id, err := r.operator.Do(ctx, "CLUSTER", "MYID").Text()
		if err != nil {
			return nil, fmt.Errorf("move slot %d: %w", m.slot, err)
		}
		m.ids[i] = id
	}
	err := m.to.order(ctx, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.ids[0])
	if err == nil {
		err = m.from.order(ctx, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.ids[1])
	}
	if err != nil {
		return nil, fmt.Errorf("move slot %d: %w", m.slot, err)
	}
	return m, nil
}

// Take moves keys of the slot, with what is left of their leases; without names
// all that are there.
func (m *Move) Take(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		var err error
		keys, err = m.from.operator.ClusterGetKeysInSlot(ctx, int(m.slot), 1000).Result()
		if err != nil || len(keys) == 0 {
			return err
		}
	}
	host, port, _ := net.SplitHostPort(m.to.Addr())
	_, password := m.to.Auth()
	args := []any{"MIGRATE", host, port, "", 0, 5000, "AUTH", password, "KEYS"}
	for _, key := range keys {
		args = append(args, key)
	}
	if err := m.from.order(ctx, args...); err != nil && err != redis.Nil {
		return fmt.Errorf("move keys of slot %d: %w", m.slot, err)
	}
	return nil
}

// Finish makes the new master the slot's owner, and waits until all masters know its
// epoch. All keys must have been taken.
func (m *Move) Finish(ctx context.Context) error {
	for _, r := range []*master{m.to, m.from} {
		err := r.order(ctx, "CLUSTER", "SETSLOT", m.slot, "NODE", m.ids[1])
		if err != nil {
			return fmt.Errorf("move slot %d: %w", m.slot, err)
		}
	}
	// A master that didn't know of this epoch would take the same one for the next
	// slot that it is given. Then each of two masters holds the other for the owner,
	// and answers MOVED.
	is, err := number(m.to.operator.ClusterInfo(ctx), "cluster_my_epoch")
	for i := 0; err == nil && i < len(m.all); i++ {
		r := m.all[i]
		err = r.Await(ctx, func() error {
			knows, err := number(r.operator.ClusterInfo(ctx), "cluster_current_epoch")
			if err == nil && knows < is {
				err = fmt.Errorf("%s knows the epoch %d, and not yet %d", r.Addr(), knows, is)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("move slot %d: %w", m.slot, err)
	}
	return nil
}

// number is one that a server's information has behind a name.
func number(info *redis.StringCmd, name string) (int64, error) {
	text, err := info.Result()
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(text, name+":")
	digits, _, _ := strings.Cut(rest, "\r\n")
	return strconv.ParseInt(digits, 10, 64)
}
