package cohort_test

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// The lab's own clients repeat nothing and dial once. These stories are about the
// settings that a program has when it sets none.

// dial connects to the server.
type dial func(ctx context.Context) (net.Conn, error)

// driver gives the process a client with the driver's own retries and timeouts.
// Through wraps its way to the server.
func (p *process) driver(through func(dial) dial) *redis.Client {
	connect := through(func(context.Context) (net.Conn, error) {
		return p.Dial(p.story.Node(0))
	})
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", // never dialed
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return connect(ctx)
		},
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled},
	})
	p.env.Nodes = []redis.UniversalClient{rdb}
	p.story.drivers = append(p.story.drivers, rdb)
	return rdb
}

func directly(d dial) dial { return d }

// waits takes another lock of the owner's process, which B listens to then.
func (p *process) waits(other string, from, patience time.Duration) {
	l, err := cohort.New(p.env.Nodes[0], other, ttl, p.env.Options...)
	require.NoError(p.story.t, err)
	p.Go(func() {
		p.Sleep(from)
		ctx, cancel := context.WithTimeout(p.story.Context(), patience)
		defer cancel()
		if l.Lock(ctx) == nil {
			p.Sleep(patience)
			assert.NoError(p.story.t, l.Unlock(p.story.Context()))
		}
	})
}

// The network needs a millisecond, and the first renewal hangs until 7 s. The
// next one comes in time.
func TestALeaseOutlivesOneRenewalThatHangs(t *testing.T) {
	tell(t, func(s *story) {
		a := s.begin("A")[0]
		a.Always(lab.Fault{AnswerAfter: milli})
		a.Fault(lab.Renewal, 2, lab.Fault{Deliver: 7 * second})
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			o.at(25 * second)
			select {
			case <-o.lock.Lost():
				t.Error("the lease is lost")
			default:
			}
			assert.NoError(t, o.release())
		})
		s.Play()
	})
}

// breaking is a connection that breaks when it is to send a second SUBSCRIBE.
type breaking struct {
	net.Conn
	subscribes *atomic.Int32
}

func (b breaking) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\r\nsubscribe\r\n")) &&
		b.subscribes.Add(1) == 2 {
		b.Close()
		return 0, syscall.EPIPE
	}
	return b.Conn.Write(p)
}

// B listens to one lock when it wants to listen to another. The driver connects
// again, and subscribes to the first one's channel only.
func TestASubscribeThatFailsIsRepeated(t *testing.T) {
	tell(t, func(s *story) {
		all := s.begin("A", "B")
		a, b := all[0], all[1]
		var subscribes atomic.Int32
		b.driver(func(d dial) dial {
			return func(ctx context.Context) (net.Conn, error) {
				conn, err := d(ctx)
				return breaking{conn, &subscribes}, err
			}
		})
		a.waits("another", 0, 9*second)
		b.waits("another", 100*milli, 9*second)
		a.owner(1, func(o *owner) { o.section(5 * second) })
		b.owner(2, func(o *owner) {
			o.at(second)
			o.section(second)
			assert.LessOrEqual(t, o.since, 5*second+10*milli)
		})
		s.Play()
		assert.Greater(t, subscribes.Load(), int32(2))
		assert.Equal(t, []string{"A1", "B2"}, s.served)
	})
}

// listening counts the goroutines that listen for turns.
func listening() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("cohort.(*subscription).run("))
}

// within fails when a call does not return by itself. Ten seconds are far more
// than it needs.
func within(t *testing.T, what string, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	select {
	case <-done:
	case <-time.After(10 * second):
		require.Fail(t, "it hangs", what)
	}
}

// B's old connections work, and new ones hang for as long as the test likes. A
// Lock ends with its context, and an Unlock waits for no dial. This happens in
// real time: a bubble's clock stands while a goroutine waits for a mutex of the
// driver, and all of them do so here.
func TestConnectionsThatHangHoldNobodyUp(t *testing.T) {
	const lease = 300 * milli
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	require.NoError(t, server.Start())
	defer server.Close()
	var hang atomic.Bool
	timeout := make(chan struct{})
	client := func() *redis.Client {
		return redis.NewClient(&redis.Options{Addr: server.Addr(),
			Dialer: func(ctx context.Context, network, addr string) (net.Conn,
				error) {
				if !hang.Load() {
					return new(net.Dialer).DialContext(ctx, network, addr)
				}
				select {
				case <-ctx.Done():
				case <-timeout:
				}
				return nil, &net.OpError{Op: "dial", Net: network,
					Err: syscall.ETIMEDOUT}
			}})
	}
	a, b := client(), client()
	defer a.Close()
	defer b.Close()
	owner := func(rdb *redis.Client) *cohort.Lock {
		l, err := cohort.New(rdb, key, lease, lock.FixedLease())
		require.NoError(t, err)
		return l
	}
	holder, waiter := owner(a), owner(b)
	for _, l := range []*cohort.Lock{holder, waiter} {
		require.NoError(t, l.Lock(t.Context()))
		require.NoError(t, l.Unlock(t.Context()))
	}
	hang.Store(true) // both are connected

	for range 5 {
		within(t, "Lock", func() {
			granted, err := holder.TryLock(t.Context())
			assert.NoError(t, err)
			assert.True(t, granted)
			ctx, cancel := context.WithTimeout(t.Context(), lease/10)
			defer cancel()
			assert.ErrorIs(t, waiter.Lock(ctx), context.DeadlineExceeded)
			assert.NoError(t, holder.Unlock(t.Context()))
		})
	}
	assert.Equal(t, 1, listening(), "one goroutine hangs, and not five")
	within(t, "Unlock", func() {
		granted, err := holder.TryLock(t.Context())
		assert.NoError(t, err)
		assert.True(t, granted)
		assert.NoError(t, waiter.Lock(t.Context()), "after the holder's lease")
		assert.NoError(t, waiter.Unlock(t.Context()))
	})
	close(timeout) // all dials fail, those of now and of later
	require.Eventually(t, func() bool {
		inUse, subscribed := cohort.InUse()
		return inUse+subscribed+listening() == 0
	}, 30*second, milli, "nothing stays behind when the dials have failed")
}

// The server has released the lock, and the reply is lost. To send the release
// again would bring the answer that there was nothing to release.
func TestAReleaseIsSentOnce(t *testing.T) {
	tell(t, func(s *story) {
		a := s.process("A")
		a.driver(directly)
		a.warm()
		s.Record()
		a.Fault(lab.Renewal, 2, lab.Fault{LoseReply: true})
		a.owner(1, func(o *owner) {
			require.True(t, o.acquire())
			err := o.release()
			assert.Error(t, err)
			assert.NotErrorIs(t, err, lock.ErrNotHeld)
			assert.True(t, s.Node(0).Free())
			assert.Len(t, a.sent(), 2, "an acquire and a release")
			o.section(second)
		})
		s.Play()
		assert.Equal(t, []string{"A1", "A1"}, s.served)
	})
}

// unhashable is a client that can't be the key of a map.
type unhashable struct {
	redis.UniversalClient
	_ []string
}

func TestNewRefusesAClientThatCannotListen(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	for name, c := range map[string]struct {
		rdb redis.UniversalClient
		why string
	}{
		"a ring": {ring, "a *redis.Ring can't subscribe"},
		"a client of a type that can't be told from another": {
			unhashable{UniversalClient: ring}, "can't be told from another"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cohort.New(c.rdb, key, ttl)
			assert.ErrorIs(t, err, lock.ErrInvalid)
			assert.ErrorContains(t, err, c.why)
			_, err = cohort.NewFenced(c.rdb, key, ttl)
			assert.ErrorIs(t, err, lock.ErrInvalid)
		})
	}
}
