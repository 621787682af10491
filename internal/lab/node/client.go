package node

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Way is how a client finds a node: by its one address, if nothing else is said.
type Way struct {
	Masters   []string // of a cluster
	Name      string   // of a master that Sentinels watch
	Sentinels []string
	Password  string // of the Sentinels; connections to servers have theirs
}

// NewClient makes a client that does nothing on its own account: no command is
// repeated, but by a cluster's client, which has to; the caller's context ends
// every wait. Its connections to Sentinels go past dial.
func (w Way) NewClient(dial Dial) redis.UniversalClient {
	o := quiet(func(ctx context.Context, _, addr string) (net.Conn, error) {
		if slices.Contains(w.Sentinels, addr) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}
		return dial(ctx, addr)
	})
	switch {
	case len(w.Masters) > 0:
		o.Addrs = w.Masters
		return redis.NewClusterClient(o.Cluster())
	case w.Name != "":
		o.Addrs, o.MasterName, o.SentinelPassword = w.Sentinels, w.Name, w.Password
		return redis.NewFailoverClient(o.Failover())
	}
	return redis.NewClient(o.Simple())
}

// quiet are the settings of a client that does nothing on its own account.
func quiet(dialer func(_ context.Context, _, addr string) (net.Conn,
	error)) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:  []string{"127.0.0.1:1"}, // never dialled; a name would be looked up
		Dialer: dialer, PoolSize: 16, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled},
		// The explorer connects hundreds of thousands of times, and go-redis
		// would take 64 KiB each time.
		ReadBufferSize: 512, WriteBufferSize: 512,
	}
}

// Connect does with a client what a command would else wait for when it is the
// first: it connects, and a cluster's client learns who has which keys. Scenarios
// are about locks that have done so.
func Connect(ctx context.Context, rdb redis.UniversalClient) error {
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		err := cluster.ForEachMaster(ctx,
			func(ctx context.Context, rdb *redis.Client) error {
				return rdb.Ping(ctx).Err()
			})
		if err != nil {
			return fmt.Errorf("connect to a cluster: %w", err)
		}
		return cluster.ClusterKeySlot(ctx, "").Err() // it asks for all commands
	}
	return rdb.Ping(ctx).Err()
}

// OfDriver says whether a command belongs to the driver: a handshake or a
// keep-alive.
func OfDriver(command string) bool {
	switch strings.ToUpper(command) {
	case "HELLO", "AUTH", "CLIENT", "SELECT", "READONLY", "COMMAND", "PING",
		"QUIT", "INFO", "CLUSTER", "ASKING":
		return true
	}
	return false
}
