// Bench prints the ladder's table with the libraries that people use in it: the
// same job, in one run.
//
//	go run ./bench
//	go run ./bench -clients 100 -rungs serial-limit,diamond/watchdog,redislock
//	go run ./bench -redis 127.0.0.1:6379
//
// rueidislock needs client-side caching, which the embedded servers do not have;
// with -redis it is measured too. It exits with 0 when every row was measured, 2
// when it was not understood, and 1 after any other failure or an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/lockladder/lockladder/alternatives/libraries"
	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/lock"
)

const (
	ok     = 0
	failed = 1
	usage  = 2
)

// reachWithin bounds the search for a sign of life of the servers.
const reachWithin = 5 * time.Second

func main() {
	logging.Disable()
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	runner := &benchmark.Runner{Grace: benchmark.DefaultGrace}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&runner.Clients, "clients", benchmark.DefaultClients,
		"how many `clients` start at one instant")
	flags.IntVar(&runner.Stock, "stock", benchmark.DefaultStock,
		"how many `units` there are to sell")
	flags.DurationVar(&runner.TTL, "ttl", benchmark.DefaultTTL,
		"the lease of the lock")
	flags.DurationVar(&runner.Timeout, "timeout", benchmark.DefaultTimeout,
		"ends a row that takes longer; it is reported all the same")
	redis := flags.String("redis", "", "real servers, `host:port`; up to five,"+
		" separated by commas\n(default embedded miniredis)")
	names := flags.String("rungs", "", "the `names` of rungs, libraries and"+
		" baselines, separated by commas\n(default all)")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return ok
	}
	var servers []string
	if *redis != "" {
		servers = strings.Split(*redis, ",")
	}
	all, left, end := subjects(servers)
	defer end()
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for _, address := range servers {
		if _, _, bad := net.SplitHostPort(address); err == nil && bad != nil {
			err = fmt.Errorf("-redis %q is not host:port", address)
		}
	}
	if err == nil {
		all, err = benchmark.Select(all, *names)
	}
	if err == nil {
		err = runner.Check()
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v (-help lists the flags)\n", err)
		return usage
	}
	if err := measure(ctx, runner, all, servers, stdout); err != nil {
		fmt.Fprintf(stderr, "bench: %s\n",
			strings.ReplaceAll(err.Error(), "\n", "; "))
		return failed
	}
	if len(left) > 0 && *names == "" {
		fmt.Fprintf(stdout, "\nNot measured: %s; they need a real server, see"+
			" -redis.\n", strings.Join(left, ", "))
	}
	return ok
}

// subjects are the rungs, the libraries and the baselines around them; left are
// the libraries that can't be measured without real servers. What end ends, they
// have in common.
func subjects(servers []string) (all []benchmark.Subject, left []string,
	end func()) {
	var ends []func()
	for _, rung := range ladder.Rungs {
		all = append(all, benchmark.Subject{
			Name:  rung.Name,
			Kind:  benchmark.Rung,
			Nodes: rung.Nodes,
			Build: rung.Build,
		})
	}
	for _, library := range libraries.Libraries {
		subject := benchmark.Subject{
			Name:  library.Name,
			Kind:  benchmark.Alternative,
			Nodes: library.Nodes,
			Build: library.Build,
		}
		if library.Share != nil {
			if len(servers) == 0 {
				left = append(left, library.Name)
				continue
			}
			build, end := library.Share()
			ends = append(ends, end)
			subject.Nodes = 0 // it brings its own connection, uncounted
			subject.Build = dialling(build, servers[0])
		}
		all = append(all, subject)
	}
	return benchmark.Around(all...), left, func() {
		for _, end := range ends {
			end()
		}
	}
}

// dialling gives a lock that brings its own driver the way to a server.
func dialling(build lock.Build, address string) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		env.Dial = func(ctx context.Context, _ int) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
		return build(env)
	}
}

// measure runs one subject after the other and prints each row as it comes.
func measure(ctx context.Context, runner *benchmark.Runner,
	all []benchmark.Subject, addresses []string, stdout io.Writer) (err error) {
	if len(addresses) == 0 {
		nodes := 1
		for _, subject := range all {
			nodes = max(nodes, subject.Nodes)
		}
		runner.Servers = benchmark.Embed(nodes, runner.Clients)
	} else {
		reach, cancel := context.WithTimeout(ctx, reachWithin)
		defer cancel()
		if runner.Servers, err = benchmark.Connect(reach, addresses,
			runner.Clients); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, runner.Servers.Close(ctx)) }()
	server := "embedded miniredis"
	if len(addresses) > 0 {
		server = "Redis " + runner.Servers.Version + " at " +
			strings.Join(addresses, ", ")
	}
	fmt.Fprintf(stdout, "%d clients start at one instant; stock %d, lease %v,"+
		" at most %v a row; %s.\nLibraries wait between attempts as they do by"+
		" default.\n\n", runner.Clients, runner.Stock, runner.TTL,
		runner.Timeout, server)
	var table benchmark.Table
	fmt.Fprint(stdout, table.Head())
	for i, subject := range all {
		row, err := runner.Measure(ctx, subject)
		if err == nil {
			fmt.Fprint(stdout, table.Row(row))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d rows", i, len(all))
		}
		if err != nil {
			return err
		}
	}
	_, err = fmt.Fprint(stdout, "\n"+table.Legend())
	return err
}
