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
	conn, err := c.Env("stock").Dial(context.Background(), node)
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

// scene has A, which tracks what it reads, and B, which does not.
func scene(t *testing.T, tracking string, script func(w *lab.World, a, b *plain)) {
	require.NoError(t, lab.Run(t, aWorld, func(w *lab.World) {
		a, b := w.Client("A"), w.Client("B")
		a.Go(func() {
			to, other := dial(t, a, 0), dial(t, b, 0)
			assert.Equal(t, "+OK", to.says(tracking))
			script(w, to, other)
			to.Close()
			other.Close()
		})
		w.Play()
		assert.Empty(t, w.Failures())
	}))
}

func TestAReaderIsToldOnceThatItsKeyHasChanged(t *testing.T) {
	scene(t, "CLIENT|TRACKING|ON", func(w *lab.World, a, b *plain) {
		b.says("SET|stock|1")
		assert.True(t, a.silent(), "it was not shown the key yet")
		a.says("GET|stock")
		b.says("SET|stock|2")
		assert.Equal(t, told, a.hears())
		b.says("SET|stock|3")
		assert.True(t, a.silent(), "it knows that it knows nothing")
	})
}

func TestAReaderInAScriptIsTold(t *testing.T) {
	scene(t, "CLIENT|TRACKING|ON", func(w *lab.World, a, b *plain) {
		a.says("EVAL|return redis.call('GET', KEYS[1])|1|stock")
		b.says("EVAL|return redis.call('SET', KEYS[1], 'x')|1|stock")
		assert.Equal(t, told, a.hears())
	})
}

func TestAReaderIsToldThatItsKeyExpiresWhenItDoes(t *testing.T) {
	scene(t, "CLIENT|TRACKING|ON|OPTOUT|NOLOOP", func(w *lab.World, a, b *plain) {
		set := w.Now()
		a.says("EVAL|redis.call('SET', KEYS[1], 'x', 'PX', 5000);" +
			" return redis.call('GET', KEYS[1])|1|stock")
		assert.Equal(t, told, a.hears())
		assert.Equal(t, 5*time.Second, w.Now()-set)
	})
}

func TestAReaderIsToldOfItsOwnChangesUnlessItSaysNoloop(t *testing.T) {
	for tracking, tells := range map[string]bool{
		"CLIENT|TRACKING|ON":        true,
		"CLIENT|TRACKING|ON|NOLOOP": false,
	} {
		t.Run(tracking, func(t *testing.T) {
			scene(t, tracking, func(w *lab.World, a, b *plain) {
				a.says("GET|stock")
				a.says("SET|stock|1")
				if tells {
					assert.Equal(t, told, a.hears())
				}
				assert.True(t, a.silent())
			})
		})
	}
}

func TestAReaderIsToldWhatAnOperatorDoes(t *testing.T) {
	scene(t, "CLIENT|TRACKING|ON", func(w *lab.World, a, b *plain) {
		b.says("SET|stock|1")
		a.says("GET|stock")
		w.Node(0).Delete()
		assert.Equal(t, told, a.hears())
	})
}

func TestAClientThatDoesNotTrackIsToldNothing(t *testing.T) {
	scene(t, "CLIENT|TRACKING|ON", func(w *lab.World, a, b *plain) {
		b.says("GET|stock")
		a.says("SET|stock|1")
		assert.True(t, b.silent())
	})
}
