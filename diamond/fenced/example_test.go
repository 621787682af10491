package fenced_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/diamond/fenced"
)

// A's lease ends before A writes, and B writes with a higher token. The storage
// refuses A.
func Example() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	newest := uint64(0) // in the storage, beside the data
	write := func(token uint64) bool {
		if token < newest {
			return false
		}
		newest = token
		return true
	}
	a, err := fenced.New(rdb, "stock", 10*time.Second)
	must(err)
	b, err := fenced.New(rdb, "stock", 10*time.Second)
	must(err)

	fmt.Println(a.TryLock(ctx))
	server.FastForward(10 * time.Second) // A is paused
	fmt.Println(b.TryLock(ctx))

	fmt.Println("B writes with token", b.Token(), write(b.Token()))
	fmt.Println("A writes with token", a.Token(), write(a.Token()))
	fmt.Println(a.Unlock(ctx))
	fmt.Println(b.Unlock(ctx))

	// Output:
	// true <nil>
	// true <nil>
	// B writes with token 2 true
	// A writes with token 1 false
	// release "stock": the lock is not held by this owner
	// <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
