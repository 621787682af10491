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
// It exits with 0 after an interrupt and when all is generated, 2 when it was not
// understood, and 1 when it can't serve or generate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/lockladder/lockladder/internal/locktest"
)

const (
	ok     = 0
	failed = 1
	usage  = 2
)

// Scenarios run in virtual time, which Go offers to tests only. So all is done in one,
// which ends the process before the test could print that it has passed.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt,
		syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	o, err := parse(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(ok)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "docs: %v (-help lists the flags)\n", err)
		os.Exit(usage)
	}
	locktest.CollectLess()
	testing.Init()
	flag.CommandLine.Parse(nil)
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "Docs", F: func(t *testing.T) {
			if err := o.run(t, ctx, os.Stdout); err != nil {
				fmt.Fprintf(os.Stderr, "docs: %v\n", err)
				os.Exit(failed)
			}
			os.Exit(ok)
		}}}, nil, nil)
}
