package redlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/redlock"
)

// Two of five servers fail. The other three are a majority.
func Example() {
	ctx := context.Background()
	var nodes []redis.UniversalClient
	for i := range 5 {
		server := miniredis.NewMiniRedis() // stands in for a Redis
		must(server.Start())
		defer server.Close()
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer rdb.Close()
		nodes = append(nodes, rdb)
		if i == 1 || i == 3 {
			server.SetError("MISCONF the disk is full")
		}
	}

	a, err := redlock.New(nodes, "stock", 10*time.Second)
	must(err)
	b, err := redlock.New(nodes, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println(b.TryLock(ctx))
	fmt.Println(a.Unlock(ctx)) // after the work

	fmt.Println(b.TryLock(ctx))
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// false <nil>
	// <nil>
	// true <nil>
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
