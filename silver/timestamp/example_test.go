package timestamp_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/silver/timestamp"
)

// A takes the lock and never comes back. When its deadline has passed by B's
// clock, B takes the lock over.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	now := time.Now()
	clock := lock.Clock(func() time.Time { return now })
	a, err := timestamp.New(rdb, "stock", 10*time.Second, clock)
	must(err)
	b, err := timestamp.New(rdb, "stock", 10*time.Second, clock)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println(b.TryLock(ctx))

	now = now.Add(11 * time.Second)
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
