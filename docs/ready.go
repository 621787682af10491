package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/terminal"
)

var errNotReady = errors.New("not ready: do what the lines above say, and try again")

// ready prints "ready" if this computer can take part in the workshop without a network.
// Otherwise each thing that is missing gets a line that says what to do about it, and the
// error is errNotReady.
func ready(ctx context.Context, address string, out io.Writer) error {
	root, err := generated.Root()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "A test is being compiled, which takes a minute or two the first time.")
	missing := 0
	for _, problem := range []string{portProblem(address), goProblem(ctx, root)} {
		if problem != "" {
			terminal.Say(out, "%s", problem)
			missing++
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case missing > 0:
		return errNotReady
	}
	fmt.Fprintln(out, "ready")
	return nil
}

// portProblem is why the site can't be served at an address, or "".
func portProblem(address string) string {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Sprintf("The port can't be used (%v): end the program that uses it,"+
			" or name another one: go run ./docs -addr 127.0.0.1:8081", err)
	}
	listener.Close()
	return ""
}

// offline keeps the go tool from downloading anything.
var offline = []string{"GOPROXY=off"}

// goProblem is why the workshop's commands don't run without a network, or "". Go is new enough:
// it runs this program.
func goProblem(ctx context.Context, root string) string {
	if _, err := goTool(ctx, root, offline, "list", "-deps", "-test", "./..."); err != nil {
		return fmt.Sprintf("Modules are missing (%v): run go mod download while you"+
			" have a network", err)
	}
	const test = "overrun_release"
	printed, err := goTool(ctx, root, offline, "test", "./gold", "-red="+test)
	if !strings.Contains(printed, "foreign release: ") {
		return fmt.Sprintf("A test doesn't run (%v): if an antivirus program stops it, let"+
			" it leave out a directory, and name that in the variable GOTMPDIR", err)
	}
	return ""
}
