package fair_test

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/fair"
)

// A hands the lock over to B, which sleeps until the message comes.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := fair.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := fair.New(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	granted := make(chan error)
	go func() { granted <- b.Lock(ctx) }()
	for server.PubSubNumSub("{stock}:turn")["{stock}:turn"] == 0 {
		runtime.Gosched() // B does not listen yet
	}
	fmt.Println(a.Unlock(ctx))

	fmt.Println(<-granted)
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// <nil>
	// <nil>
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
