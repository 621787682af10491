package silver_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/silver"
)

// A takes the lock and never comes back. When its lease has ended, B gets the
// lock.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := silver.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := silver.New(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println(b.TryLock(ctx))

	server.FastForward(10 * time.Second)
	fmt.Println(b.TryLock(ctx))
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// false <nil>
	// true <nil>
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
