//go:build unix

package etcd_test

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/etcd"
)

// unreachable is an address whose packets are dropped: its queue of connections
// that nobody accepts is full.
func unreachable(t *testing.T) (addr string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd,
		&syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	addr = net.JoinHostPort("127.0.0.1",
		strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	require.Eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
		return err != nil
	}, 10*time.Second, time.Millisecond, "its queue is full")
	return addr
}

func TestAnotherServerIsFoundBesideOneThatIsUnreachable(t *testing.T) {
	server := start(t)
	client, err := etcd.Open(t.Context(), at(unreachable(t), server.Addr()))
	require.NoError(t, err)
	defer client.Close()
	l, err := etcd.New(client, "stock", 10*time.Second)
	require.NoError(t, err)
	granted, err := l.TryLock(t.Context())
	require.NoError(t, err)
	assert.True(t, granted)
	require.NoError(t, l.Close())
}
