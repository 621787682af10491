package script_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/gold/script"
)

// A takes the lock with a script. The server forgets it, and B's client sends it
// once more.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := script.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := script.New(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println(a.Unlock(ctx))

	must(rdb.ScriptFlush(ctx).Err())
	fmt.Println(b.TryLock(ctx))
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// <nil>
	// true <nil>
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
