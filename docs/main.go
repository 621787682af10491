// Docs serves the workshop: its pages, its exercises and the code that they are
// about, as a small site on this machine. With -generate it rewrites the parts of
// the pages that are made from the running code.
//
//	go run ./docs
//	go run ./docs -addr 127.0.0.1:9000
//	go run ./docs -open FILE            a run or a graph of your own lock, too
//	go run ./docs -generate             what takes seconds
//	go run ./docs -generate explorer    the explorer's tables too: minutes
//
// It exits with 0 after an interrupt and when all is generated, 2 when it was not
// understood, and 1 when it can't serve or generate.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt,
		syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
