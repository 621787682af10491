package lock_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/lock"
)

// counting is a server that loses replies, with a client of go-redis's own
// settings.
type counting struct {
	*miniredis.Miniredis
	rdb  *redis.Client
	sent atomic.Int32 // scripts
	lose atomic.Int32 // this many of their replies
}

func newCounting(t *testing.T) *counting {
	c := &counting{Miniredis: miniredis.RunT(t)}
	var inside atomic.Bool
	c.Server().SetPreHook(
		func(from *server.Peer, name string, args ...string) bool {
			if !strings.HasPrefix(strings.ToUpper(name), "EVAL") ||
				inside.Load() {
				return false
			}
			c.sent.Add(1)
			if c.lose.Add(-1) < 0 {
				return false
			}
			inside.Store(true)
			defer inside.Store(false)
			nobody := server.NewPeer(bufio.NewWriter(io.Discard))
			c.Server().Dispatch(nobody, append([]string{name}, args...))
			from.Close()
			return true
		})
	c.rdb = redis.NewClient(&redis.Options{Addr: c.Addr()})
	t.Cleanup(func() { c.rdb.Close() })
	return c
}

var counted = redis.NewScript("return redis.call('INCR', KEYS[1]) + ARGV[1]")

func TestOnceDoesNotRepeatWhatWasNotAnswered(t *testing.T) {
	c := newCounting(t)
	require.NoError(t, counted.Load(t.Context(), c.rdb).Err())
	c.lose.Store(1)
	_, err := counted.Run(t.Context(), lock.Once(c.rdb), []string{"n"}, 0).Int()
	assert.ErrorIs(t, err, io.EOF)
	assert.EqualValues(t, 1, c.sent.Load())
	n, err := c.Get("n")
	require.NoError(t, err)
	assert.Equal(t, "1", n)

	c.lose.Store(1)
	got, err := counted.Run(t.Context(), c.rdb, []string{"n"}, 0).Int()
	require.NoError(t, err, "the client itself repeats it")
	assert.Equal(t, 3, got)
}

// seen counts the scripts that pass a client's hooks.
type seen struct{ atomic.Int32 }

func (s *seen) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *seen) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") {
			s.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (s *seen) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestTheClientsHooksSeeEveryScript(t *testing.T) {
	c := newCounting(t)
	var s seen
	c.rdb.AddHook(&s)
	near, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, ctx := range []context.Context{t.Context(), near} {
		for _, rdb := range []redis.Scripter{lock.Bounded(c.rdb), lock.Once(c.rdb)} {
			require.NoError(t, counted.Run(ctx, rdb, []string{"n"}, 0).Err())
		}
	}
	assert.EqualValues(t, 5, s.Load(), "EVALSHA, EVAL, and EVALSHA three times")
	assert.Equal(t, s.Load(), c.sent.Load(), "the server has executed as many")
}

// Embedding is an application's client, which shows its Options. Opaque shows none.
type (
	embedding struct{ *redis.Client }
	opaque    struct{ redis.UniversalClient }
)

// A server that accepts connections and never answers.
func TestAScriptEndsWithItsDeadlineWhateverTheClientIs(t *testing.T) {
	silent := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go io.Copy(io.Discard, server) // until the client closes it
		return client, nil
	}
	single := redis.NewClient(&redis.Options{Dialer: silent, Protocol: 2,
		DisableIdentity: true})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Dialer: silent,
		Addrs: []string{"127.0.0.1:1"}, Protocol: 2, DisableIdentity: true})
	ring := redis.NewRing(&redis.RingOptions{
		Addrs: map[string]string{"a": "127.0.0.1:1"}, Protocol: 2,
		DisableIdentity: true, HeartbeatFrequency: time.Hour,
		NewClient: func(o *redis.Options) *redis.Client {
			o.Dialer = silent
			return redis.NewClient(o)
		}})
	for name, rdb := range map[string]redis.UniversalClient{"a client": single,
		"an embedded client": &embedding{single}, "an opaque one": opaque{single},
		"a cluster's": cluster, "a ring": ring} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			err := counted.Run(ctx, lock.Bounded(rdb), []string{"n"}, 0).Err()
			assert.ErrorIs(t, err, context.DeadlineExceeded,
				"the driver's own timeout is another error, after 5 s")
		})
	}
	for _, rdb := range []redis.UniversalClient{single, cluster, ring} {
		assert.NoError(t, rdb.Close())
	}
}

// An application recovers from its hook's panic, as net/http does for a handler. It
// can't in a goroutine of ours.
func TestAPanicOfAHookIsTheCallers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	assert.PanicsWithValue(t, "a hook's", func() {
		lock.Within(ctx, func() (bool, error) { panic("a hook's") })
	})
	_, err := lock.Within(ctx, func() (bool, error) {
		runtime.Goexit()
		return true, nil
	})
	assert.Error(t, err)
}
