package fair_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/fair"
)

// Lock waits behind those who have asked before. Package notify shows a hand-over.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	l, err := fair.New(rdb, "stock", 10*time.Second)
	must(err)
	fmt.Println(l.Lock(ctx))
	fmt.Println(l.Unlock(ctx))

	// Output:
	// <nil>
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
