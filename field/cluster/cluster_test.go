package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
)

// A Redis Cluster moves a slot in three steps: it is announced, its keys are
// taken over, and the new master becomes its owner. Clients are sent after the
// keys by ASK and by MOVED. A lock on several nodes would be the same on each.

// forms are the kinds of keys that Redis Cluster tells apart: where a lock has
// several of its own, all must lie in one slot.
var forms = map[string]func(string) string{
	"a plain name":         func(name string) string { return name },
	"a hash tag":           func(name string) string { return "shop:{" + name + "}:lock" },
	"a hash tag in front":  func(name string) string { return "{" + name + "}" },
	"a second hash tag":    func(name string) string { return "{" + name + "}:{lock}" },
	"a brace that is open": func(name string) string { return name + ":{lock" },
	"a brace at the end":   func(name string) string { return name + "{" },
}

// inCluster calls do for every rung on one node and every kind of key, with a
// lock of A and one of B.
func inCluster(t *testing.T, c *Cluster, rungs []ladder.Rung,
	do func(t *testing.T, rung ladder.Rung, key string, a, b scenarios.Lock)) {
	for _, rung := range rungs {
		for _, kind := range slices.Sorted(maps.Keys(forms)) {
			t.Run(rung.Name+"/"+kind, func(t *testing.T) {
				key := forms[kind](fmt.Sprintf("lockladder:%s:%d", rung.Name,
					time.Now().UnixNano()))
				do(t, rung, key, ownerIn(t, c, rung, key), ownerIn(t, c, rung, key))
			})
		}
	}
}

// ownerIn is an owner of a rung's lock, with a client of its own.
func ownerIn(t *testing.T, c *Cluster, rung ladder.Rung, key string) scenarios.Lock {
	t.Helper()
	_, password := c.Auth()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Masters(), Password: password})
	t.Cleanup(func() { rdb.Close() })
	owner, err := rung.Build(scenarios.Env{Nodes: []redis.UniversalClient{rdb},
		Key: key, TTL: time.Minute, Now: time.Now})
	require.NoError(t, err)
	return owner
}

// onOneNode are the rungs that lock on a single node.
func onOneNode() []ladder.Rung {
	return slices.DeleteFunc(slices.Clone(ladder.Rungs),
		func(rung ladder.Rung) bool { return rung.Nodes > 1 })
}

// severalKeys says whether a rung's scripts name more keys than the lock's.
func severalKeys(rung ladder.Rung) bool {
	return strings.HasSuffix(rung.Name, "/fenced") || mostlyMissing(rung)
}

// mostlyMissing says whether most of those keys are missing most of the time.
func mostlyMissing(rung ladder.Rung) bool {
	return slices.Contains([]string{"reentrant/fair", "reentrant/cohort",
		"reentrant/readwrite"}, rung.Name)
}

// A lock is held and released while its slot moves. A script with several keys is answered
// TRYAGAIN meanwhile if one of them is missing: it may be at the other master. So it is when
// one was taken and the other not yet, and so it is of a lock that is free, whose only key is
// the counter. The locks whose keys are mostly missing can then neither be had nor released.
// When the move has finished, all is as before.
func TestALockWhoseSlotMoves(t *testing.T) {
	servers.Need(t)
	t.Parallel()
	c, err := StartCluster(t.Context(), 3)
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	ctx := t.Context()
	refused := func(t *testing.T, l scenarios.Lock, when string) {
		granted, err := l.TryLock(ctx)
		require.NoError(t, err, when)
		require.False(t, granted, "two holders, %s", when)
	}
	tryAgain := func(t *testing.T, l scenarios.Lock, when string) {
		granted, err := l.TryLock(ctx)
		require.Error(t, err, when)
		// The driver may still have the map of slots from before the last move.
		assert.Regexp(t, "TRYAGAIN|MOVED", err.Error(), when)
		assert.False(t, granted, when)
	}
	inCluster(t, c, onOneNode(), func(t *testing.T, rung ladder.Rung, key string,
		a, b scenarios.Lock) {
		begins := func() *Move {
			move, err := c.Move(ctx, key)
			require.NoError(t, err)
			return move
		}
		require.NoError(t, a.Lock(ctx))
		refused(t, b, "before the move")
		move := begins()
		if mostlyMissing(rung) {
			tryAgain(t, b, "when it is announced")
			require.NoError(t, move.Take(ctx))
			assert.ErrorContains(t, a.Unlock(ctx), "TRYAGAIN")
			require.NoError(t, move.Finish(ctx))
			require.NoError(t, a.Unlock(ctx), "it may be called again")
			require.NoError(t, b.Lock(ctx))
			require.NoError(t, b.Unlock(ctx))
			return
		}
		refused(t, b, "when it is announced")
		if severalKeys(rung) {
			require.NoError(t, move.Take(ctx, key))
			tryAgain(t, b, "when its counter is not taken yet")
		}
		require.NoError(t, move.Take(ctx))
		refused(t, b, "when the keys are taken")
		require.NoError(t, move.Finish(ctx))
		refused(t, b, "after it")

		move = begins()
		waited := make(chan error, 1)
		if !severalKeys(rung) {
			go func() { waited <- b.Lock(ctx) }()
		}
		require.NoError(t, move.Take(ctx))
		require.NoError(t, a.Unlock(ctx), "it is sent after the key")
		if severalKeys(rung) {
			tryAgain(t, b, "when it is free, and only its counter is there")
		} else {
			require.NoError(t, <-waited, "so is the one that it wakes")
			require.NoError(t, move.Take(ctx), "B may have set it where it was")
		}
		require.NoError(t, move.Finish(ctx))
		if fenced, ok := b.(scenarios.Fenced); ok {
			require.NoError(t, b.Lock(ctx))
			assert.Equal(t, uint64(2), fenced.Token(), "the counter has moved, too")
		}
		require.NoError(t, b.Unlock(ctx))
	})
	// lock.SecondKey can't name a second key for a name with a stray brace: the cluster says
	// so, and nothing is granted.
	for _, rung := range onOneNode() {
		l := ownerIn(t, c, rung, "a}b:"+rung.Name)
		granted, err := l.TryLock(ctx)
		if severalKeys(rung) {
			assert.ErrorContains(t, err, "CROSSSLOT", rung.Name)
			assert.False(t, granted, rung.Name)
			continue
		}
		require.NoError(t, err, rung.Name)
		assert.True(t, granted, rung.Name)
		assert.NoError(t, l.Unlock(ctx), rung.Name)
	}
}
