package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/command"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bench": main, "stores": stores, "rung": rung})
}

// rung is a rung behind the protocol, which sells, or only waits for the lock as most
// programs do; or it speaks something else.
func rung() {
	in := io.Reader(os.Stdin)
	switch os.Args[1] {
	case "nonsense":
		fmt.Println("nonsense")
	case "waits":
		from, to := io.Pipe()
		go func() { // ends with the process
			for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
				if !strings.Contains(lines.Text(), `"type":"sell"`) {
					fmt.Fprintln(to, lines.Text())
				}
			}
			to.Close()
		}()
		in = from
	}
	gold, _ := ladder.Find("gold")
	if err := protocol.Serve(in, os.Stdout, protocol.Answer{Library: "gold"}, gold.Build); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stores is the program with three rows whose servers are their own. NOT_INSTALLED,
// where it is set, names what two of them need.
func stores() {
	var rows []bench.Subject
	for _, name := range []string{"store/a", "store/b", "other"} {
		row := bench.Rungs()[0]
		row.Name, row.OnlyReal = name, true
		row.Missing = func() error {
			if program := os.Getenv("NOT_INSTALLED"); program != "" {
				return fmt.Errorf("%s is not installed", program)
			}
			return nil
		}
		rows = append(rows, row)
	}
	rows[2].Missing = nil
	rows[2].Lease = func(time.Duration) time.Duration { return 10 * time.Second }
	command.Command{Locks: rows}.Main()
}

// TestScripts runs the scripts of testdata. Each has a Redis server of its own at
// $REDIS; nobody listens at $NOBODY. Those whose condition is [server] start servers,
// which LOCKLADDER_REDIS asks for.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup:               setUp,
		Condition: func(name string) (bool, error) {
			return name == "server" && os.Getenv(servers.Variable) != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"refused":      refused,
			"failed":       failed,
			"watch":        watch,
			"seen":         seen,
			"answer":       answer,
			"started":      started,
			"nothing-left": nothingLeft,
		},
	})
}

// redisServer is the server of a script.
type redisServer struct {
	*miniredis.Miniredis
	reached atomic.Bool // the command that watch has named
}

func redisOf(ts *testscript.TestScript) *redisServer { return ts.Value("redis").(*redisServer) }

func setUp(env *testscript.Env) error {
	r := &redisServer{Miniredis: miniredis.NewMiniRedis()}
	r.ClockTTL(true) // or no lease would ever end
	if err := r.Start(); err != nil {
		return err
	}
	env.Defer(r.Close)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	env.Values["redis"] = r
	env.Setenv("REDIS", r.Addr())
	env.Setenv("NOBODY", nobody.Addr().String())
	return nobody.Close()
}

// refused PATTERN ARG... runs the program with arguments that it does not
// understand. It must say why, print nothing else, and exit with 2.
func refused(ts *testscript.TestScript, _ bool, args []string) {
	ends(ts, 2, args)
	if stdout := ts.ReadFile("stdout"); stdout != "" {
		ts.Fatalf("it prints: %s", stdout)
	}
	if !strings.HasSuffix(ts.ReadFile("stderr"), "lists the flags)\n") {
		ts.Fatalf("it does not name its help")
	}
}

// failed PATTERN ARG... runs the program, which must fail in one line and exit with 1.
func failed(ts *testscript.TestScript, _ bool, args []string) { ends(ts, 1, args) }

// ends runs the program, which must exit with that status, and write nothing but a line
// about a failure that begins with its name.
func ends(ts *testscript.TestScript, status int, args []string) {
	err := ts.Exec("bench", args[1:]...)
	if exit, is := err.(*exec.ExitError); !is || exit.ExitCode() != status {
		ts.Fatalf("%v, and not status %d", err, status)
	}
	stderr := ts.ReadFile("stderr")
	if !regexp.MustCompile(`^bench: [^\n]*\n$`).MatchString(stderr) ||
		!regexp.MustCompile(args[0]).MatchString(stderr) {
		ts.Fatalf("not one line, bench: and %s: %q", args[0], stderr)
	}
}

// watch COMMAND N begins to wait for the N-th such command, for seen.
func watch(ts *testscript.TestScript, _ bool, args []string) {
	r := redisOf(ts)
	onCommand(ts, args, func(n int, _ *server.Peer) bool {
		r.reached.Store(r.reached.Load() || n == 0)
		return false
	})
}

// seen waits until the server was sent what watch has named.
func seen(ts *testscript.TestScript, _ bool, _ []string) {
	until(ts, "the command is sent", redisOf(ts).reached.Load)
}

// answer COMMAND N TEXT lets the server answer a command with an error, from the N-th one on.
func answer(ts *testscript.TestScript, _ bool, args []string) {
	onCommand(ts, args, func(n int, p *server.Peer) bool {
		if n <= 0 {
			p.WriteError(args[2])
		}
		return n <= 0
	})
}

// onCommand calls do for each command of that name, with a number that is 0 for
// the N-th. When do is true it has answered.
func onCommand(ts *testscript.TestScript, args []string, do func(n int, p *server.Peer) bool) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var mu sync.Mutex
	redisOf(ts).Server().SetPreHook(
		func(p *server.Peer, command string, _ ...string) bool {
			mu.Lock()
			defer mu.Unlock()
			if command != args[0] {
				return false
			}
			n--
			return do(n, p)
		})
}

// nothingLeft checks that a run has left no process that is connected to the
// server, no key, and no temporary file.
func nothingLeft(ts *testscript.TestScript, _ bool, _ []string) {
	until(ts, "nobody is connected to the server", func() bool {
		return redisOf(ts).CurrentConnectionCount() == 0
	})
	if keys := redisOf(ts).Keys(); len(keys)+len(temporary(ts)) > 0 {
		ts.Fatalf("left: %v %v", keys, temporary(ts))
	}
}

// started waits until the program has begun to start servers.
func started(ts *testscript.TestScript, _ bool, _ []string) {
	until(ts, "servers are started", func() bool { return len(temporary(ts)) > 0 })
}

func until(ts *testscript.TestScript, what string, is func() bool) {
	for begun := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			ts.Fatalf("waited a minute until %s", what)
		}
	}
}

// temporary are the files in the directory for temporary ones.
func temporary(ts *testscript.TestScript) []os.DirEntry {
	files, err := os.ReadDir(ts.Getenv("TMPDIR"))
	ts.Check(err)
	return files
}

// An interrupt that comes with the last turn interrupts nothing. No script can
// send a signal at such a moment.
func TestAnInterruptAfterTheLastTurnInterruptsNothing(t *testing.T) {
	redis := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	redis.Server().SetPreHook(func(_ *server.Peer, c string, _ ...string) bool {
		if c == "DECR" {
			cancel()
		}
		return false
	})
	var stdout, stderr bytes.Buffer
	status := program().Run(ctx, []string{"-redis", redis.Addr(), "-rounds", "1",
		"-clients", "1", "-rungs", "bronze"}, &stdout, &stderr)
	require.Zero(t, status, stderr.String())
	require.Contains(t, stdout.String(), "\n  bronze ")
	require.Empty(t, redis.Keys())
}
