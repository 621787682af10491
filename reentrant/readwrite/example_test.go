package readwrite_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/readwrite"
)

// A and B read together. A can't become the writer; C can, when both have left.
// It remains as a reader, so that A may read with it.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := readwrite.New(rdb, "prices", 10*time.Second)
	must(err)
	b, err := readwrite.New(rdb, "prices", 10*time.Second)
	must(err)
	c, err := readwrite.New(rdb, "prices", 10*time.Second)
	must(err)

	fmt.Println(a.TryRLock(ctx))
	fmt.Println(b.TryRLock(ctx))
	fmt.Println(a.TryLock(ctx))
	fmt.Println(c.TryLock(ctx))
	fmt.Println(a.RUnlock(ctx), b.RUnlock(ctx))

	fmt.Println(c.TryLock(ctx))
	fmt.Println("token", c.Token())
	fmt.Println(a.TryRLock(ctx))
	fmt.Println(c.TryRLock(ctx))
	fmt.Println(c.Unlock(ctx))
	fmt.Println(a.TryRLock(ctx))
	fmt.Println(a.RUnlock(ctx), c.RUnlock(ctx))

	// Output:
	// true <nil>
	// true <nil>
	// false acquire "prices": a reader can't become the writer: call RUnlock first
	// false <nil>
	// <nil> <nil>
	// true <nil>
	// token 1
	// false <nil>
	// true <nil>
	// <nil>
	// true <nil>
	// <nil> <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
