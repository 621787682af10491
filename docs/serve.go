package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/pages/generated"
)

const (
	ok     = 0
	failed = 1
	usage  = 2
)

// finishWithin bounds the answers that are under way at an interrupt.
const finishWithin = 2 * time.Second

// run is the whole program. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return ok
	}
	if err != nil {
		fmt.Fprintf(stderr, "docs: %v (-help lists the flags)\n", err)
		return usage
	}
	if o.generate {
		generate(ctx, o.names, stdout)
	}
	if o.export != "" {
		return export(o.export, stdout, stderr)
	}
	if err := serve(ctx, o.address, stdout); err != nil {
		fmt.Fprintf(stderr, "docs: %v\n", err)
		return failed
	}
	return ok
}

// options are what the arguments ask for.
type options struct {
	address  string
	export   string // the directory; "": none
	generate bool
	names    []string // of what is to be generated beside what always is
}

// parse understands and checks the arguments. After -help, which is answered on
// stdout, it returns flag.ErrHelp.
func parse(args []string, stdout io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("docs", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.address, "addr", "127.0.0.1:8080",
		"serve on this `host:port`; port 0 is any free one")
	flags.StringVar(&o.export, "export", "",
		"write the site to this `directory` instead, as files for any static host")
	flags.BoolVar(&o.generate, "generate", false,
		"rewrite the pages' generated parts instead; those that take minutes or\n"+
			"need servers only if their names follow: "+
			strings.Join(generated.Names(), ", "))
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, "Serves the workshop's pages as a site, exports them,"+
				" or generates parts of them.\n\nusage: go run ./docs [flags] [names]\n\n")
			flags.SetOutput(stdout)
			flags.PrintDefaults()
		}
		return o, err
	}
	o.names = flags.Args()
	if o.generate {
		return o, known(o.names)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	_, port, err := net.SplitHostPort(o.address)
	if err != nil {
		return o, fmt.Errorf("-addr %q is not host:port, such as "+
			"127.0.0.1:8080", o.address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return o, fmt.Errorf("-addr %q has the port %q, it must be a number "+
			"from 0 to 65535", o.address, port)
	}
	return o, nil
}

// export writes the site as files.
func export(dir string, stdout, stderr io.Writer) int {
	root, err := generated.Root()
	written := 0
	if err == nil {
		written, err = site(root).Export(dir)
	}
	if err != nil {
		fmt.Fprintf(stderr, "docs: %v\n", err)
		return failed
	}
	fmt.Fprintf(stdout, "%d pages are in %s: open %s\n", written, dir,
		filepath.Join(dir, "index.html"))
	return ok
}

// serve answers until ctx ends, and then finishes what is under way.
func serve(ctx context.Context, address string, stdout io.Writer) error {
	root, err := generated.Root()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serve on %s: %w", address, err)
	}
	server := &http.Server{
		Handler:           site(root),
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
