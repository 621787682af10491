package cohort_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/reentrant/cohort"
)

// B waits for A, in the same process. A hands the lock over.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := cohort.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := cohort.New(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println(b.TryLock(ctx)) // the server is not asked
	granted := make(chan error)
	go func() { granted <- b.Lock(ctx) }()
	fmt.Println(a.Unlock(ctx))

	fmt.Println(<-granted)
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// false <nil>
	// <nil>
	// <nil>
	// <nil>
}

// Every holder has a fencing token of its own, also when the lock was handed over.
func ExampleNewFenced() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	a, err := cohort.NewFenced(rdb, "stock", 10*time.Second)
	must(err)
	b, err := cohort.NewFenced(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	fmt.Println("token", a.Token()) // sent with every write
	granted := make(chan error)
	go func() { granted <- b.Lock(ctx) }()
	fmt.Println(a.Unlock(ctx))

	fmt.Println(<-granted)
	fmt.Println("token", b.Token())
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// token 1
	// <nil>
	// <nil>
	// token 2
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
