//go:build unix

package servers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	resp "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/process"
)

// startRedis starts a server that ends with the test.
func startRedis(t *testing.T) *servers.Redis {
	t.Helper()
	servers.Need(t)
	r, err := servers.StartRedis(t.Context())
	require.NoError(t, err)
	t.Cleanup(r.Stop)
	return r
}

func TestAServerAnswersUntilItIsStoppedAndForgetsAtARestart(t *testing.T) {
	ctx := context.Background()
	r := startRedis(t)
	rdb := r.Client()
	defer rdb.Close()
	require.NoError(t, rdb.Set(ctx, "k", "v", 0).Err())
	dir, err := rdb.ConfigGet(ctx, "dir").Result()
	require.NoError(t, err)

	r.Kill()
	require.Error(t, rdb.Ping(ctx).Err())
	require.NoError(t, r.Restart())
	assert.ErrorIs(t, rdb.Get(ctx, "k").Err(), redis.Nil)

	r.Stop()
	assert.Error(t, rdb.Ping(ctx).Err())
	assert.NoDirExists(t, dir["dir"])
}

// A server that ends at once says why, long before its time to answer is over.
func TestAServerThatCanNotStartSaysWhy(t *testing.T) {
	servers.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	_, err := servers.StartRedis(context.Background(), "--no-such-option", "1")
	require.Error(t, err)
	assert.Contains(t, err.Error(), "redis-server ended at once")
	assert.NotContains(t, err.Error(), "\n")
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "lockladder-*"))
	assert.Empty(t, left)
}

// Another server that answered on the port of a killed one was taken for it.
func TestARestartFailsWhileAnotherServerHasThePort(t *testing.T) {
	ctx := t.Context()
	r := startRedis(t)
	r.Kill()
	_, port, err := net.SplitHostPort(r.Addr())
	require.NoError(t, err)
	other := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1",
		"--dir", t.TempDir(), "--save", "", "--appendonly", "no")
	require.NoError(t, other.Start())
	end := func() {
		other.Process.Kill()
		other.Wait()
	}
	defer end()
	rdb := redis.NewClient(&redis.Options{Addr: r.Addr()})
	defer rdb.Close()
	require.Eventually(t, func() bool { return rdb.Ping(ctx).Err() == nil },
		10*time.Second, 10*time.Millisecond)

	assert.ErrorContains(t, r.Restart(), "redis-server ended at once")
	end()
	assert.NoError(t, r.Restart())
}

func TestAPausedServerAcceptsAndDoesNotAnswer(t *testing.T) {
	ctx := context.Background()
	r := startRedis(t)
	require.NoError(t, r.Pause())
	c, err := net.Dial("tcp", r.Addr())
	require.NoError(t, err)
	c.Close()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	rdb := r.Client()
	defer rdb.Close()
	require.Error(t, rdb.Ping(short).Err())
	require.NoError(t, r.Resume())
	assert.NoError(t, rdb.Ping(ctx).Err())
}

// The signal only asks for it, and on a busy machine the server went on.
func TestAServerStandsStillWhenPauseReturnsOnABusyMachine(t *testing.T) {
	r := startRedis(t)
	pid, err := r.PID()
	require.NoError(t, err)

	busy := 8 * runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(busy))
	var spinning sync.WaitGroup
	defer spinning.Wait()
	var enough atomic.Bool
	defer enough.Store(true)
	for range busy {
		spinning.Go(func() {
			for !enough.Load() {
			}
		})
	}
	for range 5 {
		require.NoError(t, r.Pause())
		state, err := exec.Command("ps", "-o", "stat=", "-p",
			strconv.Itoa(pid)).Output()
		require.NoError(t, err)
		require.Equal(t, "T", string(state[:1]), "stopped: %s", state)
		require.NoError(t, r.Resume())
	}
}

// What is wrong with somebody's server is one line, without a password.
func TestAServerThatCanNotBeUsedIsOneLine(t *testing.T) {
	tls, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { tls.Close() })
	go func() { // ends with the listener
		for {
			conn, err := tls.Accept()
			if err != nil {
				return
			}
			conn.Close() // as a TLS server does after bytes that are no TLS
		}
	}()
	old, err := resp.NewServer("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(old.Close)
	require.NoError(t, old.Register("PING", func(c *resp.Peer, _ string, _ []string) {
		c.WriteInline("PONG")
	}))
	require.NoError(t, old.Register("INFO", func(c *resp.Peer, _ string, _ []string) {
		c.WriteBulk("# Server\r\nredis_version:6.2.14\r\n")
	}))
	other := miniredis.RunT(t)
	other.RequireAuth("another")
	for at, says := range map[string]string{
		"127.0.0.1:1": "127.0.0.1:1 can't be reached: dial tcp 127.0.0.1:1: connect:" +
			" connection refused",
		other.Addr(): other.Addr() + " can't be used: WRONGPASS",
		tls.Addr().String(): "can't be used: it ends the connection, as a port for TLS" +
			" does; name one without TLS",
		old.Addr().String(): "can't be used: it is version 6.2.14, and 7.0 or newer is" +
			" needed",
	} {
		options := &redis.Options{Addr: at}
		if at != old.Addr().String() {
			options.Password = "s3cret"
		}
		err := servers.Reach(t.Context(), options)
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "s3cret")
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestAReplicaHasWhatWasWrittenBeforeReplicationWasHeldBack(t *testing.T) {
	ctx := context.Background()
	r := startRedis(t)
	before := r.Client()
	defer before.Close()
	require.NoError(t, before.Set(ctx, "early", "v", 0).Err())
	require.NoError(t, r.Replicate())
	require.NoError(t, before.Set(ctx, "late", "v", 0).Err())

	require.NoError(t, r.Promote())
	after := r.Client()
	defer after.Close()
	assert.NoError(t, after.Get(ctx, "early").Err())
	assert.ErrorIs(t, after.Get(ctx, "late").Err(), redis.Nil)
	assert.NoError(t, after.Set(ctx, "late", "v", 0).Err(), "it is a master")
}

// forks is a server whose program starts another one, as that of a data directory does.
var forks = servers.Kind{Name: "forks",
	Command: func(s *servers.Server) ([]string, error) {
		return []string{"sh", "-c", "sh -c 'sleep 60; :' sh $0 & echo >$0/began; wait",
			s.Dir}, nil
	},
	Ready: func(_ context.Context, s *servers.Server) error {
		_, began := os.Stat(filepath.Join(s.Dir, "began"))
		_, err := s.PID()
		return errors.Join(began, err)
	}}

// childStarts says, in a variable, that the test process starts a server instead of testing,
// and waits to be killed.
const childStarts = "LOCKLADDER_CHILD"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(childStarts) {
	case "":
		os.Exit(m.Run())
	case "forks":
		_, err = servers.Start(context.Background(), forks)
	default:
		_, err = servers.StartRedis(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("it runs")
	time.Sleep(time.Minute)
	os.Exit(0)
}

// child is a process of its own that has started a server below temp.
func child(t *testing.T, kind, temp string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childStarts+"="+kind, "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "it runs\n", said)
	return cmd
}

// kill ends a child as kill -9 does.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
}

// nothingLeft waits until no process works in a directory, and until it is empty.
func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	assert.Eventually(t, func() bool {
		out, err := exec.Command("ps", "-A", "-o", "args=").Output()
		return err == nil && !strings.Contains(string(out), temp)
	}, 20*time.Second, 20*time.Millisecond, "the server still runs")
	assert.Eventually(t, func() bool {
		left, _ := filepath.Glob(filepath.Join(temp, "*"))
		return len(left) == 0
	}, 20*time.Second, 20*time.Millisecond, "its directory is left")
}

// However the process ends, its end of the pipe closes.
func TestNoServerOutlivesTheProcessThatStartedIt(t *testing.T) {
	servers.Need(t)
	for _, kind := range []string{"Redis", "forks"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			cmd := child(t, kind, temp)
			kill(t, cmd)
			nothingLeft(t, temp)
		})
	}
}

// Another program on this machine can neither use a server nor find out its
// password, and a client that has strayed to a server of another run is refused there.
func TestARedisServerHasAPasswordThatOthersCanNotRead(t *testing.T) {
	servers.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx := t.Context()
	r, err := servers.StartRedis(ctx)
	require.NoError(t, err)
	defer r.Stop()
	_, password := r.Auth()
	assert.GreaterOrEqual(t, len(password), 20)
	for given, answer := range map[string]string{"": "NOAUTH", "wrong": "WRONGPASS"} {
		rdb := redis.NewClient(&redis.Options{Addr: r.Addr(), Password: given,
			Protocol: 2, DisableIdentity: true})
		assert.ErrorContains(t, rdb.Ping(ctx).Err(), answer)
		assert.NoError(t, rdb.Close())
	}

	processes, err := exec.Command("ps", "-A", "-ww", "-o", "args=").Output()
	require.NoError(t, err)
	require.Contains(t, string(processes), os.TempDir(), "it looks at nothing")
	assert.NotContains(t, string(processes), password)
	file, config := configured(t, os.TempDir())
	assert.Contains(t, config, password)
	dir, err := os.Stat(filepath.Dir(file))
	require.NoError(t, err)
	assert.Zero(t, dir.Mode()&0o077, "others can look into it")

	temp := t.TempDir()
	other := child(t, "Redis", temp)
	_, config = configured(t, temp)
	assert.Contains(t, config, "requirepass ")
	assert.NotContains(t, config, password, "each run has another")
	kill(t, other)
}

// configured is the one server's file of settings below temp.
func configured(t *testing.T, temp string) (file, config string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(temp, "lockladder-*/redis.conf"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	return files[0], string(text)
}

// A start removes what earlier processes have left, and ends their servers. A number
// may belong to another program by now, and one directory's name may begin another's.
func TestAStartRemovesOnlyWhatWasLeftBehind(t *testing.T) {
	servers.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	dir := func(name string) string {
		return filepath.Join(os.TempDir(), "lockladder-"+name)
	}
	// running is a process with that argument.
	running := func(argument string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", "read line", "sh", argument)
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		return cmd
	}
	plant := func(name string, files map[string]int) {
		require.NoError(t, os.Mkdir(dir(name), 0o700))
		for file, pid := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir(name), file),
				[]byte(strconv.Itoa(pid)+"\n"), 0o600))
		}
	}
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	nobody := gone.Process.Pid

	server, another := running("--dir="+dir("1")+"/data"), running(dir("22")+"/data")
	plant("1", map[string]int{"owner": nobody, "pid": server.Process.Pid})
	plant("2", map[string]int{"owner": nobody, "pid": another.Process.Pid})
	plant("22", map[string]int{"owner": os.Getpid(), "pid": another.Process.Pid})
	plant("3", map[string]int{"owner": nobody})
	plant("4", map[string]int{"pid": nobody})
	require.NoError(t, os.Symlink(t.TempDir(), dir("5")))

	r, err := servers.StartRedis(t.Context())
	require.NoError(t, err)
	r.Stop()
	left, err := filepath.Glob(dir("*"))
	require.NoError(t, err)
	assert.Equal(t, []string{dir("22"), dir("4"), dir("5")}, left)
	assert.ErrorContains(t, server.Wait(), "killed")
	assert.NotEqual(t, byte('Z'), process.State(another.Process.Pid), "it was killed")
}
