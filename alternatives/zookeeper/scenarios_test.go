package zookeeper_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/alternatives/zookeeper"
	"github.com/lockladder/lockladder/internal/pages/results"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// tick is the servers' unit of time: sessions last from two ticks to twenty.
const tick = 200 * time.Millisecond

// kind is one of the locks.
type kind struct {
	build func(*zookeeper.Session, string) (scenarios.Lock, error)
	flaws []scenarios.Flaw
	not   []scenarios.Feature
}

var kinds = map[string]kind{
	"basic": {
		build: func(s *zookeeper.Session, name string) (scenarios.Lock, error) {
			return zookeeper.NewBasic(s, name)
		},
		not:   []scenarios.Feature{scenarios.Reentry, scenarios.Renewal},
		flaws: append(ofSessions(), lock.Flaws("paused_holder: stale write")...),
	},
	"sequential": {
		build: func(s *zookeeper.Session, name string) (scenarios.Lock, error) {
			return zookeeper.NewSequential(s, name)
		},
		not:   []scenarios.Feature{scenarios.Reentry, scenarios.Renewal},
		flaws: ofSessions(),
	},
	"recipe": {
		build: func(s *zookeeper.Session, name string) (scenarios.Lock, error) {
			return zookeeper.NewRecipe(s, name)
		},
		not: []scenarios.Feature{scenarios.Reentry, scenarios.Renewal,
			scenarios.LossNotices},
		flaws: lock.Flaws(
			// It waits for one session timeout, and then goes on.
			"overrun_overlap: two holders", "oversell: lost update",
			"paused_holder: stale write"),
	},
}

// ofSessions are the flaws of every lock that lasts as long as its session: a
// holder that hangs keeps it, and nobody looks whether the node is still there.
func ofSessions() []scenarios.Flaw {
	return lock.Flaws("hung_worker: orphaned", "lost_lease_told: not told")
}

// sessions has one for each process of the scenarios.
type sessions struct {
	mu sync.Mutex
	of map[any]*zookeeper.Session
}

// session is the process's. It ends with the test.
func (all *sessions) session(t *testing.T, env scenarios.Env) (
	*zookeeper.Session, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s, ok := all.of[env.Process]; ok {
		return s, nil
	}
	s, err := zookeeper.Open([]string{"127.0.0.1:1"}, env.TTL,
		func(string, string, time.Duration) (net.Conn, error) {
			return env.Dial(context.Background(), 0)
		})
	if err == nil {
		all.of[env.Process] = s
		t.Cleanup(s.Close)
	}
	return s, err
}

func TestEveryLockBreaksWhatIsKnown(t *testing.T) {
	need(t)
	reports := map[string]scenarios.Report{}
	var mu sync.Mutex
	t.Run("locks", func(t *testing.T) { runAll(t, &mu, reports) })
	if !t.Failed() && len(reports) > 0 {
		results.Compare(t, "zookeeper", results.Of("basic", reports["basic"]),
			results.Of("sequential", reports["sequential"]),
			results.Of("recipe", reports["recipe"]))
	}
}

// runAll runs every lock through the scenarios, at the same time.
func runAll(t *testing.T, mu *sync.Mutex,
	reports map[string]scenarios.Report) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			all := &sessions{of: map[any]*zookeeper.Session{}}
			build := func(env scenarios.Env) (scenarios.Lock, error) {
				s, err := all.session(t, env)
				if err != nil {
					return nil, err
				}
				return kind.build(s, env.Key)
			}
			scenarios.Work(t, build) // first: a worker needs no servers
			t.Parallel()
			pool := serverstest.Stores(4, func() (scenarios.RealServer, error) {
				s := &store{Store: start(t)}
				s.conn = connect(t, s.Addr())
				return s, nil
			})
			report := scenarios.Run(t, build, scenarios.OnServersOf(pool),
				scenarios.WithoutFeatures(kind.not...),
				scenarios.Flaws(kind.flaws...))
			mu.Lock()
			defer mu.Unlock()
			reports[name] = report
		})
	}
}

// store is a ZooKeeper server in the scenarios.
type store struct {
	*servers.Store
	conn *zk.Conn
}

func (s *store) Auth() (user, password string) { return "", "" }

func (s *store) Restart() error {
	return s.Store.Restart(context.Background())
}

// Holder is the first node of the lock, and the transaction that made it.
func (s *store) Holder(_ context.Context, key string) (string, time.Time,
	error) {
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

// first is the node that has the lock: the lock's own, when it is ephemeral, or
// the smallest of a queue.
func (s *store) first(key string) (string, error) {
	nodes, _, err := s.conn.Children("/locks")
	if errors.Is(err, zk.ErrNoNode) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	smallest, path := "", ""
	consider := func(parent, node string) {
		number := node[max(len(node)-10, 0):]
		if smallest == "" || number < smallest {
			smallest, path = number, parent+"/"+node
		}
	}
	for _, node := range nodes {
		switch {
		case strings.HasPrefix(node, key+"_lock_"):
			consider("/locks", node)
		case node == key:
			queue, _, err := s.conn.Children("/locks/" + node)
			if err != nil {
				return "", err
			}
			_, stat, err := s.conn.Exists("/locks/" + node)
			if err == nil && stat.EphemeralOwner != 0 {
				return "/locks/" + node, nil
			}
			for _, waiter := range queue {
				consider("/locks/"+node, waiter)
			}
		}
	}
	return path, nil
}

func (s *store) Delete(_ context.Context, key string) error {
	path, err := s.first(key)
	if path == "" || err != nil {
		return err
	}
	return s.conn.Delete(path, -1)
}

func (s *store) Tidy(_ context.Context, key string) error {
	nodes, _, err := s.conn.Children("/locks")
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	for _, node := range nodes {
		if !strings.Contains(node, key) {
			continue
		}
		queue, _, _ := s.conn.Children("/locks/" + node)
		for _, waiter := range queue {
			s.conn.Delete("/locks/"+node+"/"+waiter, -1)
		}
		s.conn.Delete("/locks/"+node, -1)
	}
	return err
}

func (s *store) Requests(from io.Reader) scenarios.Frames {
	return zookeeper.Requests(from)
}

func (s *store) Replies(from io.Reader) scenarios.Frames {
	return zookeeper.Replies(from)
}

// start starts a server that ends with the test.
func start(t *testing.T) *servers.Store {
	t.Helper()
	need(t)
	s, err := servers.StartZooKeeper(context.Background(), tick)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

// connect is a connection of the test's own.
func connect(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{addr}, 4*time.Second,
		zk.WithLogger(silent{}), zk.WithLogInfo(false))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}
