package explore_test

import (
	"context"
	"errors"
	"iter"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// The claims of the articles, settled by running them: docs/sources.md.

func TestClaimWhenATimestampLockExpiresOneClientAloneTakesItOver(t *testing.T) {
	t.Parallel()
	timestamp := locktest.Find(t, "silver/timestamp")
	bounds := explore.Bounds{LeaseInValue: locktest.Deadline,
		Programs: []explore.Program{explore.Once}}

	report := explore.Run(t, wrong.AfterADeath(timestamp.Build), bounds)
	_, two := report.Failure(explore.TwoHolders)
	assert.True(t, report.Exhausted())
	assert.False(t, two, "no schedule lets two take over: %s", report)

	report = explore.Run(t, wrong.AfterADeath(wrong.TakesOverBlindly),
		bounds)
	_, two = report.Failure(explore.TwoHolders)
	assert.True(t, two, "without the comparison two do: %s", report)
}

func TestClaimTheLoserOfATakeoverOverwritesTheWinnersDeadline(t *testing.T) {
	timestamp := locktest.Find(t, "silver/timestamp")
	built := 0
	skewed := func(env lock.Env) (lock.Lock, error) {
		// Handles are built for A and B in turn; B's clock is five seconds ahead.
		if built++; built%2 == 0 {
			now := env.Now
			env.Now = func() time.Time { return now().Add(5 * time.Second) }
		}
		return timestamp.Build(env)
	}
	replayed := explore.Replay(t, wrong.AfterADeath(skewed),
		explore.Bounds{LeaseInValue: locktest.Deadline}, "A> A< A> A< A> A<"+
			" B> B< B> B< B> B< A> A< B> B<")
	t.Log("\n" + replayed.Timeline)
	lines := strings.Split(regexp.MustCompile(" +").ReplaceAllString(replayed.Timeline, " "),
		"\n")
	assert.Less(t, index(lines, "A GETSET"), index(lines, "B GETSET"))
	assert.Positive(t, index(lines, "A TryLock returns true"))
	assert.Positive(t, index(lines, "B TryLock returns false"))
	// The key holds B's deadline while A has the lock: A's lease is longer now
	// than it knows.
	assert.Contains(t, lines[index(lines, "B GETSET")], "946684815")
}

func index(lines []string, part string) int {
	for i, line := range lines {
		if strings.Contains(line, part) {
			return i
		}
	}
	return -1
}

// The takeover has a hole that the articles do not name: when the holder's DEL
// comes between a waiter's GET and its GETSET, the waiter sets the key, is
// answered nil, and takes that for a refusal.
func TestAWaiterOfATimestampLockCanLockEverybodyOut(t *testing.T) {
	replayed := explore.Replay(t, locktest.Find(t, "silver/timestamp").Build,
		explore.Bounds{LeaseInValue: locktest.Deadline}, "A> A< A= A= B> B< B> B< E"+
			" B> B< B> A> B< B> B<")
	t.Log("\n" + replayed.Timeline)
	assert.Contains(t, replayed.Timeline, "GETSET lock:stock")
	require.NotEmpty(t, replayed.Broken)
	assert.Equal(t, explore.SelfDeadlock,
		replayed.Broken[len(replayed.Broken)-1].Invariant)
}

// listed is the Lua script as [survey] prints it.
var listed = redis.NewScript(`
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
    redis.call('expire', KEYS[1], ARGV[2])
else
    return 0
end;`)

func TestClaimTheScriptThatReturnsNothingRefusesWhomItHasGrantedTheLock(
	t *testing.T) {
	build := wrong.With(wrong.Rung("gold"), func(ctx context.Context, env lock.Env,
		_ lock.Lock) (bool, error) {
		reply, err := listed.Run(ctx, env.Nodes[0], []string{env.Key}, "locked",
			int(env.TTL.Seconds())).Int64()
		if errors.Is(err, redis.Nil) {
			return false, nil // [survey]: result != null && result == 1
		}
		return reply == 1, err
	})
	report := explore.Run(t, build,
		explore.Bounds{Programs: []explore.Program{explore.Once}})
	f, found := report.Failure(explore.SelfDeadlock)
	require.True(t, found, report)
	assert.Equal(t, "once: A> A<", f.Schedule)
	assert.Zero(t, f.Adversary)
}

func TestClaimASingleRedisEnsuresMutualExclusionOnlyWithoutALease(t *testing.T) {
	locktest.Long(t, "it walks three graphs")
	t.Parallel()
	// The table of verdicts has the other rungs.
	for _, name := range []string{"bronze", "gold", "diamond/watchdog"} {
		report := explore.Run(t, locktest.Find(t, name).Build, explore.Bounds{Expiries: 1,
			Pauses: 1, Programs: []explore.Program{explore.Once}})
		require.True(t, report.Exhausted())
		_, two := report.Failure(explore.TwoHolders)
		assert.Equal(t, name != "bronze", two, "%s: %s", name, report)
	}
}

// orders are all ways to shuffle the steps of two buyers: 0 is the one, 1 the
// other.
func orders(steps int) (all [][]int) {
	var put func(order []int, left [2]int)
	put = func(order []int, left [2]int) {
		if left == [2]int{} {
			all = append(all, append([]int(nil), order...))
		}
		for buyer := range 2 {
			if left[buyer] > 0 {
				left[buyer]--
				put(append(order, buyer), left)
				left[buyer]++
			}
		}
	}
	put(nil, [2]int{steps, steps})
	return all
}

func TestClaimTwoBuyersAtOnceMakeTheStockFallByTwoWhenTheDecrementIsAtomic(
	t *testing.T) {
	const stock = 2
	byOne, negative := 0, 0
	for _, order := range orders(2) {
		// Each reads and then says "one less", or writes back one less.
		atomically, written := stock, stock
		last := 1 // of another stock, with one left
		var read, seen [2]int
		var done [2]int
		for _, buyer := range order {
			if done[buyer]++; done[buyer] == 1 {
				read[buyer], seen[buyer] = written, last
				continue
			}
			atomically--
			written = read[buyer] - 1
			if seen[buyer] > 0 {
				last--
			}
		}
		assert.Equal(t, stock-2, atomically, order)
		if written == stock-1 {
			byOne++
		}
		if last < 0 {
			negative++
		}
	}
	assert.Equal(t, 4, byOne, "orders in which one write is lost")
	assert.Equal(t, 4, negative, "orders in which the last item is sold twice")
}

// The recursion of [wukong], with its sleep and without.
func TestClaimTheSleepDoesNotKeepTheRecursionFromGrowingTheStack(t *testing.T) {
	locktest.Long(t, "it sleeps thousands of times")
	depth := func(pause, wait time.Duration) (calls int, grown uint64) {
		synctest.Test(t, func(*testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			end := time.Now().Add(wait)
			var retry func() int
			retry = func() int {
				calls++
				if !time.Now().Before(end) {
					runtime.ReadMemStats(&after)
					return calls
				}
				time.Sleep(pause)
				return retry() + 0
			}
			retry()
			grown = after.StackInuse - min(before.StackInuse, after.StackInuse)
		})
		return calls, grown
	}
	calls, grown := depth(100*time.Millisecond, 3*time.Hour)
	assert.Equal(t, 108_001, calls, "one frame for each attempt")
	assert.Greater(t, grown, uint64(108_001*16), "bytes of stack")
	more, _ := depth(10*time.Millisecond, 18*time.Minute)
	assert.Equal(t, calls, more, "the sleep only slows the growth")
}

func TestClaimWATCHPreventsOverselling(t *testing.T) {
	m, rdb := served(t)
	refused := 0
	all := orders(3)
	for _, order := range all {
		require.NoError(t, m.Set("stock", "1"))
		var buyers [2]func() (string, bool)
		for i := range buyers {
			next, stop := iter.Pull(buys(t.Context(), rdb))
			defer stop()
			buyers[i] = next
		}
		sold := 0
		for _, i := range order {
			switch did, _ := buyers[i](); did {
			case "sold":
				sold++
			case "refused":
				refused++
			}
		}
		left, err := m.Get("stock")
		require.NoError(t, err)
		assert.Equal(t, "0", left, order)
		assert.Equal(t, 1, sold, order)
	}
	assert.Len(t, all, 20)
	assert.Positive(t, refused, "some EXEC is refused")
}

// buys buys in three steps, and says what each has done: WATCH, GET, and the decision
// with MULTI to EXEC.
func buys(ctx context.Context, rdb *redis.Client) iter.Seq[string] {
	return func(did func(string) bool) {
		last := "sold out"
		err := rdb.Watch(ctx, func(tx *redis.Tx) error {
			did("watches")
			left, err := tx.Get(ctx, "stock").Int()
			did("looks")
			if err != nil || left < 1 {
				return err
			}
			_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				return p.Decr(ctx, "stock").Err()
			})
			last = "sold"
			return err
		}, "stock")
		if errors.Is(err, redis.TxFailedErr) {
			last = "refused"
		}
		did(last)
	}
}

// served is a server, and a client of it.
func served(t *testing.T) (*miniredis.Miniredis, *redis.Client) {
	m := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { rdb.Close() })
	return m, rdb
}

func TestClaimHSETTakesNeitherNXNorPX(t *testing.T) {
	_, rdb := served(t)
	ctx := t.Context()
	err := rdb.Do(ctx, "HSET", "lock", "thread-7", 1, "NX", "PX", 10000).Err()
	assert.ErrorContains(t, err, "wrong number of arguments")
	// With one word less it is worse: the words are taken for fields.
	require.NoError(t, rdb.Do(ctx, "HSET", "lock", "thread-7", 1, "NX",
		"PX").Err())
	assert.Equal(t, map[string]string{"thread-7": "1", "NX": "PX"},
		rdb.HGetAll(ctx, "lock").Val())
	assert.Equal(t, time.Duration(-1), rdb.TTL(ctx, "lock").Val())
}
