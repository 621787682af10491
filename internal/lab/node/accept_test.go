package node

import (
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// locked is a server with a password.
type locked struct{ addr, password string }

func (s locked) Addr() string                  { return s.addr }
func (s locked) Auth() (user, password string) { return "", s.password }

func TestAConnectionShowsThePassword(t *testing.T) {
	redis := miniredis.RunT(t)
	redis.RequireAuth("right")
	for password, says := range map[string]string{
		"right": "+PONG\r\n", "s3cret": "-WRONGPASS "} {
		n := &remote{borrowed: &borrowed{
			server: locked{redis.Addr(), password}}}
		conn, err := n.Accept("")
		require.NoError(t, err)
		for range 2 {
			reply := conn.Execute([]string{"PING"})
			assert.Contains(t, reply, says)
			assert.NotContains(t, reply, "s3cret")
		}
		conn.Close()
	}
}

// A stopped server takes connections and never answers. A client that connects to
// it meanwhile must not hang in the lab, where its context ends nothing.
func TestAConnectionToASilentServerIsOpenAtOnce(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &remote{borrowed: &borrowed{
		server: locked{silent.Addr().String(), "right"}}}
	opened := make(chan error)
	go func() { // ends with the listener, at the latest
		conn, err := n.Accept("")
		if err == nil {
			conn.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		assert.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Error("it waits for the answer to AUTH")
		silent.Close()
		<-opened
	}
	silent.Close()
}
