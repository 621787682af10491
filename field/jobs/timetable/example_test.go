package timetable_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/field/jobs/timetable"
	"github.com/lockladder/lockladder/reentrant/fenced"
)

// Four services come to the same minute, and one of them does the job.
func ExampleService() {
	ctx := context.Background()
	server := miniredis.NewMiniRedis() // stands in for a Redis
	must(server.Start())
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	due := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var services sync.WaitGroup
	for range 4 {
		mine, err := fenced.New(rdb, "report:lock", 10*time.Second)
		must(err)
		service := &timetable.Service{RDB: rdb, Key: "report:done",
			Every: time.Minute, Lock: mine,
			Job: func(_ context.Context, due time.Time) error {
				fmt.Println("the report of", due.Format("15:04"))
				return nil
			}}
		services.Go(func() {
			_, err := service.Once(ctx, due) // Run does so every minute
			must(err)
		})
	}
	services.Wait()

	// Output:
	// the report of 12:00
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
