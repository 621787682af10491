package diamond_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	goversion "go/version"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/diamond"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// errNoDELEX says that a server can't compare and delete in one command.
var errNoDELEX = errors.New("this server has no DELEX key IFEQ value: it needs" +
	" Redis 8.4 or Valkey 9.2; release with the script")

// release compares and deletes with a command, where the rung needs a script.
func release(ctx context.Context, rdb *redis.Client, key, token string) error {
	deleted, err := rdb.DelExArgs(ctx, key,
		redis.DelExArgs{Mode: "IFEQ", MatchValue: token}).Result()
	switch {
	case err != nil && strings.Contains(err.Error(), "unknown command"):
		return lock.Failed(ctx, "release", key, errNoDELEX)
	case err != nil:
		return lock.Failed(ctx, "release", key, err)
	case deleted == 0:
		return lock.Failed(ctx, "release", key, lock.ErrNotHeld)
	}
	return nil
}

// A new server does what the script does, in one command. An old one says that it
// does not know the command, and then the lock must be told what to do about it.
func Example_delex() {
	ctx := context.Background()
	redisServer := miniredis.NewMiniRedis() // stands in for a Redis 8.4
	must(redisServer.Start())
	defer redisServer.Close()
	rdb := redis.NewClient(&redis.Options{Addr: redisServer.Addr()})
	defer rdb.Close()

	a, err := diamond.New(rdb, "stock", 10*time.Second,
		lock.Tokens(func() string { return "A#1" }))
	must(err)
	fmt.Println(a.TryLock(ctx))
	fmt.Println(release(ctx, rdb, "stock", "B#1"))
	fmt.Println(release(ctx, rdb, "stock", "A#1"))
	fmt.Println(release(ctx, rdb, "stock", "A#1"))

	redisServer.Server().SetPreHook(func(from *server.Peer, command string,
		args ...string) bool {
		if command == "DELEX" { // now it stands in for an older one
			from.WriteError("ERR unknown command 'delex', with args" +
				" beginning with: 'stock' 'IFEQ' 'A#1' ")
		}
		return command == "DELEX"
	})
	fmt.Println(a.TryLock(ctx))
	fmt.Println(release(ctx, rdb, "stock", "A#1"))
	fmt.Println(a.Unlock(ctx)) // the script

	// Output:
	// true <nil>
	// release "stock": the lock is not held by this owner
	// <nil>
	// release "stock": the lock is not held by this owner
	// true <nil>
	// release "stock": this server has no DELEX key IFEQ value: it needs Redis 8.4 or Valkey 9.2; release with the script
	// <nil>
}

// A real server has the commands that the diamond page names for it, and no others.
func TestARealServerHasTheCommandsOfThePage(t *testing.T) {
	servers.Need(t)
	started, err := servers.StartRedis(t.Context())
	require.NoError(t, err)
	defer started.Stop()
	rdb := started.Client()
	defer rdb.Close()
	info := rdb.InfoMap(t.Context(), "server")
	server, version := "Redis", info.Item("Server", "redis_version")
	if valkey := info.Item("Server", "valkey_version"); valkey != "" {
		server, version = "Valkey", valkey
	}
	page, err := os.ReadFile("../docs/5-diamond.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (Redis|Valkey) (\d+\.\d+), \S+ \| (.*) \| (.*) \|$`).
		FindAllStringSubmatch(string(page), -1)
	require.Len(t, rows, 2)
	has := map[string]bool{}
	for _, row := range rows {
		for _, command := range row[3:] {
			newer := goversion.Compare("go"+version, "go"+row[2]) >= 0 // they have the same form
			has[command] = has[command] || row[1] == server && newer
		}
	}
	delete(has, "a script")
	for command, has := range has {
		send := func(token string) error {
			var words []any
			for _, word := range strings.Fields(strings.Trim(command, "`")) {
				words = append(words, cmp.Or(map[string]string{"key": "stock",
					"token": token, "ms": "9"}[word], word))
			}
			return rdb.Do(t.Context(), words...).Err()
		}
		require.NoError(t, rdb.Set(t.Context(), "stock", "A#1", time.Minute).Err())
		if !has {
			assert.Error(t, send("A#1"), "%s %s has %s", server, version, command)
		} else if err := send("B#1"); err != nil && !errors.Is(err, redis.Nil) {
			assert.NoError(t, err, command)
		}
		assert.Equal(t, "A#1", rdb.Get(t.Context(), "stock").Val(), "after %s", command)
		assert.Greater(t, rdb.PTTL(t.Context(), "stock").Val(), time.Second)
		if has {
			assert.NoError(t, send("A#1"), command)
			assert.Less(t, rdb.PTTL(t.Context(), "stock").Val(), time.Second, command)
		}
	}
}
