package etcd_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/lockladder/lockladder/field/etcd"
	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

func TestMain(m *testing.M) { storetest.Main(m, stores.HasEtcd()) }

var flaws = lock.Flaws(
	// Unlock runs with the caller's context, and deletes without looking.
	"cancelled_context: orphaned", "lost_lease_told: false success",
	// The lock lasts as long as its session.
	"hung_worker: orphaned",
	// A request waits for a server to come back until its context ends.
	"nodes_down: hangs")

var theLock = storetest.Lock{Name: "etcd", Flaws: flaws,
	Not: []scenarios.Feature{scenarios.Reentry, scenarios.Renewal,
		scenarios.LossNotices}, // see Lost
	Build: func(t *testing.T) lock.Build {
		open := storetest.PerProcess(func(env lock.Env) (*clientv3.Client, error) {
			return dial(t, []string{"127.0.0.1:1"}, grpc.WithContextDialer(
				func(ctx context.Context, _ string) (net.Conn, error) {
					return env.Dial(ctx, 0)
				}))
		})
		return func(env scenarios.Env) (scenarios.Lock, error) {
			client, err := open(env)
			if err != nil {
				return nil, err
			}
			return etcd.New(client, env.Key, env.TTL)
		}
	},
	Start: func(t *testing.T) (scenarios.RealServer, error) {
		s := start(t)
		client, err := dial(t, []string{s.Addr()})
		return &store{s, client}, err
	},
}

func TestEveryLockBreaksWhatIsKnown(t *testing.T) {
	storetest.Compare(t, stores.HasEtcd(), "etcd", theLock)
}

func TestBadInputIsRefused(t *testing.T) {
	_, err := etcd.New(nil, "stock", time.Second)
	assert.ErrorIs(t, err, lock.ErrInvalid)
}

// dial makes a client that ends with the test.
func dial(t *testing.T, addrs []string, options ...grpc.DialOption) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: addrs, Logger: zap.NewNop(),
		DialOptions: options})
	if err == nil {
		t.Cleanup(func() { client.Close() })
	}
	return client, err
}

// store is an etcd server in the scenarios.
type store struct {
	*servers.Server
	client *clientv3.Client
}

// first is the oldest key of the lock: its holder's.
func (s *store) first(ctx context.Context, key string) (string, int64, error) {
	found, err := s.client.Get(ctx, "/locks/"+key+"/", clientv3.WithFirstCreate()...)
	if err != nil || len(found.Kvs) == 0 {
		return "", 0, err
	}
	return string(found.Kvs[0].Key), found.Kvs[0].CreateRevision, nil
}

func (s *store) Holder(ctx context.Context, key string) (string, time.Time, error) {
	first, revision, err := s.first(ctx, key)
	if first == "" || err != nil {
		return "", time.Time{}, err
	}
	return fmt.Sprint(first, " ", revision), time.Time{}, nil
}

func (s *store) Delete(ctx context.Context, key string) error {
	first, _, err := s.first(ctx, key)
	if first == "" || err != nil {
		return err
	}
	_, err = s.client.Delete(ctx, first)
	return err
}

func (s *store) Tidy(ctx context.Context, key string) error {
	all, err := s.client.Get(ctx, "/locks/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	for _, kv := range all.Kvs {
		if !strings.Contains(string(kv.Key), key) {
			continue
		}
		if _, err := s.client.Delete(ctx, string(kv.Key)); err != nil {
			return err
		}
	}
	return nil
}

// start starts a server that ends with the test.
func start(t *testing.T) *servers.Server {
	t.Helper()
	one, err := stores.StartEtcd(context.Background(), 1)
	storetest.Started(t, err, one...)
	return one[0]
}
