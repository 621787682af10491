// Docs serves the workshop: its pages, its exercises and the code that they are
// about, as a small site on this machine.
//
//	go run ./docs
//	go run ./docs -addr 127.0.0.1:9000
//
// It exits with 0 after an interrupt, 2 when it was not understood, and 1 when it
// cannot serve.
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
