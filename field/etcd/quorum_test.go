package etcd_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockladder/lockladder/field/etcd"
	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
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

func TestTheLockOutlivesTheLeaderThatGrantedIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	members, err := stores.StartEtcd(ctx, 3)
	storetest.Started(t, err, members...)
	open := func() *clientv3.Client {
		client, err := dial(t, storetest.Addrs(members))
		require.NoError(t, err)
		return client
	}
	storetest.LeaderDies(ctx, t, members, leads(ctx, open()), func(string) scenarios.Lock {
		l, err := etcd.New(open(), "stock", time.Minute)
		require.NoError(t, err)
		return l
	}, "etcd")
}
