package zookeeper_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/proxy"
	"github.com/lockladder/lockladder/field/zookeeper"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// person is an owner with a session of its own, through a network of its own. It
// counts the events that it is sent.
type person struct {
	scenarios.Lock
	session *zookeeper.Session
	network *proxy.Proxy
	refused atomic.Int64 // connections that were not made
	woken   atomic.Int64
}

func owner(t *testing.T, kind string, server *servers.Server, timeout time.Duration) *person {
	t.Helper()
	network, err := proxy.Listen(server.Addr())
	require.NoError(t, err)
	t.Cleanup(network.Close)
	p := &person{network: network}
	p.session, err = zookeeper.Open([]string{network.Addr()}, timeout, p.dial)
	require.NoError(t, err)
	t.Cleanup(p.session.Close)
	p.Lock, err = kinds[kind](p.session, "stock")
	require.NoError(t, err)
	return p
}

func (p *person) dial(kind, addr string, wait time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(kind, addr, wait)
	if err != nil {
		p.refused.Add(1)
		return nil, err
	}
	read, write := io.Pipe()
	go p.count(read)
	return &ear{c, io.TeeReader(c, write), write}, nil
}

// count counts the events that come through a connection, until it ends.
func (p *person) count(replies io.Reader) {
	for all := messages(replies, reply); ; {
		raw, _, err := all.Next()
		if err != nil {
			return
		}
		if len(raw) >= 8 && number32(raw[4:]) == -1 {
			p.woken.Add(1)
		}
	}
}

// ear is a connection of which somebody else hears, too.
type ear struct {
	net.Conn
	both io.Reader
	to   io.Closer
}

func (c *ear) Read(b []byte) (int, error) { return c.both.Read(b) }

func (c *ear) Close() error {
	c.to.Close()
	return c.Conn.Close()
}

// cutOff ends all connections, and refuses new ones.
func (p *person) cutOff() {
	p.network.Refuse()
	p.network.Cut()
}

// hears says whether answers arrive. Then the next connection is a new one.
func (p *person) hears(any bool) {
	if !any {
		p.network.Set(proxy.Weather{Swallow: proxy.Replies})
		return
	}
	p.network.Set(proxy.Weather{})
	p.network.Cut()
}

// each runs a test for each of the locks that one may use, at the same time.
func each(t *testing.T, test func(t *testing.T, kind string)) {
	for _, kind := range []string{"basic", "sequential"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// within ends what takes longer than any of these scenarios.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// The server restarts, and keeps its sessions: one that nobody resumes ends.
func TestALockWhoseLossWasToldComesFreeAlthoughItsServerKnowsTheSession(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		server := start(t)
		ctx := within(t, time.Minute)
		holder := owner(t, kind, server, timeout).Lock
		require.NoError(t, holder.Lock(ctx))
		server.Kill()
		select {
		case <-holder.(scenarios.LossNotifier).Lost():
		case <-ctx.Done():
			t.Fatal("its owner was not run")
		}
		require.NoError(t, server.Restart())

		other := owner(t, kind, server, timeout).Lock
		require.NoError(t, other.Lock(ctx), "while the first one lives")
		assert.ErrorIs(t, holder.Unlock(ctx), lock.ErrNotHeld)
		require.NoError(t, other.Unlock(ctx), "it was still the other's")
		require.NoError(t, holder.Lock(ctx), "in a new session")
		require.NoError(t, holder.Unlock(ctx))
	})
}

// The session's timeout in the scenarios of short outages.
const (
	longTick    = 2 * time.Second
	longTimeout = 20 * longTick
)

func TestAReleaseOutlastsAShortOutage(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		server := startWith(t, longTick)
		ctx := within(t, 30*time.Second) // less than a session lasts
		holder := owner(t, kind, server, longTimeout)
		require.NoError(t, holder.Lock.Lock(ctx))
		holder.cutOff()
		released := make(chan error, 1)
		go func() { released <- holder.Unlock(ctx) }()
		require.Eventually(t, func() bool { return holder.refused.Load() > 2 },
			10*time.Second, time.Millisecond, "the driver has given up once")
		require.NoError(t, holder.network.Admit())
		require.NoError(t, <-released)

		other := owner(t, kind, server, longTimeout).Lock
		granted, err := other.TryLock(ctx)
		require.NoError(t, err)
		assert.True(t, granted)
	})
}

// The request was executed, and the connection breaks before the reply has come: the lock is
// had, or no node is left when its context has ended before. So it is when a waiter gives up,
// at once: no answer comes any more, and the session still has half a minute.
func TestALostReplyIsAskedForAgainAndAnAbandonedRequestLeavesNoNode(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		server := startWith(t, longTick)
		s := newStore(t, server)
		ctx := within(t, time.Minute)
		taken := func(is bool) func() bool {
			return func() bool { // an error is met when it goes meanwhile
				first, _, err := s.Holder(ctx, "stock")
				return err == nil && (first != "") == is
			}
		}
		free := func() {
			t.Helper()
			assert.Eventually(t, taken(false), 10*time.Second, time.Millisecond,
				"its session lives on")
		}
		p := owner(t, kind, server, longTimeout)
		require.NoError(t, p.Lock.Lock(ctx)) // the session, and its nodes, are there
		require.NoError(t, p.Unlock(ctx))
		asks := func() (answer chan error, givesUp func()) {
			asked, give := context.WithCancel(ctx)
			t.Cleanup(give)
			answer = make(chan error, 1)
			go func() { answer <- p.Lock.Lock(asked) }()
			return answer, func() {
				t.Helper()
				give()
				select {
				case err := <-answer:
					require.ErrorIs(t, err, context.Canceled)
				case <-time.After(5 * time.Second):
					t.Fatal("it waits for an answer")
				}
				p.hears(true)
			}
		}
		for _, gives := range []bool{false, true} {
			p.hears(false)
			answer, givesUp := asks()
			require.Eventually(t, taken(true), 10*time.Second, time.Millisecond,
				"the server has executed it")
			if gives {
				givesUp()
			} else {
				p.hears(true)
				require.NoError(t, <-answer)
				require.NoError(t, p.Unlock(ctx))
			}
			free()
		}

		holder := owner(t, kind, server, longTimeout)
		require.NoError(t, holder.Lock.Lock(ctx))
		_, givesUp := asks()
		watched(t, server, 1, "it waits")
		p.hears(false)
		givesUp()
		require.NoError(t, holder.Unlock(ctx))
		free()
	})
}
