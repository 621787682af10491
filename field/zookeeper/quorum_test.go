package zookeeper_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/field/zookeeper"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
)

// says is what a server says to a word of four letters, nothing when it can't be reached.
func says(s *servers.Server, word string) string {
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		return ""
	}
	defer c.Close()
	io.WriteString(c, word)
	text, _ := io.ReadAll(c)
	return string(text)
}

// leads asks these servers whether one of them leads all others.
func leads(all []*servers.Server) int {
	leader, followers := -1, 0
	for i, s := range all {
		switch text := says(s, "srvr"); {
		case strings.Contains(text, "Mode: leader\n"):
			leader = i
		case strings.Contains(text, "Mode: follower\n"):
			followers++
		}
	}
	if followers < len(all)-1 {
		return -1
	}
	return leader
}

func TestTheLockOutlivesTheLeaderThatGrantedIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// Sessions that outlast an election on a busy machine.
	const tick, timeout = 3 * time.Second, time.Minute
	members, err := stores.StartZooKeeper(ctx, tick, 3)
	storetest.Started(t, err, members...)
	storetest.LeaderDies(ctx, t, members, leads, func(kind string) scenarios.Lock {
		session, err := zookeeper.Open(storetest.Addrs(members), timeout, nil)
		require.NoError(t, err)
		t.Cleanup(session.Close)
		l, err := kinds[kind](session, kind) // a name for each kind
		require.NoError(t, err)
		return l
	}, "basic", "sequential")
}
