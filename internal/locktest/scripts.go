package locktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leaseMs is the lease of every owner, in milliseconds. A turn is kept for 200.
const leaseMs = 10_000

// Scripts are those of a lock whose key is stock.
type Scripts struct {
	// Acquire asks for an owner that will have entered so many times.
	Acquire func(ctx context.Context, rdb *redis.Client, id string, count int,
		wait bool) (int64, error)

	// Release leaves one level, down to a count.
	Release func(ctx context.Context, rdb *redis.Client, id string, count int) (int64, error)
}

// Server is a server whose time stands still unless Pass moves it on.
type Server struct {
	Mini   *miniredis.Miniredis
	Client *redis.Client

	t       *testing.T
	scripts Scripts
	told    *redis.PubSub
	now     time.Time
}

// Serve starts a server for a lock's scripts.
func Serve(t *testing.T, scripts Scripts) *Server {
	s := &Server{Mini: miniredis.RunT(t), t: t, scripts: scripts,
		now: time.UnixMilli(1_000_500)}
	s.Client = redis.NewClient(&redis.Options{Addr: s.Mini.Addr(), ReadTimeout: -1}) // the race detector is slow
	s.told = s.Client.Subscribe(t.Context(), "{stock}:turn")
	_, err := s.told.Receive(t.Context())
	require.NoError(t, err, "it is confirmed")
	s.Mini.SetTime(s.now)
	t.Cleanup(func() {
		assert.NoError(t, s.told.Close())
		assert.NoError(t, s.Client.Close())
	})
	return s
}

// Pass lets time pass.
func (s *Server) Pass(d time.Duration) {
	s.now = s.now.Add(d)
	s.Mini.SetTime(s.now)
	s.Mini.FastForward(d)
}

// Acquire is the script's answer.
func (s *Server) Acquire(id string, count int, wait bool) int64 {
	reply, err := s.scripts.Acquire(s.t.Context(), s.Client, id, count, wait)
	require.NoError(s.t, err)
	return reply
}

// Waits asks for owners that wait, and are refused. It returns when the last is to
// ask again.
func (s *Server) Waits(ids ...string) (again int64) {
	for _, id := range ids {
		again = -s.Acquire(id, 1, true)
		require.GreaterOrEqual(s.t, again, int64(0), "%s has the lock", id)
	}
	return again
}

// Release is the script's answer.
func (s *Server) Release(id string, count int) int64 {
	reply, err := s.scripts.Release(s.t.Context(), s.Client, id, count)
	require.NoError(s.t, err)
	return reply
}

// Queue has the owners that wait, in their order.
func (s *Server) Queue() []string {
	return s.Client.ZRange(s.t.Context(), "{stock}:queue", 0, -1).Val()
}

// waiters are those that the server knows, with what it knows of them.
func (s *Server) waiters() map[string]string {
	return s.Client.HGetAll(s.t.Context(), "{stock}:waiters").Val()
}

// Turn is the owner whose turn it is.
func (s *Server) Turn() string {
	return s.Client.Get(s.t.Context(), "{stock}:turn").Val()
}

func (s *Server) ttl(key string) int64 {
	return s.Client.PTTL(s.t.Context(), key).Val().Milliseconds()
}

// Messages are those of the turns since the last call. A message of its own marks
// the end.
func (s *Server) Messages() (told []string) {
	s.Mini.Publish("{stock}:turn", "the end")
	for {
		m, err := s.told.ReceiveMessage(s.t.Context())
		require.NoError(s.t, err)
		if m.Payload == "the end" {
			return told
		}
		told = append(told, m.Payload)
	}
}

// RunScripts runs all tests that the scripts of every lock with a queue pass.
func RunScripts(t *testing.T, scripts Scripts) {
	for name, test := range ofScripts {
		t.Run(name, func(t *testing.T) { test(t, Serve(t, scripts)) })
	}
}

// ofScripts are what the scripts of every lock with a queue do.
var ofScripts = map[string]func(*testing.T, *Server){
	"the server queues in the order of arrival": func(t *testing.T, s *Server) {
		assert.Equal(t, int64(1), s.Acquire("a", 1, true))
		assert.Empty(t, s.Queue(), "the holder does not wait")
		assert.Empty(t, s.waiters())
		s.Waits("d", "c", "b")
		assert.Equal(t, []string{"d", "c", "b"}, s.Queue())
		assert.Equal(t, map[string]string{"b": "1020500 200", "c": "1020500 200",
			"d": "1020500 200"}, s.waiters(), "alive for two leases")

		s.Pass(time.Second)
		s.Waits("c", "d")
		assert.Equal(t, []string{"d", "c", "b"}, s.Queue(), "their places stay")
		assert.Equal(t, map[string]string{"b": "1020500 200", "c": "1021500 200",
			"d": "1021500 200"}, s.waiters())
		assert.Empty(t, s.Messages())
	},
	"an owner that does not wait is not in the queue": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		assert.Equal(t, int64(-leaseMs), s.Acquire("b", 1, false))
		assert.Equal(t, int64(-leaseMs), s.Acquire("b", 2, true), "it had it and lost it")
		assert.Empty(t, s.Queue())
		assert.Empty(t, s.waiters())
		assert.Equal(t, int64(1), s.Acquire("a", 2, true), "it has it")
		assert.Equal(t, "2", s.Mini.HGet("stock", "a"))
		assert.Empty(t, s.Queue())
	},
	// A holder enters again with a count of 2. When its lease is over it must not
	// come in as if it had never left.
	"a lease that is over is not entered again": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		s.Pass(leaseMs * time.Millisecond)
		assert.Equal(t, int64(-leaseMs), s.Acquire("a", 2, true))
		assert.False(t, s.Mini.Exists("stock"))
	},
	"a refusal says when to ask again": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		s.Pass(3 * time.Second)
		assert.Equal(t, int64(7000), s.Waits("b"), "when the lease ends")
		s.Mini.SetTTL("stock", time.Minute)
		assert.Equal(t, int64(leaseMs), s.Waits("b"), "once a lease, to be alive")
		s.Mini.SetTTL("stock", 0)
		assert.Zero(t, s.Waits("b"), "within this millisecond")
		s.Client.Persist(t.Context(), "stock")
		assert.Equal(t, int64(leaseMs), s.Waits("b"))
		s.Mini.SetTTL("stock", leaseMs*time.Millisecond)
		s.Release("a", 0)
		assert.Equal(t, int64(200), s.Waits("c"), "when b's turn ends")
	},
	"the first alive has the turn": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		s.Waits("b", "c")
		s.Pass(5 * time.Second)
		s.Waits("d")
		s.Mini.SetTTL("stock", time.Minute)
		s.Pass(15 * time.Second) // in this millisecond b and c are dead
		assert.Equal(t, int64(1), s.Release("a", 0))
		assert.Equal(t, "d", s.Turn())
		assert.Equal(t, int64(200), s.ttl("{stock}:turn"))
		assert.Equal(t, []string{"d 200"}, s.Messages())
		assert.Empty(t, s.Queue())
		assert.Empty(t, s.waiters())
	},
	// The lease has ended without a release. The first client that asks finds out
	// whose turn it is.
	"an acquisition passes the turn to the first alive": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		s.Waits("b", "c")
		s.Pass(5 * time.Second)
		s.Waits("d", "e")
		s.Pass(15 * time.Second)
		assert.Equal(t, int64(200), s.Waits("f"))
		assert.Equal(t, "d", s.Turn())
		assert.Equal(t, int64(200), s.ttl("{stock}:turn"))
		assert.Equal(t, []string{"d 200"}, s.Messages())
		assert.Equal(t, []string{"e", "f"}, s.Queue())
		assert.Equal(t, map[string]string{"e": "1025500 200", "f": "1040500 200"}, s.waiters())

		s.Pass(50 * time.Millisecond)
		s.Waits("f")
		assert.Equal(t, []string{"d 150"}, s.Messages(), "it may have been lost")
		assert.Equal(t, int64(1), s.Acquire("d", 1, true))
		assert.Empty(t, s.Turn(), "taken")
		assert.Equal(t, int64(leaseMs), s.ttl("stock"))
		s.Waits("f")
		assert.Empty(t, s.Messages(), "it is nobody's turn")
	},
	"the first in the queue may be the one that asks": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		s.Waits("b", "c")
		s.Pass(leaseMs * time.Millisecond)
		assert.Equal(t, int64(1), s.Acquire("b", 1, true))
		assert.Empty(t, s.Turn())
		assert.Equal(t, []string{"c"}, s.Queue())
	},
	// Nobody gets in before the one that waits, and no call removes more.
	"one of a thousand dead ones has a turn": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		for n := range 2500 {
			s.Waits(fmt.Sprint("dead", n))
		}
		s.Mini.SetTTL("stock", time.Minute)
		s.Pass(15 * time.Second)
		s.Waits("d")
		s.Mini.SetTTL("{stock}:queue", time.Minute)
		s.Pass(5 * time.Second)
		s.Release("a", 0)
		assert.Equal(t, "dead999", s.Turn())
		assert.Len(t, s.Queue(), 1501)
		s.Pass(200 * time.Millisecond)
		assert.Equal(t, int64(-200), s.Acquire("f", 1, false))
		assert.Equal(t, "dead1999", s.Turn())
		s.Pass(200 * time.Millisecond)
		assert.Equal(t, int64(-200), s.Acquire("f", 1, false))
		assert.Equal(t, "d", s.Turn())
		assert.Empty(t, s.Queue())
	},
	// A queue ends when all that wait in it must be dead, and no asker with a shorter
	// lease shortens that.
	"the queue lasts for two leases": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		s.Waits("b")
		assert.Equal(t, int64(2*leaseMs), s.ttl("{stock}:queue"))
		assert.Equal(t, int64(2*leaseMs), s.ttl("{stock}:waiters"))
		s.Pass(time.Second)
		s.Waits("c")
		assert.Equal(t, int64(2*leaseMs), s.ttl("{stock}:queue"))
		assert.Equal(t, int64(2*leaseMs), s.ttl("{stock}:waiters"))
		s.Mini.SetTTL("{stock}:queue", time.Minute)
		s.Mini.SetTTL("{stock}:waiters", time.Minute)
		s.Waits("c")
		assert.Equal(t, int64(60_000), s.ttl("{stock}:queue"))
		assert.Equal(t, int64(60_000), s.ttl("{stock}:waiters"))
	},
	"an owner that gives up leaves the queue and passes its turn": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		s.Waits("b", "c", "d")
		assert.Zero(t, s.Release("c", 0))
		assert.Equal(t, []string{"b", "d"}, s.Queue())
		assert.NotContains(t, s.waiters(), "c")
		assert.Empty(t, s.Turn(), "a has the lock")
		s.Release("a", 0)
		assert.Equal(t, []string{"b 200"}, s.Messages())
		assert.Zero(t, s.Release("e", 0))
		assert.Equal(t, "b", s.Turn(), "it is not e's to pass on")
		assert.Zero(t, s.Release("b", 0))
		assert.Equal(t, "d", s.Turn())
		assert.Equal(t, []string{"d 200"}, s.Messages())
		assert.Zero(t, s.Release("d", 0))
		assert.Empty(t, s.Turn(), "nobody waits any more")
	},
	"a level is left with its lease": func(t *testing.T, s *Server) {
		s.Acquire("a", 1, true)
		s.Acquire("a", 2, true)
		s.Pass(time.Second)
		assert.Equal(t, int64(1), s.Release("a", 1))
		assert.Equal(t, "1", s.Mini.HGet("stock", "a"))
		assert.Equal(t, int64(leaseMs), s.ttl("stock"))
		assert.Equal(t, int64(1), s.Release("a", 0))
		assert.False(t, s.Mini.Exists("stock"))
		assert.Zero(t, s.Release("a", 0), "it is free")
		s.Acquire("b", 1, true)
		assert.Zero(t, s.Release("a", 0), "it is b's")
		assert.True(t, s.Mini.Exists("stock"))
	},
}
