package etcd_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockladder/lockladder/field/etcd"
	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/internal/servers"
)

// leads asks these servers whether all follow the same one, which is one of them.
func leads(ctx context.Context, client *clientv3.Client) func([]*servers.Server) int {
	return func(all []*servers.Server) int {
		place, leaders := -1, map[uint64]bool{}
		for i, s := range all {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			status, err := client.Status(ctx, "http://"+s.Addr())
			cancel()
			if err != nil {
				return -1
			}
			leaders[status.Leader] = true
			if status.Leader == status.Header.MemberId {
				place = i
			}
		}
		if len(leaders) > 1 {
			return -1
		}
		return place
	}
}

// Most of the servers know of every lock, so who follows the leader knows it. A
// replica that follows later does not: see the test of MariaDB's.
func TestTheLockOutlivesTheLeaderThatGrantedIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	members, err := stores.StartEtcdCluster(ctx, 3)
	storetest.Started(t, err, members...)
	owner := func() (*clientv3.Client, *etcd.Lock) {
		client, err := etcd.Open(ctx, at(storetest.Addrs(members)...))
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		l, err := etcd.New(client, "stock", time.Minute)
		require.NoError(t, err)
		return client, l
	}
	client, holder := owner()
	_, other := owner()
	require.NoError(t, holder.Lock(ctx))

	rest := storetest.KillLeader(t, members, leads(ctx, client))
	storetest.Refused(ctx, t, other)
	select {
	case <-holder.Lost():
		t.Error("its session ended with the leader")
	default:
	}
	waited := make(chan error, 1)
	go func() { waited <- other.Lock(ctx) }()
	require.Eventually(t, func() bool {
		found, err := client.Get(ctx, "/locks/stock/", clientv3.WithPrefix(),
			clientv3.WithCountOnly())
		return err == nil && found.Count == 2
	}, time.Minute, 10*time.Millisecond, "the other one is in the queue")
	assert.Empty(t, waited)
	before := holder.Token()
	require.NoError(t, holder.Unlock(ctx))
	require.NoError(t, <-waited)
	assert.Greater(t, other.Token(), before)

	// The price: a server that is alone grants nothing.
	require.NoError(t, other.Unlock(ctx))
	rest[0].Kill()
	short, end := context.WithTimeout(ctx, time.Second)
	defer end()
	granted, err := holder.TryLock(short)
	assert.Error(t, err)
	assert.False(t, granted)
}
