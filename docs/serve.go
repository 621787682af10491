package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/internal/terminal"
)

// finishWithin bounds the answers that are under way at an interrupt.
const finishWithin = 2 * time.Second

// run does what the arguments ask for.
func (o options) run(t *testing.T, ctx context.Context, stdout io.Writer) error {
	switch {
	case o.generate:
		return generate(t, ctx, o.names, stdout)
	case o.ready:
		return ready(ctx, o.address, stdout)
	case o.export != "":
		return export(t, ctx, o.export, o.url, stdout)
	case o.open == "":
		return serve(t, ctx, o.address, nil, stdout)
	}
	opened, err := opened(o.open)
	if err != nil {
		return fmt.Errorf("-open %w", err)
	}
	return serve(t, ctx, o.address, opened, stdout)
}

// options are what the arguments ask for.
type options struct {
	address  string
	export   string // the directory; "": none
	url      string // where the exported site will be
	open     string // the recording; "": none
	ready    bool
	generate bool
	names    []string // of what is to be generated beside what always is
}

// parse understands and checks the arguments. After -help, which is answered on
// stdout, it returns flag.ErrHelp.
func parse(args []string, stdout io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("docs", flag.ContinueOnError)
	flags.StringVar(&o.address, "addr", "127.0.0.1:8080", "serve on this `host:port`; port 0 is any free one")
	flags.StringVar(&o.export, "export", "",
		"write the site to this `directory` instead, as files for any static host")
	flags.StringVar(&o.url, "url", "",
		"with -export: the `address` that the site will have, for shared links' pictures")
	flags.StringVar(&o.open, "open", "",
		"show this `file` too, which scenarios.Record or explore.Record has written")
	flags.BoolVar(&o.ready, "ready", false,
		"say instead whether this computer is ready for the workshop, and what is missing")
	flags.BoolVar(&o.generate, "generate", false,
		"rewrite the pages' generated parts instead; those that take minutes or need servers"+
			" only if their names follow: "+strings.Join(generated.Names(), ", "))
	if err := terminal.Parse(flags, args, "Serves the workshop's pages as a site, exports them, or"+
		" generates parts of them.\n\nusage: go run ./docs [flags] [names]\n\n", stdout); err != nil {
		return o, err
	}
	o.names = flags.Args()
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	_, port, unsplit := net.SplitHostPort(o.address)
	n, unread := strconv.Atoi(port)
	err = cmp.Or(
		terminal.Wrong(set["export"] && o.export == "", "-export wants a directory, such as -export site"),
		terminal.Wrong(o.generate && o.export != "", "-generate rewrites the pages, and -export writes the site:"+
			" one after the other"),
		terminal.Wrong(o.open != "" && (o.generate || o.export != ""), "-open shows a file on the site that is served"+
			" here: it goes neither with -export nor with -generate"),
		terminal.Wrong(o.ready && (o.generate || o.export != "" || o.open != ""), "-ready checks this computer and does"+
			" nothing else: give it by itself, or with -addr"))
	if err != nil || o.generate {
		return o, cmp.Or(err, known(o.names))
	}
	return o, cmp.Or(
		terminal.Wrong(len(o.names) > 0, "unexpected argument %q", flags.Arg(0)),
		terminal.Wrong(unsplit != nil, "-addr %q is not host:port, such as 127.0.0.1:8080", o.address),
		terminal.Wrong(unread != nil || n < 0 || n > 65535, "-addr %q has the port %q, it must be a number from 0 to 65535",
			o.address, port))
}

// export writes the site as files.
func export(t *testing.T, ctx context.Context, dir, url string, stdout io.Writer) error {
	root, err := generated.Root()
	if err != nil {
		return err
	}
	shown, _ := openSite(t, ctx, root)
	shown.URL = strings.TrimSuffix(url, "/")
	written, err := shown.Export(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d pages are in %s: open %s\n", written, dir, filepath.Join(dir, "index.html"))
	return nil
}

// opened reads a recording. Its error names the file and is one line.
func opened(name string) (*recording.File, error) {
	file, err := os.Open(name)
	if why, is := errors.AsType[*fs.PathError](err); is {
		return nil, fmt.Errorf("%s: %w", name, why.Err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: it is a directory: name a file in it, such as SCENARIO/INVARIANT.json", name)
	}
	read, err := recording.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return read, nil
}

// serve answers until ctx ends, and then finishes what is under way. Opened is shown
// too, unless it is nil.
func serve(t *testing.T, ctx context.Context, address string, opened *recording.File,
	stdout io.Writer) error {
	root, err := generated.Root()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("-addr %s: %w (-addr 127.0.0.1:0 takes a free port)", address, errors.Unwrap(err))
	}
	ctx, cancel := context.WithCancel(ctx)
	shown, laboratory := openSite(t, ctx, root)
	defer laboratory.works.Wait()
	defer cancel()
	shown.Opened = opened
	server := &http.Server{
		Handler:           onlyFor(address, shown),
		ReadHeaderTimeout: 5 * time.Second,
	}
	if opened != nil {
		fmt.Fprintf(stdout, "The recording is at http://%s%s\n", listener.Addr(), site.OpenedPath)
	}
	fmt.Fprintf(stdout, "The workshop is at http://%s (Ctrl-C ends it)\n", listener.Addr())
	laboratory.works.Go(func() { laboratory.prepare(stdout) })
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", address, err)
	case <-ctx.Done():
	}
	finish, end := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer end()
	if err := server.Shutdown(finish); err != nil {
		server.Close()
	}
	<-ended
	return nil
}

// onlyFor answers requests for an address, for localhost and for the host that -addr
// names. Another name that leads here is a page elsewhere that reads this one.
func onlyFor(address string, site http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		name := strings.ToLower(strings.TrimSuffix(host, "."))
		if net.ParseIP(host) == nil && name != "localhost" && name != strings.ToLower(own) {
			http.Error(w, fmt.Sprintf("this site is not %q: ask for its address, or "+
				"start it with -addr %s:PORT", host, host), http.StatusMisdirectedRequest)
			return
		}
		site.ServeHTTP(w, r)
	})
}
