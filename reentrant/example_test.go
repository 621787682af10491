package reentrant_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant"
)

// A takes the lock, and a function that it calls takes it again. The lock is free
// when A has left both levels.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := reentrant.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := reentrant.New(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println(a.TryLock(ctx)) // inside the function
	fmt.Println(a.Unlock(ctx))
	fmt.Println(b.TryLock(ctx))
	fmt.Println(a.Unlock(ctx))

	fmt.Println(b.TryLock(ctx))
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// true <nil>
	// <nil>
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
