package protocol_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant"
	"github.com/lockladder/lockladder/reentrant/fenced"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// This test is the programs, too: one of them where its first argument says so.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "program" {
		programs[os.Args[2]].run()
		os.Exit(0)
	}
	protocol.Impatient()
	flag.Parse()
	flag.Set("test.parallel", strconv.Itoa(len(programs))) // they mostly wait
	os.Exit(m.Run())
}

// find tries one of the programs out.
func find(t *testing.T, name string) (*protocol.Program, error) {
	server := miniredis.RunT(t)
	self, err := os.Executable()
	require.NoError(t, err)
	p, err := protocol.Find(t.Context(), server.Addr(), "", "", self, "program", name)
	if p != nil {
		t.Cleanup(p.Close)
	}
	return p, err
}

// serve is a program that does everything right.
func serve() { serveAs(func(*lock.Env) {})() }

// serveAs does everything right with an environment that it has changed.
func serveAs(change func(*lock.Env)) func() {
	return func() {
		err := protocol.Serve(os.Stdin, os.Stdout, protocol.Answer{Library: "a rung"},
			func(e lock.Env) (lock.Lock, error) {
				change(&e)
				return reentrant.New(e.Nodes[0], e.Key, e.TTL, e.Options...)
			})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// answering is a program that answers as it likes: answer says with which line, and
// "" for none.
func answering(answer func(r protocol.Request) string) func() {
	return func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var r protocol.Request
			if err := json.Unmarshal(in.Bytes(), &r); err != nil {
				panic(err)
			}
			if line := answer(r); line != "" {
				fmt.Println(line)
			}
		}
	}
}

// polite answers everything until the lock is tried.
func polite(r protocol.Request) string {
	switch r.Type {
	case protocol.Hello:
		return fmt.Sprintf(`{"id":%d,"type":"hello","protocol":1}`, r.ID)
	case protocol.Build:
		return fmt.Sprintf(`{"id":%d,"type":"ok"}`, r.ID)
	}
	return ""
}

// unless is polite, but for one type of request.
func unless(kind string, answer func(r protocol.Request) string) func() {
	return answering(func(r protocol.Request) string {
		if r.Type == kind {
			return answer(r)
		}
		return polite(r)
	})
}

// says is an answer in which %d is the request's id.
func says(line string) func(protocol.Request) string {
	return func(r protocol.Request) string {
		return strings.ReplaceAll(line, "%d", strconv.Itoa(r.ID))
	}
}

// programs are what can be wrong with a program, and what is said of it.
var programs = map[string]struct {
	run  func()
	said string
}{
	"good": {run: serve},
	"counts": {run: func() {
		protocol.Serve(os.Stdin, os.Stdout, protocol.Answer{
			Keeps: []string{"{" + protocol.KeyOf + "}:token"}},
			func(e lock.Env) (lock.Lock, error) {
				return fenced.New(e.Nodes[0], e.Key, e.TTL, e.Options...)
			})
	}},
	"silent": {answering(func(protocol.Request) string { return "" }),
		"says no hello within 3s"},
	"a banner": {unless(protocol.Hello, says("Welcome to my lock")),
		`has written what is no answer (line 1): "Welcome to my lock"; what is for` +
			` people belongs on standard error`},
	"half a line": {func() { fmt.Print(`{"id":1,"ty`) },
		`has written a line without an end (line 1): "{\"id\":1,\"ty"`},
	"exits": {func() {
		fmt.Fprintln(os.Stderr, "no module named mylock")
		os.Exit(1)
	}, `has ended (exit status 1); its standard error says "no module` +
		` named mylock"`},
	"panics under go run": {func() {
		fmt.Fprintln(os.Stderr, "panic: no map\n\ngoroutine 1 [running]:\nmain.main()\n\t/lock.go:4\nexit status 2")
		os.Exit(1)
	}, `its standard error says "panic: no map"`},
	"hangs": {answering(polite), `doesn't get a free lock: the program has not` +
		` answered "try"`},
	"floods": {func() {
		for {
			fmt.Println(`{"id":1,"type":"hello","protocol":1}`)
		}
	}, "which nobody has asked or which is answered"},
	"closes its output": {unless(protocol.Build, func(protocol.Request) string {
		os.Stdout.Close()
		return ""
	}), "has closed its standard output"},
	"closes its input": {unless(protocol.Build, func(r protocol.Request) string {
		os.Stdin.Close()
		fmt.Printf("{\"id\":%d,\"type\":\"ok\"}\n", r.ID)
		time.Sleep(time.Minute)
		return ""
	}), "has closed its standard input"},
	"a huge line": {unless(protocol.Hello, says(strings.Repeat("x", 1<<17))),
		"has written a line of more than 65536 bytes (line 1)"},
	"writes after its end": {func() {
		serve()
		fmt.Println(`{"id":1,"type":"ok"}`)
	}, "writes after the end of its input"},
	"outlives its input": {func() {
		serve()
		select {}
	}, "still runs 3s after the end of its input"},
	"forks": {func() {
		self, _ := os.Executable()
		child := exec.Command(self, "program", "sleeps")
		child.Stdout = os.Stdout
		child.Start()
		fmt.Fprintln(os.Stderr, "child", child.Process.Pid)
		serve()
	}, "has ended, and a process that it has started still runs"},
	"sleeps": {run: func() { time.Sleep(time.Minute) }},
	"ignores its deadline": {func() {
		answered := 0
		answering(func(r protocol.Request) string {
			switch r.Type {
			case protocol.TryLock:
				answered++
				if answered == 1 {
					return says(`{"id":%d,"type":"granted"}`)(r)
				}
				return says(`{"id":%d,"type":"refused"}`)(r)
			case protocol.Lock:
				time.Sleep(2 * time.Second)
				return says(`{"id":%d,"type":"error","error":"deadline"}`)(r)
			}
			return polite(r)
		})()
	}, "ignores the deadline"},
	"ignores its key": {serveAs(func(e *lock.Env) { e.Key = "mine" }),
		"refuses the lock of one name while another's is held: it must lock the" +
			` "key" of its "build"`},
	"names no key": {serveAs(func(e *lock.Env) { e.Key += ":mine" }),
		`grants the lock, and the server has no key "lockladder:`},
	"another version": {unless(protocol.Hello,
		says(`{"id":%d,"type":"hello","protocol":2}`)),
		"speaks version 2 of the protocol, this is version 1"},
	"an unknown feature": {unless(protocol.Hello,
		says(`{"id":%d,"type":"hello","protocol":1,"features":["speed"]}`)),
		`offers "speed", the features are renewal,`},
	"an unknown error": {unless(protocol.TryLock,
		says(`{"id":%d,"type":"error","error":"oops"}`)),
		`answers with the error "oops", the words are not_held,`},
	"an unknown loss": {unless(protocol.TryLock, says(`{"type":"lost","of":9}`)),
		"says that the grant 9 is lost, and there is no such grant"},
	"no lock": {answering(func(r protocol.Request) string {
		if a := polite(r); a != "" {
			return a
		}
		return says(`{"id":%d,"type":"granted"}`)(r)
	}), "should refuse a second owner what the first one has"},
}

func TestAProgramThatMisbehavesIsToldInOneLine(t *testing.T) {
	locktest.Long(t, "it waits for programs that hang")
	t.Parallel()
	for name, p := range programs {
		if p.said == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := find(t, name)
			unfit := slices.Contains([]string{"ignores its deadline", "ignores its key",
				"names no key", "no lock"}, name)
			require.Equal(t, unfit, errors.Is(err, protocol.ErrUnfit), err)
			require.NotEqual(t, unfit, errors.Is(err, protocol.ErrMisbehaves), err)
			assert.ErrorContains(t, err, p.said)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// Its output would be waited for: for a minute, where a program does not flush it.
func TestATryOutEndsWithItsContext(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = protocol.Find(ctx, "127.0.0.1:1", "", "", self, "program", "silent")
	assert.EqualError(t, err, "try the program out: context deadline exceeded")
	assert.Less(t, time.Since(began), 2*time.Second, "a hello is waited for for 3 s")
}

func TestATryOutLeavesNoKey(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	self, err := os.Executable()
	require.NoError(t, err)
	_, err = protocol.Find(t.Context(), server.Addr(), "", "", self, "program", "counts")
	require.NoError(t, err)
	assert.Empty(t, server.Keys())
}

func TestAProgramThatCantBeStartedIsAnError(t *testing.T) {
	_, err := protocol.Find(t.Context(), "127.0.0.1:1", "", "", "no-such-program")
	assert.ErrorContains(t, err, `start the program: exec: "no-such-program"`)
	_, err = protocol.Find(t.Context(), "127.0.0.1:1", "", "")
	assert.ErrorContains(t, err, "there is no program")
}

// The first process of a program is tried out alone; those that a scenario needs
// begin later, while others are at work.
func TestALaterProcessThatMisbehavesIsToldAsWell(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	p := protocol.New(self, "program", "exits")
	_, err = p.Build(lock.Env{Key: "stock", TTL: time.Minute, Process: "A"})
	require.ErrorIs(t, err, protocol.ErrMisbehaves)
	assert.ErrorContains(t, err, programs["exits"].said)
	<-p.Failed()
	assert.ErrorContains(t, p.Err(), programs["exits"].said)
	p.Close()
}

// found is a program, and what its lock is built with.
func found(t *testing.T) (env lock.Env, server *miniredis.Miniredis,
	p *protocol.Program) {
	p, err := find(t, "good")
	require.NoError(t, err)
	server = miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { rdb.Close() })
	return lock.Env{Nodes: []redis.UniversalClient{rdb}, Key: "stock",
		TTL: time.Minute, Process: "A"}, server, p
}

// pair is two owners of a program's lock, in one process.
func pair(t *testing.T) (a, b lock.Lock, server *miniredis.Miniredis,
	p *protocol.Program) {
	env, server, p := found(t)
	a, err := p.Build(env)
	require.NoError(t, err)
	b, err = p.Build(env)
	require.NoError(t, err)
	return a, b, server, p
}

func TestAProgramIsALock(t *testing.T) {
	t.Parallel()
	a, b, server, p := pair(t)
	assert.Equal(t, "a rung", p.Library())
	assert.True(t, p.Offers(protocol.LossNotices))
	require.NoError(t, a.Lock(t.Context()))
	granted, err := b.TryLock(t.Context())
	require.NoError(t, err)
	assert.False(t, granted)
	assert.ErrorIs(t, b.Unlock(t.Context()), lock.ErrNotHeld)
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, b.Lock(brief), context.DeadlineExceeded)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	before := server.CommandCount()
	assert.ErrorIs(t, b.Lock(canceled), context.Canceled)
	assert.Equal(t, before, server.CommandCount(), "the rung has sent nothing")
	require.NoError(t, a.Unlock(t.Context()))
	assert.Empty(t, server.Keys())
	assert.NoError(t, p.Err())
}

func TestAClosedProgramStartsNoProcess(t *testing.T) {
	t.Parallel()
	_, _, server, p := pair(t)
	p.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	_, err := p.Build(lock.Env{Nodes: []redis.UniversalClient{rdb}, Key: "stock",
		TTL: time.Minute, Process: "B"})
	assert.ErrorContains(t, err, "the program was closed")
	assert.NoError(t, p.Err(), "it was told to end")
}

// One owner waits while another one, in the same process, is answered.
func TestAnswersMayComeInAnotherOrder(t *testing.T) {
	t.Parallel()
	a, b, _, _ := pair(t)
	require.NoError(t, a.Lock(t.Context()))
	done := make(chan error)
	go func() { done <- b.Lock(t.Context()) }()
	require.NoError(t, a.Unlock(t.Context()))
	require.NoError(t, <-done)
}

func TestAProcessThatDiesIsAnErrorOfTheCallAndOfTheProgram(t *testing.T) {
	t.Parallel()
	a, _, _, p := pair(t)
	require.NoError(t, a.Lock(t.Context()))
	// The kill comes from outside: the program's user would use Close.
	killed := protocol.PID(p, "A")
	require.NoError(t, process.Kill(killed))
	assert.ErrorIs(t, a.Unlock(t.Context()), protocol.ErrMisbehaves)
	<-p.Failed()
	assert.ErrorContains(t, p.Err(), "has ended (signal: killed)")
	assert.False(t, process.Running(killed))
}

func TestNothingIsLeftOfAProcessThatForks(t *testing.T) {
	locktest.Long(t, "it waits for a process that is left")
	t.Parallel()
	_, err := find(t, "forks")
	require.ErrorIs(t, err, protocol.ErrMisbehaves)
	_, child, ok := strings.Cut(err.Error(), "child ")
	require.True(t, ok, err)
	pid, err := strconv.Atoi(strings.TrimRight(child, `"`))
	require.NoError(t, err)
	assert.Eventually(t, func() bool { return process.State(pid) == 0 },
		5*time.Second, 10*time.Millisecond)
}

func TestAProgramIsToldItsErrorsInItsOwnWords(t *testing.T) {
	assert.Equal(t, "A's Unlock returns not_held, neither nil nor lost",
		protocol.InWords("A's Unlock returns lock.ErrNotHeld, neither nil nor ErrLost"))
}

func TestAProgramSellsAStockByItself(t *testing.T) {
	t.Parallel()
	env, server, p := found(t)
	require.NoError(t, server.Set("toys", "15"))
	sold, err := p.Sell(t.Context(), env, protocol.Workload{Stock: "toys", Owners: 10,
		Turns: 2, Poll: time.Millisecond})
	require.NoError(t, err)
	assert.Len(t, sold.Sections, 20)
	assert.Equal(t, int64(15), sold.Taken)
	assert.Zero(t, sold.LostUpdates)
	assert.Zero(t, sold.Failures, sold.Text)
	for _, s := range sold.Sections {
		assert.LessOrEqual(t, s[0], s[1], "asked, then in")
		assert.LessOrEqual(t, s[1], s[2], "in, then done")
	}
	left, err := server.Get("toys")
	require.NoError(t, err)
	assert.Equal(t, "0", left)
}

func TestAWorkloadCountsTheTurnsThatFail(t *testing.T) {
	t.Parallel()
	env, server, p := found(t)
	require.NoError(t, server.Set("toys", "some"))
	sold, err := p.Sell(t.Context(), env, protocol.Workload{Stock: "toys", Owners: 3,
		Turns: 2, Poll: time.Millisecond})
	require.NoError(t, err)
	assert.Equal(t, int64(6), sold.Failures)
	assert.Contains(t, sold.Text, `parsing "some"`)
	assert.Empty(t, sold.Sections)
}

func TestAWorkloadEndsWithItsContext(t *testing.T) {
	locktest.Long(t, "it waits for a deadline in real time")
	t.Parallel()
	env, server, p := found(t)
	server.HSet("stock", "somebody else", "1")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := p.Sell(ctx, env, protocol.Workload{Stock: "toys", Owners: 1, Turns: 1,
		Poll: time.Millisecond})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NoError(t, p.Err(), "the program has done nothing wrong")
}

func TestAWorkloadThatIsTooLargeForALineIsRefused(t *testing.T) {
	t.Parallel()
	env, _, p := found(t)
	_, err := p.Sell(t.Context(), env, protocol.Workload{Owners: protocol.MostSections, Turns: 2})
	assert.ErrorIs(t, err, lock.ErrInvalid)
}
