package watchdog_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/diamond/watchdog"
)

// An operator deletes A's lock. A is told at its next renewal.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := watchdog.New(rdb, "stock", time.Second)
	must(err)
	b, err := watchdog.New(rdb, "stock", time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println(b.TryLock(ctx))

	server.Del("stock")
	<-a.Lost() // looked at beside the work
	fmt.Println(b.TryLock(ctx))
	fmt.Println(a.Unlock(ctx))
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// false <nil>
	// true <nil>
	// release "stock": the lock is not held by this owner
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
