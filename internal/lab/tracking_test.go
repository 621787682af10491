package lab_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
)

// plain is a connection without a driver.
type plain struct {
	*proto.Client
	t    *testing.T
	conn net.Conn
}

func dial(t *testing.T, c *lab.Client, node int) *plain {
	conn, err := c.Env(key).Dial(context.Background(), node)
	require.NoError(t, err)
	return &plain{proto.NewClient(conn), t, conn}
}

// says sends a command and returns the next frame, whatever it is.
func (p *plain) says(command string) string {
	frame, err := p.Do(strings.Split(command, "|")...)
	assert.NoError(p.t, err)
	return strings.TrimSpace(frame)
}

func (p *plain) hears() string {
	frame, err := p.Read()
	assert.NoError(p.t, err)
	return strings.TrimSpace(frame)
}

// silent says whether nothing comes for a second.
func (p *plain) silent() bool {
	p.conn.SetReadDeadline(time.Now().Add(time.Second))
	_, err := p.Read()
	p.conn.SetReadDeadline(time.Time{})
	return err != nil
}

const told = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$5\r\nstock"

// A client that tracks what it reads is told once when that has changed.
func TestAReaderIsToldOfChanges(t *testing.T) {
	const (
		tracks = "CLIENT|TRACKING|ON"
		noloop = "CLIENT|TRACKING|ON|OPTOUT|NOLOOP"
		gets   = "EVAL|return redis.call('GET', KEYS[1])|1|stock"
		sets   = "EVAL|return redis.call('SET', KEYS[1], 'x')|1|stock"
		leases = "EVAL|redis.call('SET', KEYS[1], 'x', 'PX', 1500);" +
			" return redis.call('GET', KEYS[1])|1|stock"
	)
	for _, c := range []struct {
		name, tracking, a, b string
		tells                bool
	}{
		{"a change", tracks, "GET|stock", "SET|stock|1", true},
		{"a change by an operator", tracks, "GET|stock", "", true},
		{"scripts", tracks, gets, sets, true},
		{"a key that it was not shown", tracks, "GET|other", "SET|stock|1", false},
		{"an expiry", noloop, leases, "TIME", true},
		{"its own change", tracks, "GET|stock", "A|SET|stock|1", true},
		{"its own change, with NOLOOP", noloop, "GET|stock", "A|SET|stock|1", false},
		{"nothing, because it doesn't track", "PING", "GET|stock", "SET|stock|1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, lab.Run(t, aWorld, func(w *lab.World) {
				client := w.Client("A")
				client.Go(func() {
					a, b := dial(t, client, 0), dial(t, w.Client("B"), 0)
					defer a.Close()
					defer b.Close()
					b.says("SET|stock|0")
					a.says(c.tracking)
					a.says(c.a)
					since := w.Now()
					if own, ok := strings.CutPrefix(c.b, "A|"); ok {
						a.says(own)
					} else if c.b == "" {
						w.Node(0).Delete()
					} else {
						b.says(c.b)
					}
					if c.tells {
						assert.Equal(t, told, a.hears())
					}
					if c.a == leases {
						assert.Equal(t, 1500*time.Millisecond, w.Now()-since)
					}
					b.says("SET|stock|2")
					assert.True(t, a.silent(), "it was not shown the key, or knows nothing")
				})
				w.Play()
				assert.Empty(t, w.Failures())
			}))
		})
	}
}
