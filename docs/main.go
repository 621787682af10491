// Docs serves the workshop: its pages, its exercises and the code that they are
// about, as a small site on this machine. With -generate it rewrites the parts of
// the pages that are made from the running code.
//
//	go run ./docs
//	go run ./docs -addr 127.0.0.1:9000
//	go run ./docs -open FILE            a run or a graph of your own lock, too
//	go run ./docs -ready                is this computer ready for the workshop?
//	go run ./docs -generate             what takes seconds
//	go run ./docs -generate explorer    the explorer's tables too: minutes
//
// It exits with 0 when all is written, and when an interrupt ends the site, 130 after another
// interrupt, 2 when it was not understood, and 1 when it can't do what it was asked.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/terminal"
)

// Scenarios run in virtual time, which Go offers to tests only. So all is done in one,
// which ends the process before the test could print that it has passed.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o, err := parse(os.Args[1:], os.Stdout)
	if err != nil {
		os.Exit(terminal.Refused(os.Stderr, "docs", err))
	}
	exit := func(err error) {
		if err == nil {
			os.Exit(terminal.OK)
		} else if ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, "docs: interrupted, not all is done")
			os.Exit(terminal.Interrupted)
		}
		terminal.Say(os.Stderr, "docs: %v", err)
		os.Exit(terminal.Failed)
	}
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process
		if o.generate {
			time.Sleep(time.Second) // for a page that is being written; scenarios go on for half a minute
			exit(ctx.Err())
		}
	})
	locktest.CollectLess()
	testing.Init()
	flag.CommandLine.Parse(nil)
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "Docs", F: func(t *testing.T) { exit(o.run(t, ctx, os.Stdout)) }}}, nil, nil)
}
