package inventory_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/lock"
)

// A lock may bring a driver of its own, which knows of no password.
func TestEveryConnectionShowsThePassword(t *testing.T) {
	redis := miniredis.RunT(t)
	redis.RequireAuth("s3cret")
	servers, err := nodes.Connect(t.Context(), []string{redis.Addr()},
		nodes.Config{Clients: 3, Password: "s3cret",
			RTT: time.Millisecond})
	require.NoError(t, err)
	r := runner(servers, 3, 3)
	notify := subject(t, "reentrant/notify") // it subscribes, too
	build := notify.Build
	notify.Build = func(env lock.Env) (lock.Lock, error) {
		conn, err := env.Dial(t.Context(), 0)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		_, err = conn.Write([]byte("*1\r\n$4\r\nPING\r\n"))
		require.NoError(t, err)
		answer := make([]byte, 64)
		n, err := conn.Read(answer)
		require.NoError(t, err)
		assert.Equal(t, "+PONG\r\n", string(answer[:n]))
		return build(env)
	}
	row := measure(t, r, notify)
	assert.EqualValues(t, 0, row.Value("left"))
	assert.Zero(t, row.Value("failures"), row.Value("first_failure"))
	require.NoError(t, servers.Close(t.Context()))
	assert.Empty(t, redis.Keys())
}

func TestAWrongPasswordIsSaidWithoutIt(t *testing.T) {
	redis := miniredis.RunT(t)
	redis.RequireAuth("right")
	for password, want := range map[string]string{
		"": "NOAUTH", "s3cret": "WRONGPASS"} {
		_, err := nodes.Connect(t.Context(), []string{redis.Addr()},
			nodes.Config{Clients: 1, Password: password})
		require.ErrorContains(t, err, `reach the server at "`+redis.Addr())
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "s3cret")
		assert.NotContains(t, err.Error(), "\n")
	}
}
