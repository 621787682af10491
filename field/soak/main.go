package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/terminal"
)

// Exit statuses.
const (
	held     = terminal.OK
	violated = terminal.Failed
	failed   = 3 // the soak itself, or something could not be judged
)

func main() {
	serve(workerName, workerMain)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	go func() { // ends with the process
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	os.Exit(command(ctx, os.Args[1:], terminal.Colored(os.Stdout), os.Stderr))
}

// command is the command line: soak [flags], or soak judge DIR...
func command(ctx context.Context, args []string, out, log io.Writer) int {
	if len(args) > 0 && args[0] == "judge" {
		return judgeAgain(args[1:], out, log)
	}
	o, err := parse(args, out)
	if err != nil {
		return terminal.Refused(log, "soak", err)
	}
	if err := servers.Installed(); err != nil {
		terminal.Say(log, "soak: %v", err)
		return failed
	}
	worst := held
	for i, c := range o.configs {
		worst = worse(worst, soak(ctx, c, o.dir, out, log))
		if left := len(o.configs) - 1 - i; left > 0 && ctx.Err() != nil {
			fmt.Fprintf(out, "%d of %d locks were not run\n", left, len(o.configs))
			break
		}
	}
	if worst == held && ctx.Err() != nil {
		return terminal.Interrupted
	}
	return worst
}

// soak runs one lock and prints its verdict, and the run's directory if it's kept.
func soak(ctx context.Context, c config, keep string, out, log io.Writer) int {
	fmt.Fprintf(out, "%s: seed %d, %v\n", c.Rung, c.Seed, c.For)
	dir, err := os.MkdirTemp(keep, "soak-"+strings.ReplaceAll(c.Rung, "/", "-")+"-")
	if err != nil {
		fmt.Fprintln(log, "soak: make a directory for the run:", err)
		return failed
	}
	c.Progress = log
	ran := run(ctx, c, dir)
	verdict, err := judgeDir(dir)
	if err := errors.Join(ran, err); err != nil {
		fmt.Fprintf(log, "soak: %s: %v\nThe run is in %s\n", c.Rung, err, dir)
		return failed
	}
	if ctx.Err() != nil {
		fmt.Fprintf(out, "interrupted before %v were over: what happened until then is judged\n", c.For)
	}
	verdict.Write(out)
	if status(verdict) != held || keep != "" {
		fmt.Fprintf(out, "The run is in %s\n", dir)
	} else if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(log, "soak: remove a run:", err)
		return failed
	}
	return status(verdict)
}

// status is the exit status of a verdict.
func status(v verdict) int {
	switch {
	case v.Broken():
		return violated
	case v.Undecided():
		return failed
	}
	return held
}

// worse is the status of several runs: a violation counts for more than a run that
// could not be judged.
func worse(a, b int) int {
	if a == violated || b == violated {
		return violated
	}
	return max(a, b)
}

// judgeAgain judges runs that were kept.
func judgeAgain(dirs []string, out, log io.Writer) int {
	if len(dirs) == 0 || strings.HasPrefix(dirs[0], "-") {
		terminal.Say(log, "soak: judge wants the directory of a run, as a soak"+
			" prints it (example: soak judge /tmp/soak-reentrant-1)")
		return terminal.Usage
	}
	worst := held
	for _, dir := range dirs {
		verdict, err := judgeDir(dir)
		if err != nil {
			terminal.Say(log, "soak: %v", err)
			return terminal.Usage
		}
		verdict.Write(out)
		worst = worse(worst, status(verdict))
	}
	return worst
}

// options are what the flags ask for.
type options struct {
	configs []config
	dir     string // where runs are kept, "" to remove those that held
}

// parse reads the flags. Its errors say what would be right.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	c := config{terms: terms{TTL: time.Second, Poll: 100 * time.Millisecond,
		Drivers: []driver{strict, defaults, strict, defaults}}}
	set := flag.NewFlagSet("soak", flag.ContinueOnError)
	redis := set.String("redis", "", `where the servers come from: "auto"`+
		" starts them, which is the only way: they are killed and restarted")
	names := set.String("rungs", "reentrant/cohort",
		"the locks, separated by commas, one after the other")
	set.DurationVar(&c.For, "for", time.Minute, "how long faults come")
	set.Uint64Var(&c.Seed, "seed", 0, "draws the faults; 0: another each time")
	only := set.String("only", "", "only these faults, separated by commas")
	keys := set.Int("keys", 3, "keys")
	set.StringVar(&o.dir, "dir", "",
		"keep all runs below this directory, not only those that didn't hold")
	err := terminal.Parse(set, args, "usage: go run ./soak -redis auto [flags]\n       go run ./soak judge DIR...\n\n", out)
	if errors.Is(err, flag.ErrHelp) {
		help(out)
	}
	if err != nil {
		return o, err
	}
	switch {
	case set.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag; the one command is: soak judge DIR", set.Arg(0))
	case *redis != servers.Auto:
		return o, fmt.Errorf("-redis %q: write -redis auto, which starts the"+
			" servers: a soak kills and restarts them", *redis)
	case c.For <= 0:
		return o, errors.New("-for must be positive")
	case *keys < 1 || *keys > 1000:
		return o, fmt.Errorf("-keys %d: it must be from 1 to 1000", *keys)
	}
	for n := range *keys {
		c.Keys = append(c.Keys, fmt.Sprintf("soak:%d", n+1))
	}
	if c.Faults, err = selectFaults(*only); err != nil {
		return o, err
	}
	if c.Seed == 0 {
		c.Seed = 1 + rand.Uint64N(1_000_000)
	}
	if o.dir != "" {
		if o.dir, err = filepath.Abs(o.dir); err != nil {
			return o, fmt.Errorf("-dir %s: %w", o.dir, err)
		}
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return o, fmt.Errorf("-dir %s: %w", o.dir, err)
		}
	}
	for name := range strings.SplitSeq(*names, ",") {
		one := c
		one.Rung = name
		if one.subject, err = findSubject(name); err != nil {
			return o, err
		}
		one.Again = again(set, name, one.Seed)
		o.configs = append(o.configs, one)
	}
	return o, nil
}

// again is the command that repeats the faults for one lock.
func again(set *flag.FlagSet, rung string, seed uint64) string {
	words := []string{"cd field && go run ./soak -rungs", rung, "-seed", fmt.Sprint(seed)}
	set.Visit(func(f *flag.Flag) {
		if f.Name != "rungs" && f.Name != "seed" && f.Name != "dir" {
			words = append(words, "-"+f.Name, f.Value.String())
		}
	})
	return strings.Join(words, " ")
}

// help prints what -help says below the flags.
func help(out io.Writer) {
	fmt.Fprintln(out, "\nThe faults (*: only when it is named):")
	for _, f := range allFaults {
		mode := ""
		if f.Mode {
			mode = " *"
		}
		fmt.Fprintf(out, "  %-19s %s%s\n", f.Name, f.Text, mode)
	}
	fmt.Fprintln(out, "\nExit status: 0 held, 1 a violation, 2 wrong usage, 3 the soak itself failed\n"+
		"or something could not be judged, 130 held until it was interrupted")
}
