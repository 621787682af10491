package proxy_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/proxy"
	"github.com/lockladder/lockladder/internal/locktest"
)

// echo is a server that sends back what it reads.
func echo(t *testing.T) *proxy.Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	p, err := proxy.Listen(l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *proxy.Proxy) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", p.Addr(), 10*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
}

// receive reads what there is, for a tenth of a second or until something comes.
func receive(c net.Conn, patience time.Duration) (string, error) {
	c.SetReadDeadline(time.Now().Add(patience))
	buffer := make([]byte, 64)
	n, err := c.Read(buffer)
	return string(buffer[:n]), err
}

// hangs says whether what is sent doesn't come back.
func hangs(t *testing.T, c net.Conn, text string) {
	t.Helper()
	send(t, c, text)
	_, err := receive(c, brief)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// ends says whether the connection is reset.
func ends(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := receive(c, soon)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// echoes says whether what is sent comes back.
func echoes(t *testing.T, c net.Conn) {
	t.Helper()
	send(t, c, "fine")
	text, err := receive(c, soon)
	require.NoError(t, err)
	assert.Equal(t, "fine", text)
}

const (
	soon  = 10 * time.Second       // it comes
	brief = 100 * time.Millisecond // it doesn't
)

func TestBytesThatAreHeldBackArriveLater(t *testing.T) {
	locktest.Long(t, "it waits for connections in real time")
	p := echo(t)
	c := dial(t, p)
	for _, d := range []proxy.Direction{proxy.Requests, proxy.Replies} {
		p.Set(proxy.Weather{Hold: d})
		hangs(t, c, "late")
		p.Set(proxy.Weather{})
		text, err := receive(c, soon)
		require.NoError(t, err)
		assert.Equal(t, "late", text)
	}
}

func TestAConnectionThatLostBytesHangsUntilItIsReset(t *testing.T) {
	locktest.Long(t, "it waits for connections in real time")
	p := echo(t)
	c, untouched := dial(t, p), dial(t, p)
	p.Set(proxy.Weather{Swallow: proxy.Replies})
	hangs(t, c, "gone")
	p.Set(proxy.Weather{})
	hangs(t, c, "gone too")
	p.Reset()
	ends(t, c)
	echoes(t, untouched)
}

func TestConnectionsAreCutAndHalfClosed(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	echoes(t, c)
	p.HalfClose(proxy.Replies)
	_, err := receive(c, soon)
	require.ErrorIs(t, err, io.EOF)
	send(t, c, "it may go on writing")

	other := dial(t, p)
	echoes(t, other)
	p.Cut()
	ends(t, other)
}

func TestConnectionsAreRefusedAndAdmittedAgain(t *testing.T) {
	p := echo(t)
	p.Refuse()
	_, err := net.DialTimeout("tcp", p.Addr(), soon)
	require.Error(t, err)
	require.NoError(t, p.Admit())
	echoes(t, dial(t, p))
}

func TestOnlyAConnectionThatHasSaidItIsConcerned(t *testing.T) {
	locktest.Long(t, "it waits for connections in real time")
	p := echo(t)
	c, other := dial(t, p), dial(t, p)
	echoes(t, c)
	echoes(t, other)
	send(t, c, "PSYNC")
	_, err := receive(c, soon)
	require.NoError(t, err)
	p.Set(proxy.Weather{Swallow: proxy.Both, Said: "PSYNC"})
	echoes(t, other)
	hangs(t, c, "gone")
}
