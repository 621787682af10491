package cohort

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The scripts by themselves: what the server remembers of those that wait. Leases
// are ten seconds, and a turn is kept for 200 ms.

const tenSeconds = 10_000

type server struct {
	t    *testing.T
	mini *miniredis.Miniredis
	rdb  *redis.Client
	told *redis.PubSub
	now  time.Time
}

func serve(t *testing.T) *server {
	s := &server{t: t, mini: miniredis.RunT(t), now: time.UnixMilli(1_000_500)}
	s.rdb = redis.NewClient(&redis.Options{Addr: s.mini.Addr()})
	s.told = s.rdb.Subscribe(t.Context(), "{stock}:turn")
	_, err := s.told.Receive(t.Context()) // it is confirmed
	require.NoError(t, err)
	s.mini.SetTime(s.now)
	t.Cleanup(func() {
		assert.NoError(t, s.told.Close())
		assert.NoError(t, s.rdb.Close())
	})
	return s
}

func (s *server) pass(d time.Duration) {
	s.now = s.now.Add(d)
	s.mini.SetTime(s.now)
	s.mini.FastForward(d)
}

func keys() []string { return (&Lock{key: "stock"}).keys() }

// acquire asks for an owner that has entered so many times, and for those behind
// it.
func (s *server) acquire(id string, count int, wait bool, behind ...any) int64 {
	return s.instead("", id, count, wait, 0, behind...)
}

// instead is acquire for a process that gives up an old owner id, and reserves
// fencing tokens.
func (s *server) instead(old, id string, count int, wait bool, tokens int,
	behind ...any) int64 {
	reply, err := acquire.Run(s.t.Context(), s.rdb, keys(), append([]any{id, tenSeconds,
		count, wait, 200, old, tokens}, behind...)...).Int64()
	require.NoError(s.t, err)
	return reply
}

// waits asks for an owner that waits, and is refused.
func (s *server) waits(id string, behind ...any) (again int64) {
	reply := s.acquire(id, 1, true, behind...)
	require.LessOrEqual(s.t, reply, int64(0), "%s has the lock", id)
	return -reply
}

func (s *server) release(id string, count int, neighbor string) int64 {
	return s.unused(id, count, neighbor, 0)
}

// unused is release for a process that gives back so many fencing tokens.
func (s *server) unused(id string, count int, neighbor string, tokens int) int64 {
	reply, err := release.Run(s.t.Context(), s.rdb, keys(), id, tenSeconds, count,
		neighbor, tokens).Int64()
	require.NoError(s.t, err)
	return reply
}

func (s *server) queue() []string {
	return s.rdb.ZRange(s.t.Context(), "{stock}:queue", 0, -1).Val()
}

// waiters are those that the server knows, with what it knows of them.
func (s *server) waiters() map[string]string {
	return s.rdb.HGetAll(s.t.Context(), "{stock}:waiters").Val()
}

func (s *server) turn() string { return s.rdb.Get(s.t.Context(), "{stock}:turn").Val() }

func (s *server) ttl(key string) int64 {
	return s.rdb.PTTL(s.t.Context(), key).Val().Milliseconds()
}

// messages are the owners that were told their turn since the last call. A
// message of its own marks the end.
func (s *server) messages() (told []string) {
	s.mini.Publish("{stock}:turn", "")
	for {
		m, err := s.told.ReceiveMessage(s.t.Context())
		require.NoError(s.t, err)
		if m.Payload == "" {
			return told
		}
		told = append(told, m.Payload)
	}
}

func TestTheServerQueuesInTheOrderOfArrival(t *testing.T) {
	s := serve(t)
	assert.Equal(t, int64(1), s.acquire("a", 1, true))
	assert.Empty(t, s.queue(), "the holder does not wait")
	assert.Empty(t, s.waiters())
	s.waits("b", "c", "d")
	s.waits("e", "f")
	assert.Equal(t, []string{"b", "c", "d", "e", "f"}, s.queue())
	assert.Equal(t, map[string]string{"b": "1020500 200", "c": "1020500 200",
		"d": "1020500 200", "e": "1020500 200", "f": "1020500 200"}, s.waiters(),
		"alive for two leases")

	s.pass(time.Second)
	s.waits("d", "b")
	assert.Equal(t, []string{"b", "c", "d", "e", "f"}, s.queue(), "their places stay")
	assert.Equal(t, map[string]string{"b": "1021500 200", "c": "1020500 200",
		"d": "1021500 200", "e": "1020500 200", "f": "1020500 200"}, s.waiters())
	assert.Empty(t, s.messages())
}

func TestAnOwnerThatDoesNotWaitIsNotInTheQueue(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	assert.Equal(t, int64(-tenSeconds), s.acquire("b", 1, false))
	assert.Equal(t, int64(-tenSeconds), s.acquire("b", 2, true), "it had it and lost it")
	assert.Empty(t, s.queue())
	assert.Empty(t, s.waiters())
	assert.Equal(t, int64(1), s.acquire("a", 2, true), "it has it")
	assert.Equal(t, "2", s.mini.HGet("stock", "a"))
	assert.Empty(t, s.queue())
}

// A holder enters again with a count of 2. When its lease is over it must not
// come in as if it had never left.
func TestALeaseThatIsOverIsNotEnteredAgain(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.pass(tenSeconds * time.Millisecond)
	assert.Equal(t, int64(-tenSeconds), s.acquire("a", 2, true))
	assert.False(t, s.mini.Exists("stock"))
}

func TestThoseBehindAHolderWaitForIt(t *testing.T) {
	s := serve(t)
	assert.Equal(t, int64(1), s.acquire("a", 1, true, "b", "c"))
	assert.Equal(t, []string{"b", "c"}, s.queue())
	assert.Equal(t, map[string]string{"b": "1020500 200", "c": "1020500 200"},
		s.waiters())
}

func TestARefusalSaysWhenToAskAgain(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.pass(3 * time.Second)
	assert.Equal(t, int64(7000), s.waits("b"), "when the lease ends")
	s.mini.SetTTL("stock", time.Minute)
	assert.Equal(t, int64(tenSeconds), s.waits("b"), "once a lease, to be alive")
	s.mini.SetTTL("stock", 0)
	assert.Zero(t, s.waits("b"), "within this millisecond")
	s.rdb.Persist(t.Context(), "stock")
	assert.Equal(t, int64(tenSeconds), s.waits("b"))
	s.mini.SetTTL("stock", tenSeconds*time.Millisecond)
	s.release("a", 0, "")
	assert.Equal(t, int64(200), s.waits("c"), "when b's turn ends")
}

func TestTheFirstAliveHasTheTurn(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.waits("b", "c")
	s.pass(5 * time.Second)
	s.waits("d")
	s.mini.SetTTL("stock", time.Minute)
	s.pass(15 * time.Second) // in this millisecond b and c are dead
	assert.Equal(t, int64(1), s.release("a", 0, ""))
	assert.Equal(t, "d", s.turn())
	assert.Equal(t, int64(200), s.ttl("{stock}:turn"))
	assert.Equal(t, []string{"d"}, s.messages())
	assert.Empty(t, s.queue())
	assert.Empty(t, s.waiters())
}

// The lease has ended without a release. Whoever asks first finds out whose turn
// it is.
func TestAnAcquisitionPassesTheTurnToTheFirstAlive(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.waits("b", "c")
	s.pass(5 * time.Second)
	s.waits("d", "e")
	s.pass(15 * time.Second)
	assert.Equal(t, int64(200), s.waits("f"))
	assert.Equal(t, "d", s.turn())
	assert.Equal(t, int64(200), s.ttl("{stock}:turn"))
	assert.Equal(t, []string{"d"}, s.messages(), "f was not there before")
	assert.Equal(t, []string{"e", "f"}, s.queue())
	assert.Equal(t, map[string]string{"e": "1025500 200", "f": "1040500 200"},
		s.waiters())

	s.waits("f")
	assert.Equal(t, []string{"d"}, s.messages(), "it may have been lost")
	assert.Equal(t, int64(1), s.acquire("d", 1, true))
	assert.Empty(t, s.turn(), "taken")
	assert.Equal(t, int64(tenSeconds), s.ttl("stock"))
	s.waits("f")
	assert.Empty(t, s.messages(), "it is nobody's turn")
}

func TestTheFirstInTheQueueMayBeTheOneThatAsks(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.waits("b", "c")
	s.pass(tenSeconds * time.Millisecond)
	assert.Equal(t, int64(1), s.acquire("b", 1, true))
	assert.Empty(t, s.turn())
	assert.Equal(t, []string{"c"}, s.queue())
}

// A queue ends when all that wait in it must be dead, and no asker with a shorter
// lease shortens that.
func TestTheQueueLastsForTwoLeases(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.waits("b")
	assert.Equal(t, int64(2*tenSeconds), s.ttl("{stock}:queue"))
	assert.Equal(t, int64(2*tenSeconds), s.ttl("{stock}:waiters"))
	s.pass(time.Second)
	s.waits("c")
	assert.Equal(t, int64(2*tenSeconds), s.ttl("{stock}:queue"))
	assert.Equal(t, int64(2*tenSeconds), s.ttl("{stock}:waiters"))
	s.mini.SetTTL("{stock}:queue", time.Minute)
	s.mini.SetTTL("{stock}:waiters", time.Minute)
	s.waits("c")
	assert.Equal(t, int64(60_000), s.ttl("{stock}:queue"))
	assert.Equal(t, int64(60_000), s.ttl("{stock}:waiters"))
}

func TestANeighborIsNotSentAMessage(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.waits("b", "c")
	assert.Equal(t, int64(2), s.release("a", 0, "b"))
	assert.Equal(t, "b", s.turn())
	assert.Empty(t, s.messages())
	s.acquire("b", 1, true)
	assert.Equal(t, int64(1), s.release("b", 0, "z"), "c is of another process")
	assert.Equal(t, []string{"c"}, s.messages())
}

func TestAnOwnerThatGivesUpLeavesTheQueueAndPassesItsTurn(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.waits("b", "c", "d")
	assert.Zero(t, s.release("c", 0, ""))
	assert.Equal(t, []string{"b", "d"}, s.queue())
	assert.NotContains(t, s.waiters(), "c")
	assert.Empty(t, s.turn(), "a has the lock")
	s.release("a", 0, "")
	assert.Equal(t, []string{"b"}, s.messages())
	assert.Zero(t, s.release("e", 0, ""))
	assert.Equal(t, "b", s.turn(), "it is not e's to pass on")
	assert.Zero(t, s.release("b", 0, ""))
	assert.Equal(t, "d", s.turn())
	assert.Equal(t, []string{"d"}, s.messages())
}

func TestALevelIsLeftWithItsLease(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	s.acquire("a", 2, true)
	s.pass(time.Second)
	assert.Equal(t, int64(1), s.release("a", 1, ""))
	assert.Equal(t, "1", s.mini.HGet("stock", "a"))
	assert.Equal(t, int64(tenSeconds), s.ttl("stock"))
	assert.Equal(t, int64(1), s.release("a", 0, ""))
	assert.False(t, s.mini.Exists("stock"))
	assert.Zero(t, s.release("a", 0, ""), "it is free")
	s.acquire("b", 1, true)
	assert.Zero(t, s.release("a", 0, ""), "it is b's")
	assert.True(t, s.mini.Exists("stock"))
}

// A process whose lease may not be passed on any more asks for a new one. When
// another process waits, that one comes first.
func TestAProcessGivesUpItsOldLeaseAndAsksForANewOne(t *testing.T) {
	s := serve(t)
	s.acquire("a", 1, true)
	assert.Equal(t, int64(1), s.instead("a", "a2", 1, true, 0))
	assert.False(t, s.rdb.HExists(t.Context(), "stock", "a").Val())
	s.waits("b")
	assert.Equal(t, int64(-200), s.instead("a2", "a3", 1, true, 0))
	assert.Equal(t, "b", s.turn())
	assert.Equal(t, []string{"a3"}, s.queue())
	assert.Equal(t, []string{"b"}, s.messages())
	s.acquire("b", 1, true)
	assert.Equal(t, int64(-tenSeconds), s.instead("a2", "a3", 1, true, 0))
	assert.True(t, s.rdb.HExists(t.Context(), "stock", "b").Val(), "not a2's to give up")
}

// A grant reserves a fencing token for each owner that the lease may serve, and
// a release gives back those that were not used.
func TestTokensAreReservedAndGivenBack(t *testing.T) {
	s := serve(t)
	assert.Equal(t, int64(1), s.instead("", "a", 1, true, 0))
	assert.False(t, s.mini.Exists("{stock}:token"), "none is wanted")
	s.release("a", 0, "")
	assert.False(t, s.mini.Exists("{stock}:token"))
	assert.Equal(t, int64(1), s.instead("", "b", 1, true, 17))
	assert.Equal(t, int64(1), s.unused("b", 0, "", 14), "3 were used")
	assert.Equal(t, int64(4), s.instead("", "c", 1, true, 17))
	s.mini.CheckGet(t, "{stock}:token", "20")
}
