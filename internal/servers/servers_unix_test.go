//go:build unix

package servers_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
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
