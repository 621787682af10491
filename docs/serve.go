package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/pages"
)

const (
	ok     = 0
	failed = 1
	usage  = 2
)

const (
	module = "github.com/lockladder/lockladder"

	// finishWithin bounds the answers that are under way at an interrupt.
	finishWithin = 2 * time.Second
)

// run is the whole program. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	address, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return ok
	}
	if err != nil {
		fmt.Fprintf(stderr, "docs: %v (-help lists the flags)\n", err)
		return usage
	}
	if err := serve(ctx, address, stdout); err != nil {
		fmt.Fprintf(stderr, "docs: %v\n", err)
		return failed
	}
	return ok
}

// parse understands and checks the arguments. After -help, which is answered on
// stdout, it returns flag.ErrHelp.
func parse(args []string, stdout io.Writer) (address string, err error) {
	flags := flag.NewFlagSet("docs", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&address, "addr", "127.0.0.1:8080",
		"serve on this `host:port`; port 0 is any free one")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, "Serves the workshop's pages as a site.\n\n"+
				"usage: go run ./docs [flags]\n\n")
			flags.SetOutput(stdout)
			flags.PrintDefaults()
		}
		return "", err
	}
	if flags.NArg() > 0 {
		return "", fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("-addr %q is not host:port, such as "+
			"127.0.0.1:8080", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("-addr %q has the port %q, it must be a number "+
			"from 0 to 65535", address, port)
	}
	return address, nil
}

// serve answers until ctx ends, and then finishes what is under way.
func serve(ctx context.Context, address string, stdout io.Writer) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serve on %s: %w", address, err)
	}
	server := &http.Server{
		Handler:           pages.NewSite(os.DirFS(root)),
		ReadHeaderTimeout: 5 * time.Second,
	}
	fmt.Fprintf(stdout, "The workshop is at http://%s (Ctrl-C ends it)\n",
		listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", address, err)
	case <-ctx.Done():
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx),
		finishWithin)
	defer cancel()
	if err := server.Shutdown(finish); err != nil {
		server.Close()
	}
	<-ended
	return nil
}

// moduleRoot is the directory that the documents and the code are read from:
// this module's, somewhere above the working directory.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+module+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not within the module %s: start it in"+
				" a checkout", start, module)
		}
	}
}
