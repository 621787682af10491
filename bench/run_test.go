package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/ladder"
)

// asProgram makes the test binary the program itself: signals and the standard
// streams are those of a process.
const asProgram = "LOCKLADDER_BENCH_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" ||
		os.Getenv(benchmark.ServiceVariable) != "" {
		main()
	}
	logging.Disable() // tests about failures would look like failures
	os.Exit(m.Run())
}

func process(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// bench runs the program in this process.
func bench(ctx context.Context, args ...string) (
	status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = program().Run(ctx, args, &out, &errs)
	return status, out.String(), errs.String()
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// oneLineOnly asserts that stderr is one line that says what was wrong.
func oneLineOnly(t *testing.T, stderr, want string) {
	t.Helper()
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	assert.True(t, strings.HasPrefix(stderr, "bench: "), stderr)
	assert.Contains(t, stderr, want)
}

func TestWhatIsNotUnderstoodIsAUsageError(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		want string
	}{
		"no clients":       {"-clients 0", "there are 0 clients"},
		"negative clients": {"-clients -5", "there are -5 clients"},
		"too many clients": {"-clients 60001", "at most 60000"},
		"clients a word":   {"-clients many", `invalid value "many" for flag`},
		"negative stock":   {"-stock -1", "the stock is -1"},
		"no lease":         {"-ttl 0", "the ttl is 0s"},
		"a tiny lease":     {"-ttl 999us", "the ttl is 999µs"},
		"a lease of words": {"-ttl long", `invalid value "long" for flag -ttl: ` +
			"it must be a duration, such as 20ms"},
		"a loop of 3": {"-loop 3", "it must be a duration, such as 20ms"},
		"turns in words": {"-ops some", `invalid value "some" for flag -ops: ` +
			"it must be a whole number, such as 4"},
		"a share in words": {"-crash few", "it must be a number, such as 0.05"},
		"no timeout":       {"-timeout 0", "the timeout is 0s"},
		"no pause":         {"-poll 0", "the poll interval is 0s"},
		"an unknown rung":  {"-rungs gold,lead", `-rungs: there is no "lead"; the names`},
		"no rung":          {"-rungs ", "-rungs: at least one name is needed"},
		"only a comma":     {"-rungs ,", "-rungs: at least one name is needed"},
		"a comma too many": {"-rungs gold,", `-rungs: there is a comma too many` +
			` in "gold,"; the names are serial-limit, `},
		"no port":           {"-redis localhost", "is neither host:port nor auto"},
		"no host":           {"-redis :6379", "is neither host:port nor auto"},
		"an empty address":  {"-redis ", "is neither host:port nor auto"},
		"a password":        {"-redis redis://:s3cret@h:1", "no password"},
		"a user":            {"-redis me:s3cret@h:1", "no password"},
		"a server twice":    {"-redis h:1,h:1", "names h:1 twice"},
		"no file name":      {"-json ", "-json needs the name of a file"},
		"a stray argument":  {"gold", `unexpected argument "gold"`},
		"no turns":          {"-ops 0", "there are 0 turns of each client"},
		"no loop":           {"-loop 0s", "the loop lasts 0s"},
		"a loop and turns":  {"-loop 1s -ops 2", "one of them is possible"},
		"too long a loop":   {"-loop 1m", "shorter than the timeout, 30s"},
		"no rounds":         {"-rounds 0", "there are 0 rounds"},
		"no connections":    {"-pool 0", "the pool has 0 connections"},
		"a negative rtt":    {"-rtt -1ms", "round-trip time is -1ms"},
		"pinned in itself":  {"-pin", "-pin needs a real server"},
		"no process":        {"-services 0", "there are 0 processes"},
		"embedded services": {"-services 4", "-services needs a real server"},
		"an idle service": {"-redis auto -services 4 -clients 3",
			"there are 4 processes for 3 clients"},
		"a share above 1":  {"-crash 1.5", "the shares of faults are 1.5 and 0"},
		"shares above 1":   {"-crash .6 -overrun .6", "more than 1 together"},
		"clients in words": {"-clients 10,many", `"many" is no number`},
		"two outputs": {"-json - -benchstat -",
			"only one of -json and -benchstat"},
		"an unknown flag":   {"-client 5", "not defined: -client"},
		"a flag without it": {"-clients", "flag needs an argument"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := bench(t.Context(),
				strings.Split(c.args, " ")...)
			assert.Equal(t, 2, status)
			oneLineOnly(t, stderr, c.want)
			assert.Empty(t, stdout)
		})
	}
}

func TestAnUnknownRungIsAnsweredWithTheValidNames(t *testing.T) {
	_, _, stderr := bench(t.Context(), "-rungs", "lead")
	for _, rung := range ladder.Rungs {
		assert.Contains(t, stderr, rung.Name)
	}
	assert.Contains(t, stderr, "serial-limit")
}

func TestTheCommandsInTheDocumentsAreUnderstood(t *testing.T) {
	found := 0
	for _, path := range []string{"README.md", "docs/benchmark.md",
		"docs/polling.md"} {
		content, err := os.ReadFile(filepath.Join("..", path))
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			command, _, _ := strings.Cut(line, "#")
			args, is := strings.CutPrefix(command, "    go run ./bench")
			if !is {
				continue
			}
			found++
			words := strings.Fields(strings.ReplaceAll(args, "host:port",
				"127.0.0.1:6379"))
			assert.NoError(t, program().Check(words), "%s: %s", path, line)
		}
	}
	assert.Greater(t, found, 8)
	assert.ErrorContains(t, program().Check([]string{"-rungs", "lead"}), "lead")
}

func TestHelpListsTheFlags(t *testing.T) {
	status, stdout, stderr := bench(t.Context(), "-help")
	assert.Equal(t, 0, status)
	assert.Empty(t, stderr)
	for _, name := range []string{"clients", "stock", "rungs", "ttl", "timeout",
		"poll", "redis", "json", "rounds", "pin", "rtt", "services", "ops",
		"loop", "fixed-poll", "pool", "seed", "crash", "overrun", "benchstat",
		"html"} {
		assert.Regexp(t, "(?m)^  -"+name+"( |$)", stdout)
	}
}

func TestAnUnreachableServerIsOneLineOnStandardError(t *testing.T) {
	address := closedPort(t)
	cmd := process(t, "-redis", address)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)

	assert.Equal(t, 1, exit.ExitCode())
	oneLineOnly(t, stderr.String(), "reach the server at "+address)
	assert.Empty(t, stdout.String())
}

func TestAFileThatCannotBeWrittenIsToldBeforeTheRun(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{
		"no such directory": filepath.Join(dir, "none", "bench.json"),
		"a directory":       dir,
		"a device":          os.DevNull,
	} {
		t.Run(name, func(t *testing.T) {
			// A run that began would look for the server first.
			status, stdout, stderr := bench(t.Context(), "-json", path,
				"-redis", closedPort(t))
			assert.Equal(t, 1, status)
			oneLineOnly(t, stderr, "write "+path+": ")
			assert.NotContains(t, stderr, ".part")
			assert.NotContains(t, stderr, "reach the server")
			assert.Empty(t, stdout)
		})
	}
}

func TestAFileThatMayNotBeWrittenIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o444))
	if file, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
		file.Close()
		t.Skip("this user may write everything")
	}
	status, _, stderr := bench(t.Context(), "-json", path, "-rungs", "no-lock")
	assert.Equal(t, 1, status)
	oneLineOnly(t, stderr, path)
}

// only asserts that nothing but that file is in its directory.
func only(t *testing.T, path, content string) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, content, string(got))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestAFileStaysWhenTheRunFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o644))

	status, _, _ := bench(t.Context(), "-json", path, "-redis", closedPort(t))
	assert.Equal(t, 1, status)
	only(t, path, "before")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	status, _, stderr := bench(ctx, "-json", path)
	assert.Equal(t, 1, status)
	oneLineOnly(t, stderr, "interrupted before row 1 of 18")
	only(t, path, "before")
}

func TestAFileIsReplacedByACompleteReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o644))
	status, stdout, stderr := bench(t.Context(), "-json", path,
		"-clients", "3", "-stock", "2", "-rungs", "lua-decrement,no-lock")
	assert.Equal(t, 0, status)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, "lua-decrement")

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var report benchmark.Report
	require.NoError(t, json.Unmarshal(content, &report))
	require.Len(t, report.Rows, 2)
	assert.Equal(t, "no-lock", report.Rows[0].Rung)
	assert.Equal(t, "lua-decrement", report.Rows[1].Rung)
	only(t, path, string(content))
}

func TestTheTableHasARowForEveryRungAndBaseline(t *testing.T) {
	status, stdout, stderr := bench(t.Context(), "-clients", "5", "-stock", "2",
		"-poll", "5ms")
	assert.Equal(t, 0, status)
	assert.Empty(t, stderr, "no progress line without a terminal")

	var got []string
	for line := range strings.Lines(stdout) {
		// A name and thirteen figures; the heads have more words.
		if fields := strings.Fields(line); len(fields) == 14 {
			got = append(got, fields[0])
		}
	}
	want := []string{"serial-limit", "no-lock", "mutex-per-service"}
	for _, rung := range ladder.Rungs {
		want = append(want, rung.Name)
	}
	want = append(want, "watch-multi", "lua-decrement")
	assert.Equal(t, want, got)
	for _, words := range []string{"5 clients start at one instant", "stock 2",
		"lease 10s", "Connections are warmed up before the clock starts.",
		"Embedded miniredis", "within 5ms"} {
		assert.Contains(t, stdout, words)
	}
}

func TestALoopIsNotSoldOutUnlessOneAsksForIt(t *testing.T) {
	redis := miniredis.RunT(t)
	loop := func(args ...string) string {
		status, stdout, _ := bench(t.Context(), append([]string{"-redis",
			redis.Addr(), "-rounds", "1", "-clients", "2", "-loop", "50ms",
			"-rungs", "gold"}, args...)...)
		assert.Equal(t, 0, status)
		return stdout
	}
	stdout := loop()
	assert.Contains(t, stdout, "stock 1000000")
	assert.NotRegexp(t, `(?m)^gold +\d+ +0 `, stdout, "sold, left")
	stdout = loop("-stock", "1")
	assert.Contains(t, stdout, "stock 1,")
	assert.Regexp(t, `(?m)^gold +1 +0 `, stdout)
}

func TestADelayOfTheNetworkIsSaid(t *testing.T) {
	status, stdout, _ := bench(t.Context(), "-rtt", "50us", "-clients", "2",
		"-stock", "1", "-rungs", "gold")
	assert.Equal(t, 0, status)
	assert.Contains(t, stdout, "50µs are added to every round trip.")
}

func TestTheHeaderSaysWhenGarbageIsCollected(t *testing.T) {
	redis := miniredis.RunT(t)
	header := func(args ...string) string {
		_, stdout, _ := bench(t.Context(), append(args, "-rounds", "1",
			"-clients", "1", "-rungs", "serial-limit")...)
		return stdout
	}
	const line = "The clients' garbage is collected between the rounds."
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	assert.Contains(t, header("-redis", redis.Addr()), line)
	assert.NotContains(t, header(), line, "embedded servers")
	t.Setenv("GOGC", "100")
	assert.NotContains(t, header("-redis", redis.Addr()), line)
}

func TestJSONStandsAloneOnStandardOutput(t *testing.T) {
	status, stdout, stderr := bench(t.Context(), "-json", "-", "-clients", "4",
		"-stock", "3", "-rungs", "gold,serial-limit", "-poll", "5ms",
		"-ttl", "2500ms")
	assert.Equal(t, 0, status)
	assert.Empty(t, stderr)

	var got struct {
		Schema int
		Env    map[string]any
		Rows   []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	assert.Equal(t, 1, got.Schema)
	assert.Equal(t, "miniredis", got.Env["server"])
	assert.Nil(t, got.Env["server_version"])
	assert.Equal(t, 2500.0, got.Env["ttl_ms"])
	assert.Equal(t, false, got.Env["interrupted"])
	require.Len(t, got.Rows, 2)
	assert.Equal(t, "baseline", got.Rows[0]["kind"])
	gold := got.Rows[1]
	assert.Equal(t, "gold", gold["rung"])
	assert.Equal(t, "rung", gold["kind"])
	assert.Equal(t, 3.0, gold["sold"])
	assert.Equal(t, 0.0, gold["left"])
	assert.Equal(t, 1.0, gold["max_holders"])
	assert.Equal(t, 5.0, gold["poll_ms"])
	assert.Equal(t, true, gold["finished"])
	assert.NotNil(t, gold["ratio_to_serial"])
}

// onCommand calls a function when a command is about to be run the n-th time.
func onCommand(redis *miniredis.Miniredis, command string, n int, do func()) {
	redis.Server().SetPreHook(func(_ *server.Peer, c string, _ ...string) bool {
		if c == command {
			if n--; n == 0 {
				do()
			}
		}
		return false
	})
}

func TestAnInterruptPrintsWhatWasMeasuredAndLeavesNoKey(t *testing.T) {
	redis := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	// The first five DECR are those of serial-limit, the sixth is bronze's.
	onCommand(redis, "DECR", 6, cancel)
	status, stdout, stderr := bench(ctx, "-redis", redis.Addr(), "-rounds", "1",
		"-clients", "20", "-stock", "5", "-rungs", "serial-limit,bronze,gold")

	assert.Equal(t, 1, status)
	oneLineOnly(t, stderr, "interrupted in row 2 of 3")
	assert.Contains(t, stdout, "\nserial-limit ")
	assert.Contains(t, stdout, "\nbronze ")
	assert.NotContains(t, stdout, "\ngold ")
	assert.Contains(t, stdout, "cut off after")
	assert.Contains(t, stdout, "Redis at "+redis.Addr())
	assert.Empty(t, redis.Keys())
}

func TestAnInterruptAfterTheLastTurnInterruptsNothing(t *testing.T) {
	redis := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	onCommand(redis, "DECR", 1, cancel)
	status, stdout, stderr := bench(ctx, "-redis", redis.Addr(), "-rounds", "1",
		"-clients", "1", "-rungs", "bronze")

	assert.Equal(t, 0, status)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, "\nbronze ")
	assert.Empty(t, redis.Keys())
}

func TestAnInterruptedReportSaysSo(t *testing.T) {
	redis := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	onCommand(redis, "DECR", 1, cancel)
	status, stdout, stderr := bench(ctx, "-redis", redis.Addr(), "-rounds", "1",
		"-clients", "20", "-rungs", "bronze", "-json", "-")

	assert.Equal(t, 1, status)
	oneLineOnly(t, stderr, "interrupted in row 1 of 1")
	var report benchmark.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	assert.True(t, report.Env.Interrupted)
	assert.Equal(t, []string{redis.Addr()}, report.Env.Addresses)
	require.Len(t, report.Rows, 1)
	assert.False(t, report.Rows[0].Finished)
	assert.Positive(t, report.Rows[0].Sold)
}

func TestASignalInterruptsTheProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends no interrupt to a single process")
	}
	redis := miniredis.RunT(t)
	cmd := process(t, "-redis", redis.Addr(), "-rounds", "1", "-clients", "20",
		"-rungs", "bronze,gold", "-ttl", "1h", "-poll", "1h", "-timeout", "1h")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	started := make(chan struct{})
	onCommand(redis, "DECR", 1, func() {
		<-started
		assert.NoError(t, cmd.Process.Signal(os.Interrupt))
	})
	require.NoError(t, cmd.Start())
	close(started)
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)

	assert.Equal(t, 1, exit.ExitCode(), stderr.String())
	oneLineOnly(t, stderr.String(), "interrupted in row 1 of 2")
	assert.Contains(t, stdout.String(), "\nbronze ")
	assert.Empty(t, redis.Keys())
}

func TestTheClientsLiveInSeveralProcesses(t *testing.T) {
	redis := miniredis.RunT(t)
	status, stdout, stderr := bench(t.Context(), "-redis", redis.Addr(),
		"-clients", "8", "-stock", "3", "-services", "3", "-rounds", "1",
		"-poll", "5ms", "-json", "-", "-rungs",
		"serial-limit,mutex-per-service,gold,reentrant/notify")
	assert.Equal(t, 0, status, stderr)
	assert.Empty(t, redis.Keys())

	var report benchmark.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Len(t, report.Rows, 4)
	assert.Equal(t, 1, report.Rows[0].Services, "it is one client")
	for _, row := range report.Rows[1:] {
		assert.Equal(t, 3, row.Services, row.Rung)
		assert.EqualValues(t, 8, row.Sections, row.Rung)
		assert.Equal(t, new(1.0), row.Jain, row.Rung)
		assert.NotNil(t, row.Wait, row.Rung)
	}
	for _, row := range report.Rows[2:] {
		assert.EqualValues(t, 3, row.Sold, row.Rung)
		assert.Equal(t, new(int64(1)), row.MaxHolders, row.Rung)
		assert.GreaterOrEqual(t, *row.CommandsPerSection, 3.0, row.Rung)
	}
}

// noServer skips the test where redis-server is not installed.
func noServer(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
}

func TestServersAreStartedForTheRun(t *testing.T) {
	noServer(t)
	cmd := process(t, "-redis", "auto", "-clients", "6", "-rounds", "2",
		"-rungs", "serial-limit,gold,redlock", "-poll", "10ms")
	temp := t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	out, err := cmd.Output()
	require.NoError(t, err)
	for _, words := range []string{"5 servers started for this run",
		"measured 2 times",
		"\nredlock ", "times serial"} {
		assert.Contains(t, string(out), words)
	}
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAnInterruptLeavesNoServiceAndNoServer(t *testing.T) {
	noServer(t)
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends no interrupt to a single process")
	}
	for name, services := range map[string]string{"one process": "1",
		"several": "3"} {
		t.Run(name, func(t *testing.T) {
			// bronze waits for ever: a client dies inside, and there is no lease.
			cmd := process(t, "-redis", "auto", "-clients", "6", "-services",
				services, "-rounds", "1", "-crash", "0.2", "-timeout", "1h",
				"-rungs", "no-lock,bronze,gold")
			temp, mark := t.TempDir(), fmt.Sprintf("MARK=%x", rand.Uint64())
			cmd.Env = append(cmd.Env, "TMPDIR="+temp, mark)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(stdout)
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "no-lock ") {
			}
			if runtime.GOOS == "linux" {
				n, _ := strconv.Atoi(services)
				assert.Greater(t, len(marked(mark)), n, "and a server")
			}
			assert.NoError(t, cmd.Process.Signal(os.Interrupt))
			rest, err := io.ReadAll(stdout)
			require.NoError(t, err)
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Wait(), &exit)

			assert.Equal(t, 1, exit.ExitCode(), stderr.String())
			oneLineOnly(t, stderr.String(), "interrupted ")
			assert.Contains(t, stderr.String(), "row 2 of 3")
			assert.Contains(t, string(rest), "retries: refused attempts")
			left, err := os.ReadDir(temp)
			require.NoError(t, err)
			assert.Empty(t, left, "a server's directory goes with the server")
			assert.Eventually(t, func() bool { return len(marked(mark)) == 0 },
				10*time.Second, 10*time.Millisecond, "processes live on")
		})
	}
}

// marked are the processes that were given that environment, on Linux.
func marked(mark string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		if env, err := os.ReadFile(path); err == nil &&
			bytes.Contains(env, []byte(mark)) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

func TestAnInterruptEndsARowInSeveralProcesses(t *testing.T) {
	redis := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	// The first to get in dies, and bronze has no lease: the others ask for ever.
	onCommand(redis, "SET", 20, cancel)
	status, stdout, stderr := bench(ctx, "-redis", redis.Addr(), "-clients",
		"6", "-services", "3", "-rounds", "1", "-crash", "1", "-timeout", "9s",
		"-poll", "5ms", "-rungs", "bronze,gold")
	assert.Equal(t, 1, status)
	oneLineOnly(t, stderr, "interrupted in row 1 of 2")
	assert.Contains(t, stdout, "0 of 6 turns were completed")
	assert.NotContains(t, stdout, "cut off after 9")
	if runtime.GOOS != "windows" {
		assert.Regexp(t, `processes together had [1-9]\d* MB`, stdout)
	}
	assert.Empty(t, redis.Keys())
}

func TestSeveralNumbersOfClientsMakeATableEach(t *testing.T) {
	status, stdout, stderr := bench(t.Context(), "-clients", "2,3", "-poll",
		"1ms,2ms", "-rungs", "gold")
	assert.Equal(t, 0, status, stderr)
	for _, title := range []string{"2 clients, asking again within 1ms\n",
		"2 clients, asking again within 2ms\n",
		"3 clients, asking again within 1ms\n",
		"3 clients, asking again within 2ms\n"} {
		assert.Contains(t, stdout, "\n"+title)
	}
	assert.Equal(t, 4, strings.Count(stdout, "\ngold "))
	assert.Equal(t, 1, strings.Count(stdout, "retries: refused attempts"))
}

func TestFaultsAreShownAndSeeded(t *testing.T) {
	status, stdout, stderr := bench(t.Context(), "-clients", "10", "-crash",
		"0.1", "-overrun", "0.1", "-ttl", "30ms", "-rungs", "diamond")
	assert.Equal(t, 0, status, stderr)
	assert.Contains(t, stdout, "10 % of the clients die inside, 10 % work for "+
		"1.5 leases; seed 1.")
	assert.Contains(t, stdout, "lost")
	status, stdout, _ = bench(t.Context(), "-clients", "2", "-rungs", "no-lock",
		"-crash", "0.5", "-seed", "7")
	assert.Equal(t, 0, status)
	assert.Contains(t, stdout, "lease 200ms")
	assert.Contains(t, stdout, "seed 7.")
}

func TestAllFilesAreWrittenOrNone(t *testing.T) {
	dir := t.TempDir()
	paths := []string{"-json", filepath.Join(dir, "b.json"), "-benchstat",
		filepath.Join(dir, "b.txt"), "-html", filepath.Join(dir, "b.html")}
	status, _, stderr := bench(t.Context(), append(paths, "-clients", "2",
		"-rungs", "gold")...)
	assert.Equal(t, 0, status, stderr)
	for path, begins := range map[string]string{"b.json": "{\n",
		"b.txt": "goos: ", "b.html": "<!doctype html>"} {
		content, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(content), begins), path)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 3)

	other := filepath.Join(t.TempDir(), "b.json")
	status, _, stderr = bench(t.Context(), "-json", other, "-html",
		filepath.Join(dir, "none", "b.html"))
	assert.Equal(t, 1, status)
	oneLineOnly(t, stderr, "write "+filepath.Join(dir, "none", "b.html")+": ")
	assert.NoFileExists(t, other)
}

func TestBenchstatsTextStandsAloneOnStandardOutput(t *testing.T) {
	status, stdout, _ := bench(t.Context(), "-benchstat", "-", "-clients", "2",
		"-rungs", "gold")
	assert.Equal(t, 0, status)
	assert.True(t, strings.HasPrefix(stdout, "goos: "), stdout)
	assert.Contains(t, stdout, "\nBenchmarkInventory/rung=gold/clients=2/")
}

func TestAServerThatFailsBetweenRowsEndsTheRun(t *testing.T) {
	redis := miniredis.RunT(t)
	path := filepath.Join(t.TempDir(), "bench.json")
	// The stock of the first row is set by the first SET, of the next by the
	// second: bronze sends none.
	onCommand(redis, "SET", 2, func() { redis.SetError("ERR out of order") })
	status, stdout, stderr := bench(t.Context(), "-redis", redis.Addr(), "-rounds", "1",
		"-clients", "3", "-rungs", "bronze,silver", "-json", path)

	assert.Equal(t, 1, status)
	oneLineOnly(t, stderr, "measure silver: ")
	assert.Contains(t, stderr, "out of order")
	assert.Contains(t, stderr, "remove the keys *lockladder:bench:")
	assert.Contains(t, stdout, "\nbronze ")
	assert.NoFileExists(t, path)
}

// full is standard output on a full disk.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestAnOutputThatCannotBeWrittenEndsTheRun(t *testing.T) {
	for _, args := range [][]string{{"-rungs", "gold"},
		{"-rungs", "gold", "-json", "-"}} {
		var stderr bytes.Buffer
		status := program().Run(t.Context(), append(args, "-clients", "2"), &full{20},
			&stderr)
		assert.Equal(t, 1, status)
		oneLineOnly(t, stderr.String(), "no space left")
	}
}

func TestARowThatCannotFinishIsReported(t *testing.T) {
	redis := miniredis.RunT(t)
	// Nobody's release arrives, so one has the lock and the others wait.
	redis.Server().SetPreHook(func(p *server.Peer, c string, _ ...string) bool {
		if c == "DEL" {
			p.WriteError("ERR not today")
		}
		return c == "DEL"
	})
	defer redis.Server().SetPreHook(nil)
	status, stdout, stderr := bench(t.Context(), "-redis", redis.Addr(), "-rounds", "1",
		"-clients", "5", "-rungs", "bronze", "-timeout", "50ms")

	assert.Equal(t, 1, status, "the keys could not be removed either")
	assert.Contains(t, stderr, "not today")
	assert.Contains(t, stdout, "cut off after")
	assert.Contains(t, stdout, "1 of 5 turns were completed")
	assert.Contains(t, stdout, "1 turn failed, the first: release")
}
