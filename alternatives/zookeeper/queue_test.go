package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/alternatives/zookeeper"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// timeout is the sessions'; the servers count it in ticks.
const timeout = 10 * tick

// person has a session of its own, and counts the events that it is sent.
type person struct {
	scenarios.Lock
	session *zookeeper.Session
	woken   *atomic.Int64
	cut     func() // ends its network, for good
}

// people have a lock each, of one name.
func people(t *testing.T, server *servers.Store, n int, timeout time.Duration,
	build func(*zookeeper.Session, string) (scenarios.Lock, error)) []*person {
	t.Helper()
	var all []*person
	for range n {
		p := &person{woken: &atomic.Int64{}}
		var mu sync.Mutex
		var conns []net.Conn
		gone := false
		p.cut = func() {
			mu.Lock()
			defer mu.Unlock()
			gone = true
			for _, c := range conns {
				c.Close()
			}
		}
		var err error
		p.session, err = zookeeper.Open([]string{server.Addr()}, timeout,
			func(network, _ string, wait time.Duration) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				if gone {
					return nil, errors.New("the network is cut")
				}
				c, err := net.DialTimeout(network, server.Addr(), wait)
				if err != nil {
					return nil, err
				}
				conns = append(conns, c)
				return listen(c, p.woken), nil
			})
		require.NoError(t, err)
		t.Cleanup(p.session.Close)
		p.Lock, err = build(p.session, "stock")
		require.NoError(t, err)
		all = append(all, p)
	}
	return all
}

// listen counts the events that come through a connection.
func listen(c net.Conn, events *atomic.Int64) net.Conn {
	read, write := io.Pipe()
	go func() { // ends with the connection
		replies := zookeeper.Replies(read)
		for {
			raw, _, err := replies.Next()
			if err != nil {
				return
			}
			if len(raw) >= 8 && int32(binary.BigEndian.Uint32(raw[4:])) == -1 {
				events.Add(1)
			}
		}
	}()
	return &tapped{c, write}
}

type tapped struct {
	net.Conn
	to *io.PipeWriter
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.to.Write(b[:n])
	if err != nil {
		c.to.Close()
	}
	return n, err
}

// watches is how many watches the server keeps.
func watches(t *testing.T, server *servers.Store) int {
	t.Helper()
	c, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "wchs")
	require.NoError(t, err)
	text, err := io.ReadAll(c)
	require.NoError(t, err)
	found := regexp.MustCompile(`Total watches:(\d+)`).FindSubmatch(text)
	require.NotNil(t, found, "%s", text)
	n, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return n
}

// queue lets a holder and so many waiters queue up, one after the other. served
// has the waiters' numbers as they get the lock.
func queue(t *testing.T, server *servers.Store, all []*person) (
	served chan int) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, all[0].Lock.Lock(ctx))
	served = make(chan int, len(all))
	for i, p := range all[1:] {
		go func() {
			if p.Lock.Lock(ctx) == nil {
				served <- i + 1
			}
		}()
		require.Eventually(t, func() bool {
			return watches(t, server) == i+1
		}, 10*time.Second, time.Millisecond, "waiter %d waits", i+1)
	}
	return served
}

func TestAReleaseWakesEverybodyOrOne(t *testing.T) {
	const waiters = 10
	for name, wakes := range map[string]int64{"basic": waiters, "sequential": 1} {
		t.Run(name, func(t *testing.T) {
			server := start(t) // a name belongs to one kind of lock
			all := people(t, server, waiters+1, timeout, kinds[name].build)
			served := queue(t, server, all)
			sum := func() (n int64) {
				for _, p := range all {
					n += p.woken.Load()
				}
				return n
			}
			require.Zero(t, sum())
			require.NoError(t, all[0].Unlock(t.Context()))
			first := <-served
			// Whoever is woken comes to rest: it watches again, or holds.
			require.Eventually(t, func() bool {
				return watches(t, server) == waiters-1
			}, 10*time.Second, time.Millisecond)
			assert.Equal(t, wakes, sum(), "woken by one release")
			for range waiters - 1 {
				require.NoError(t, all[first].Unlock(t.Context()))
				first = <-served
			}
			require.NoError(t, all[first].Unlock(t.Context()))
		})
	}
}

func TestTheQueueServesInTheOrderOfArrival(t *testing.T) {
	server := start(t)
	all := people(t, server, 6, timeout, kinds["sequential"].build)
	served := queue(t, server, all)
	var tokens []uint64
	for i := range all {
		p := all[i]
		if i > 0 {
			assert.Equal(t, i, <-served)
		}
		tokens = append(tokens, p.Lock.(scenarios.Fenced).Token())
		require.NoError(t, p.Unlock(t.Context()))
	}
	assert.IsIncreasing(t, tokens)
}

// The process is gone, and says nothing: the servers end its session. They may
// do so before the time that it has asked for.
func TestTheLockOfAKilledClientComesFreeAndAHolderThatIsCutOffIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		kind    string
		timeout time.Duration
	}{
		"basic":                       {"basic", timeout},
		"sequential":                  {"sequential", timeout},
		"more than the servers grant": {"sequential", 100 * tick},
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			all := people(t, server, 2, c.timeout, kinds[c.kind].build)
			served := queue(t, server, all)
			lost := all[0].Lock.(scenarios.LossNotifier).Lost()
			all[0].cut()
			<-served
			select {
			case <-lost: // by its own clock, for nobody can reach it
			default:
				t.Error("another one holds the lock, and it was not run")
			}
			assert.ErrorIs(t, all[0].Unlock(context.Background()),
				lock.ErrNotHeld)
			require.NoError(t, all[1].Unlock(t.Context()))
		})
	}
}

// A holds, B waits for A, and C for B. B gives up. The recipe takes that for its
// turn; who looks again waits on.
func TestTwoHoldWhenSomebodyInTheRecipesQueueGivesUp(t *testing.T) {
	for name, two := range map[string]bool{"recipe": true, "sequential": false} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			all := people(t, server, 3, timeout, kinds[name].build)
			served := queue(t, server, all)
			all[1].session.Close()
			if two {
				// To the recipe even the end of B's own session is B's turn.
				for <-served != 2 {
				}
				return // C has the lock, and A holds it still
			}
			require.Eventually(t, func() bool {
				return watches(t, server) == 1
			}, 10*time.Second, time.Millisecond, "C watches A's node now")
			assert.Empty(t, served)
			require.NoError(t, all[0].Unlock(t.Context()))
			assert.Equal(t, 2, <-served)
		})
	}
}

func TestBadInputGetsOneLine(t *testing.T) {
	_, err := zookeeper.Open(nil, timeout, nil)
	assert.ErrorIs(t, err, lock.ErrInvalid)
	_, err = zookeeper.Open([]string{"127.0.0.1:1"}, 0, nil)
	assert.ErrorIs(t, err, lock.ErrInvalid)
	_, err = zookeeper.NewSequential(nil, "x")
	assert.ErrorIs(t, err, lock.ErrInvalid)
	s, err := zookeeper.Open([]string{"127.0.0.1:1"}, timeout, nil)
	require.NoError(t, err)
	defer s.Close()
	for _, name := range []string{"", "a/b", "..", "a\x00"} {
		_, err = zookeeper.NewBasic(s, name)
		assert.ErrorIs(t, err, lock.ErrInvalid)
	}
	l, err := zookeeper.NewBasic(s, "x")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = l.TryLock(ctx)
	assert.ErrorContains(t, err, `acquire "x": 127.0.0.1:1: `)
	assert.ErrorContains(t, err, "refused")
	assert.NotContains(t, err.Error(), "\n")
}
