package lab_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
)

// What the network and the servers do to locks is tested with locks: by the scenarios
// and their timelines. Here is what no lock shows.

const key = "stock"

// aWorld is a world with one node, where nothing takes time.
var aWorld = lab.Config{Nodes: 1, Key: key, TTL: 10 * time.Second}

// plays runs a script of a client whose server is ten milliseconds away.
func plays(t *testing.T, script func(w *lab.World, a *lab.Client, rdb redis.UniversalClient)) {
	t.Helper()
	config := aWorld
	config.Latency = 10 * time.Millisecond
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		a := w.Client("A")
		w.Record()
		a.Go(func() { script(w, a, a.Env(key).Nodes[0]) })
		w.Play()
		assert.Empty(t, w.Failures())
	}))
}

func TestAServerEvictsEveryKeyButTheLocks(t *testing.T) {
	plays(t, func(w *lab.World, _ *lab.Client, rdb redis.UniversalClient) {
		rdb.MSet(w.Context(), key, "a", "beside", "b")
		w.Node(0).Evict()
		assert.Equal(t, []string{key}, rdb.Keys(w.Context(), "*").Val())
	})
}

func TestACommandBeforeWhichItsClientDiesIsNotExecuted(t *testing.T) {
	plays(t, func(w *lab.World, a *lab.Client, rdb redis.UniversalClient) {
		a.Fault(lab.Renewal, 2, lab.Fault{CrashBefore: true})
		rdb.Set(w.Context(), key, "a", 0)
		rdb.Del(w.Context(), key)
		assert.True(t, a.Dead())
		assert.False(t, w.Node(0).Free())
	})
}

// Nothing of a transaction is executed of which the server refuses a command, or EXEC.
func TestARefusedCommandEndsItsTransaction(t *testing.T) {
	for refused := 2; refused <= 3; refused++ { // SET, EXEC
		plays(t, func(w *lab.World, a *lab.Client, rdb redis.UniversalClient) {
			a.Fault(lab.Renewal, refused, lab.Fault{Error: "MISCONF"})
			tx := rdb.TxPipeline()
			tx.Set(w.Context(), key, "a", 0)
			_, err := tx.Exec(w.Context())
			assert.Error(t, err)
			assert.ErrorIs(t, rdb.Get(w.Context(), key).Err(), redis.Nil)
		})
	}
}

// A driver that sends without waiting knows the replies by their order, so the
// answer to a keep-alive must not overtake the one before it.
func TestAKeepAliveDoesNotOvertakeAReply(t *testing.T) {
	plays(t, func(w *lab.World, _ *lab.Client, rdb redis.UniversalClient) {
		pipe := rdb.Pipeline()
		set := pipe.Set(w.Context(), key, "a", 0)
		ping := pipe.Ping(w.Context())
		_, err := pipe.Exec(w.Context())
		assert.NoError(t, err)
		assert.Equal(t, "OK", set.Val())
		assert.Equal(t, "PONG", ping.Val())
	})
}

func TestAPanicOfTheScenarioIsAnError(t *testing.T) {
	err := lab.Run(t, aWorld, func(*lab.World) { panic("lost the thread") })
	assert.EqualError(t, err, "the scenario panicked: lost the thread")
}

// The driver of a client that could not connect sixteen times dials by itself
// from then on; that is no leak of the lock's.
func TestANodeMayRefuseForALongTime(t *testing.T) {
	plays(t, func(w *lab.World, a *lab.Client, rdb redis.UniversalClient) {
		a.Step("down", func() { w.Node(0).Refuse(true) })
		for range 100 {
			assert.Error(t, rdb.Get(w.Context(), key).Err())
			a.Sleep(100 * time.Millisecond)
		}
	})
}
