package explore_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// The claims of the articles, settled by running them: docs/sources.md.

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
	// The key holds B's deadline while A has the lock: A's lease is longer now than it knows.
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
	assert.Equal(t, explore.SelfDeadlock, replayed.Broken[len(replayed.Broken)-1].Invariant)
}

// listed is the Lua script as [survey] prints it.
var listed = redis.NewScript(`
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
    redis.call('expire', KEYS[1], ARGV[2])
else
    return 0
end;`)

func TestClaimTheScriptThatReturnsNothingRefusesWhomItHasGrantedTheLock(t *testing.T) {
	build := wrong.With(wrong.Rung("gold"), func(ctx context.Context, env lock.Env,
		_ lock.Lock) (bool, error) {
		reply, err := listed.Run(ctx, env.Nodes[0], []string{env.Key}, "locked",
			int(env.TTL.Seconds())).Int64()
		if errors.Is(err, redis.Nil) {
			return false, nil // [survey]: result != null && result == 1
		}
		return reply == 1, err
	})
	report := explore.Run(t, build, explore.Bounds{Programs: []explore.Program{explore.Once}})
	f, found := report.Failure(explore.SelfDeadlock)
	require.True(t, found, report)
	assert.Equal(t, "once: A> A<", f.Schedule)
	assert.Zero(t, f.Adversary)
}
