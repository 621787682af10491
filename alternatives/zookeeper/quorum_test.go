package zookeeper_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/alternatives/zookeeper"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
)

// mode is what a server says that it is: "leader", "follower", or nothing.
func mode(s *servers.Store) string {
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return ""
	}
	defer c.Close()
	io.WriteString(c, "srvr")
	text, _ := io.ReadAll(c)
	_, after, _ := strings.Cut(string(text), "Mode: ")
	word, _, _ := strings.Cut(after, "\n")
	return word
}

// leader waits until one of these servers leads all others, and returns its
// place.
func leader(t *testing.T, all []*servers.Store) (place int) {
	t.Helper()
	require.Eventually(t, func() bool {
		followers := 0
		for i, s := range all {
			switch mode(s) {
			case "leader":
				place = i
			case "follower":
				followers++
			}
		}
		return followers == len(all)-1 && mode(all[place]) == "leader"
	}, time.Minute, 10*time.Millisecond, "they have a leader")
	return place
}

// Most of the servers know of every lock, so who follows the leader knows it.
func TestTheLockOutlivesTheLeaderThatGrantedIt(t *testing.T) {
	need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// Sessions that outlast an election on a busy machine.
	const tick, timeout = 3 * time.Second, time.Minute
	members, err := servers.StartZooKeeperEnsemble(ctx, tick, 3)
	require.NoError(t, err)
	defer servers.StopStores(members)
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.Addr())
	}
	var holders, others []scenarios.Lock // a name for each kind
	of := []string{"basic", "sequential"}
	for _, kind := range of {
		owner := func() scenarios.Lock {
			session, err := zookeeper.Open(addrs, timeout, nil)
			require.NoError(t, err)
			t.Cleanup(session.Close)
			l, err := kinds[kind].build(session, kind)
			require.NoError(t, err)
			return l
		}
		holders, others = append(holders, owner()), append(others, owner())
		require.NoError(t, holders[len(holders)-1].Lock(ctx))
	}

	first := leader(t, members)
	members[first].Kill()
	rest := append(append([]*servers.Store{}, members[:first]...),
		members[first+1:]...)
	leader(t, rest)

	for i, kind := range of {
		t.Run(kind, func(t *testing.T) {
			holder, other := holders[i], others[i]
			granted, err := other.TryLock(ctx)
			for err != nil && ctx.Err() == nil { // a request to the dead one
				granted, err = other.TryLock(ctx)
			}
			require.NoError(t, err)
			assert.False(t, granted, "two hold it now")
			require.NoError(t, holder.Unlock(ctx), "its session lives on")
			require.NoError(t, other.Lock(ctx))
			if fenced, ok := other.(scenarios.Fenced); ok {
				assert.Greater(t, fenced.Token(),
					holder.(scenarios.Fenced).Token())
			}
			require.NoError(t, other.Unlock(ctx))
		})
	}
}
