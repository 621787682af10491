package nodes

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// across is a connection over a network, and its far end.
func across(t *testing.T, n *network) (near, far net.Conn) {
	near, far = net.Pipe()
	near, err := n.dial(func() (net.Conn, error) { return near, nil })
	require.NoError(t, err)
	return near, far
}

func TestWhatPassesANetworkIsOnItsWayForHalfOfARoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(10*time.Millisecond, true)
		near, far := across(t, n)
		defer far.Close()
		defer near.Close()
		start := time.Now()
		b := make([]byte, 4)

		_, err := near.Write([]byte("ping"))
		require.NoError(t, err)
		assert.Zero(t, time.Since(start), "who sends does not wait")
		_, err = io.ReadFull(far, b)
		require.NoError(t, err)
		assert.Equal(t, 5*time.Millisecond, time.Since(start))

		_, err = far.Write([]byte("pong"))
		require.NoError(t, err)
		_, err = io.ReadFull(near, b)
		require.NoError(t, err)
		assert.Equal(t, "pong", string(b))
		assert.Equal(t, 10*time.Millisecond, time.Since(start))

		// Two that are sent one after the other are on their way together.
		near.Write([]byte("1"))
		time.Sleep(time.Millisecond)
		near.Write([]byte("2"))
		_, err = io.ReadFull(far, b[:2])
		require.NoError(t, err)
		assert.Equal(t, 16*time.Millisecond, time.Since(start))
	})
}

func TestAReadAcrossTheNetworkEndsWithItsDeadlineOrTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(10*time.Millisecond, true)
		near, far := across(t, n)
		require.NoError(t, near.SetDeadline(time.Now().Add(time.Second)))
		_, err := near.Read(make([]byte, 1))
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())

		require.NoError(t, near.SetDeadline(time.Time{}))
		far.Close()
		for range 2 {
			_, err = near.Read(make([]byte, 1))
			assert.ErrorIs(t, err, io.EOF)
		}
		near.Close()
		_, err = near.Write([]byte("x"))
		assert.ErrorIs(t, err, net.ErrClosed)
	})
}

// The clock is asked for moments one after the other, by many.
func TestTheClockWaitsUntilTheMomentAndNotLonger(t *testing.T) {
	c := newClock()
	due := time.Now().Add(5 * time.Millisecond)
	c.until(due)
	assert.False(t, time.Now().Before(due))

	waiting := make(chan struct{})
	go func() {
		c.until(time.Now().Add(time.Millisecond))
		close(waiting)
	}()
	<-waiting
	c.stop()
	c.until(time.Now().Add(time.Hour)) // nobody waits for a stopped clock
}

func TestWithoutADelayAConnectionIsWhatItWas(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	got, err := newNetwork(0, false).dial(func() (net.Conn, error) {
		return near, nil
	})
	require.NoError(t, err)
	assert.Same(t, near, got)
	near.Close()
}
