package lock_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

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

func TestOnceRunsAScriptLikeTheClientItself(t *testing.T) {
	c := newCounting(t)
	for want := 11; want <= 12; want++ { // with NOSCRIPT, and without
		got, err := counted.Run(t.Context(), lock.Once(c.rdb),
			[]string{"n"}, 10).Int()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.EqualValues(t, 3, c.sent.Load(), "EVALSHA, EVAL, EVALSHA")
	got, err := redis.NewScript("return 7").Run(t.Context(), lock.Once(c.rdb),
		nil).Int()
	require.NoError(t, err, "without a key")
	assert.Equal(t, 7, got)
}

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

// A server that has no connection left in the pool is dialed as often as go-redis
// likes: nothing was sent yet.
func TestOnceConnectsLikeTheClientItself(t *testing.T) {
	c := newCounting(t)
	var refused atomic.Int32
	rdb := redis.NewClient(&redis.Options{Addr: c.Addr(),
		Dialer: func(ctx context.Context, network, addr string) (net.Conn,
			error) {
			if refused.Add(1) < 3 {
				return nil, net.ErrClosed
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}})
	defer rdb.Close()
	got, err := counted.Run(t.Context(), lock.Once(rdb), []string{"n"}, 0).Int()
	require.NoError(t, err)
	assert.Equal(t, 1, got)
}
