package gold_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/gold"
)

// A takes the lock, and its lease comes with it, in one command.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := gold.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := gold.New(rdb, "stock", 10*time.Second)
	must(err)

	must(rdb.Ping(ctx).Err()) // connects, which costs commands of its own
	before := server.CommandCount()
	fmt.Println(a.TryLock(ctx))
	fmt.Println(server.CommandCount()-before, "command")
	fmt.Println(b.TryLock(ctx))

	server.FastForward(10 * time.Second)
	fmt.Println(b.TryLock(ctx))
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// 1 command
	// false <nil>
	// true <nil>
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
