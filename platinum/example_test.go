package platinum_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/platinum"
)

// A works longer than its lease, and B gets the lock. A's token is no longer
// there, so A cannot release what is B's.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := platinum.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := platinum.New(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	server.FastForward(10 * time.Second)
	fmt.Println(b.TryLock(ctx))

	fmt.Println(a.Unlock(ctx))
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// true <nil>
	// release "stock": the lock is not held by this owner
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
