package fenced_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/fenced"
)

// Every grant has a higher token than the one before. Entering once more is no
// new grant.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := fenced.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := fenced.New(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println("token", a.Token()) // sent with every read and write
	fmt.Println(a.TryLock(ctx))
	fmt.Println("token", a.Token())
	fmt.Println(a.Unlock(ctx))
	fmt.Println(a.Unlock(ctx))

	fmt.Println(b.TryLock(ctx))
	fmt.Println("token", b.Token())
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// token 1
	// true <nil>
	// token 1
	// <nil>
	// <nil>
	// true <nil>
	// token 2
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
