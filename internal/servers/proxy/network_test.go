package proxy_test

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers/proxy"
)

// passes sends a text from one end of a connection to the other.
func passes(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(from, text)
	require.NoError(t, err)
	buffer := make([]byte, len(text))
	_, err = io.ReadFull(to, buffer)
	require.NoError(t, err)
	assert.Equal(t, text, string(buffer))
}

func TestBytesAreOnTheirWayForTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := proxy.NewVirtualNetwork(5*time.Millisecond, func(request []byte) bool {
			return string(request) == "free"
		})
		far, server := net.Pipe()
		near, start := n.Through(far), time.Now()
		for _, step := range []struct {
			from, to net.Conn
			text     string
			at       time.Duration
		}{
			{near, server, "free", 0},
			{server, near, "free", 0},
			{near, server, "ping", 5 * time.Millisecond},
			{server, near, "pong", 10 * time.Millisecond},
		} {
			passes(t, step.from, step.to, step.text)
			assert.Equal(t, step.at, time.Since(start), step.text)
		}

		for _, text := range []string{"one after the other,", " two are on their way"} {
			_, err := io.WriteString(near, text)
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
		}
		assert.Equal(t, 12*time.Millisecond, time.Since(start), "the sender does not wait")
		_, err := io.ReadFull(server, make([]byte, 41))
		require.NoError(t, err)
		assert.Equal(t, 16*time.Millisecond, time.Since(start))

		server.Close()
		_, err = near.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF)
		n.Close()
	})
}
