// Bench sells a stock to many clients that take one lock after the other: once
// behind every rung of the ladder, and behind the baselines around them.
//
//	go run ./bench
//	go run ./bench -clients 100 -rungs serial-limit,gold,redlock
//	go run ./bench -redis 127.0.0.1:6379 -json bench.json
//
// It exits with 0 when every row was measured, 2 when it was not understood, and
// 1 after any other failure or an interrupt.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	// The library would add lines of its own to the one that says what failed.
	logging.Disable()
	// A reader that goes away must end the run, not the process: what the run
	// has on a server is removed at its end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
