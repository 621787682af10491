package zookeeper_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/field/zookeeper"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// tick is the servers' unit of time: sessions last from two ticks to twenty.
const tick = 200 * time.Millisecond

func TestMain(m *testing.M) { storetest.Main(m, stores.HasZooKeeper()) }

// kinds make the locks.
var kinds = map[string]func(*zookeeper.Session, string) (scenarios.Lock, error){
	"basic": func(s *zookeeper.Session, name string) (scenarios.Lock, error) {
		return zookeeper.NewBasic(s, name)
	},
	"sequential": func(s *zookeeper.Session, name string) (scenarios.Lock, error) {
		return zookeeper.NewSequential(s, name)
	},
	"recipe": func(s *zookeeper.Session, name string) (scenarios.Lock, error) {
		return zookeeper.NewRecipe(s, name)
	},
}

// ofSessions are the flaws of every lock that lasts as long as its session: a
// holder that hangs keeps it, and nobody looks whether the node is still there.
func ofSessions() []scenarios.Flaw {
	return lock.Flaws("hung_worker: orphaned", "lost_lease_told: not told")
}

func TestEveryLockBreaksWhatIsKnown(t *testing.T) {
	storetest.Compare(t, stores.HasZooKeeper(), "zookeeper",
		known("basic", append(ofSessions(), lock.Flaws("paused_holder: stale write")...)),
		known("sequential", ofSessions()),
		known("recipe", lock.Flaws(
			// It waits for one session timeout, and then goes on.
			"overrun_overlap: two holders", "oversell: lost update",
			"paused_holder: stale write"), scenarios.LossNotices))
}

// known is a lock in the scenarios, with a session for each of their processes.
func known(kind string, flaws []scenarios.Flaw, not ...scenarios.Feature) storetest.Lock {
	return storetest.Lock{Name: kind, Flaws: flaws,
		Not: append(not, scenarios.Reentry, scenarios.Renewal),
		Build: func(t *testing.T) lock.Build {
			open := storetest.PerProcess(func(env lock.Env) (*zookeeper.Session, error) {
				s, err := zookeeper.Open([]string{"127.0.0.1:1"}, env.TTL,
					func(string, string, time.Duration) (net.Conn, error) {
						return env.Dial(context.Background(), 0)
					})
				if err == nil {
					t.Cleanup(s.Close)
				}
				return s, err
			})
			return func(env scenarios.Env) (scenarios.Lock, error) {
				s, err := open(env)
				if err != nil {
					return nil, err
				}
				return kinds[kind](s, env.Key)
			}
		},
		Start: func(t *testing.T) (scenarios.RealServer, error) {
			return newStore(t, start(t)), nil
		},
	}
}

// store is a ZooKeeper server in the scenarios.
type store struct {
	*servers.Server
	conn *zk.Conn
}

// newStore connects to a server until the test ends.
func newStore(t *testing.T, server *servers.Server) *store {
	t.Helper()
	conn, _, err := zk.Connect([]string{server.Addr()}, 4*time.Second,
		zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return &store{server, conn}
}

// Holder is the first node of the lock, and the transaction that made it.
func (s *store) Holder(_ context.Context, key string) (string, time.Time, error) {
	path, err := s.first(key)
	if path == "" || err != nil {
		return "", time.Time{}, err
	}
	there, stat, err := s.conn.Exists(path)
	if !there || err != nil {
		return "", time.Time{}, err
	}
	return path + " " + strconv.FormatInt(stat.Czxid, 10), time.Time{}, nil
}

// nodes are those whose name has the key in it, each behind those below it.
func (s *store) nodes(key string) (paths []string, err error) {
	all, _, err := s.conn.Children("/locks")
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	for _, node := range all {
		if !strings.Contains(node, key) {
			continue
		}
		queue, _, _ := s.conn.Children("/locks/" + node)
		for _, waiter := range append(queue, "") {
			paths = append(paths, path.Join("/locks", node, waiter))
		}
	}
	return paths, err
}

// first is the node that has the lock: the lock's own, when it is ephemeral, or
// the smallest of a queue.
func (s *store) first(key string) (first string, err error) {
	nodes, err := s.nodes(key)
	smallest := ""
	for _, node := range nodes {
		rest, its := strings.CutPrefix(node, "/locks/"+key)
		number := rest[max(len(rest)-10, 0):]
		switch {
		case its && rest == "":
			_, stat, err := s.conn.Exists(node)
			if err == nil && stat.EphemeralOwner != 0 {
				return node, nil
			}
		case its && (smallest == "" || number < smallest):
			smallest, first = number, node
		}
	}
	return first, err
}

func (s *store) Delete(_ context.Context, key string) error {
	path, err := s.first(key)
	if path == "" || err != nil {
		return err
	}
	return s.conn.Delete(path, -1)
}

func (s *store) Tidy(_ context.Context, key string) error {
	nodes, err := s.nodes(key)
	for _, node := range nodes {
		s.conn.Delete(node, -1)
	}
	return err
}

// start starts a server that ends with the test.
func start(t *testing.T) *servers.Server { return startWith(t, tick) }

func startWith(t *testing.T, tick time.Duration) *servers.Server {
	t.Helper()
	one, err := stores.StartZooKeeper(context.Background(), tick, 1)
	storetest.Started(t, err, one...)
	return one[0]
}
