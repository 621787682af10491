package ladder_test

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"strings"
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
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
)

// What the rungs promise of a driver with its own settings: it repeats commands
// without a word, waits past its caller's deadline, and dials more than once. The
// lab's clients do none of that.

// listening are the rungs whose waiters share a subscription.
func listening(t *testing.T, do func(*testing.T, ladder.Rung)) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		switch rung.Name {
		case "reentrant/notify", "reentrant/cohort":
			do(t, rung)
		default:
			t.Skip("it does not listen")
		}
	})
}

// driven gives an owner a driver with go-redis's own settings, on connections
// that pass through wrap.
func (p *promise) driven(o *owner, rung ladder.Rung, ttl time.Duration,
	wrap func(net.Conn) net.Conn) (at func(key string) lock.Lock, close func()) {
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", // never dialled
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			c, err := o.Dial(p.Node(0))
			if err != nil || wrap == nil {
				return c, err
			}
			return wrap(c), nil
		},
		// Beside the point, and they send commands of their own.
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled},
	})
	at = func(key string) lock.Lock {
		env := o.Env(key)
		env.Nodes, env.TTL = []redis.UniversalClient{rdb}, ttl
		l, err := rung.Build(env)
		require.NoError(p.t, err)
		return l
	}
	o.Lock = at("stock")
	return at, func() { assert.NoError(p.t, rdb.Close()) }
}

// The driver sends the release again when its reply was lost, and the second one
// finds nothing. The lock is free, so ErrNotHeld would say that it was lost
// before; an error of the network says what is known.
func TestALostReplyOfAReleaseIsNoLossOfTheLock(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			_, end := p.driven(p.a, rung, lease, nil)
			p.a.Go(func() {
				defer end()
				p.a.ready(t)
				p.a.acquire(t)
				p.a.Step("breaks", func() {
					p.a.Fault(lab.Release, 1, lab.Fault{LoseReply: true})
				})
				err := p.a.release()
				p.a.Step("looks", func() { assert.True(t, p.Node(0).Free()) })
				if rung.Name == "diamond/watchdog" {
					assert.ErrorIs(t, err, lock.ErrNotHeld, "as it documents")
					return
				}
				assert.Error(t, err)
				assert.NotErrorIs(t, err, lock.ErrNotHeld)
				assert.ErrorIs(t, p.a.release(), lock.ErrNotHeld,
					"it was done the first time")
			})
		})
	})
}

// The driver sends the acquisition again as well, and the second one meets what
// the first has set.
func TestALostReplyOfAnAcquisitionIsAGrantToWhoIsKnown(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			_, end := p.driven(p.a, rung, lease, nil)
			p.a.Go(func() {
				defer end()
				p.a.ready(t)
				p.a.Step("breaks", func() {
					p.a.Begin(lab.Acquire)
					p.a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
				})
				granted, err := p.a.TryLock(context.Background())
				assert.NoError(t, err)
				p.a.Step("looks", func() { assert.False(t, p.Node(0).Free()) })
				if rung.Name == "diamond/watchdog" {
					assert.False(t, granted, "as it documents")
					return
				}
				assert.True(t, granted)
				assert.NoError(t, p.a.release())
			})
		})
	})
}

// The watchdog of the grant before may be inside a command that hangs. TryLock
// waits for it, and the new lease runs meanwhile.
func TestAGrantIsNotOverWhenTryLockReturns(t *testing.T) {
	those(t, "diamond/watchdog", func(t *testing.T, rung ladder.Rung) {
		const short = time.Second
		promised(t, rung, nil, func(p *promise) {
			_, end := p.driven(p.a, rung, short, nil)
			p.a.Go(func() {
				ctx := context.Background()
				defer end()
				var before int
				p.a.Step("looks", func() { before = p.a.Sent(lab.Renewal) })
				granted, err := p.a.TryLock(ctx)
				assert.True(t, granted)
				assert.NoError(t, err)
				p.a.Step("is in", func() {
					sent := p.a.Sent(lab.Renewal)
					assert.Equal(t, before+1, sent)
					p.a.Fault(lab.Renewal, sent+1,
						lab.Fault{Deliver: 100 * lease})
				})
				p.a.Sleep(2 * short)
				granted, err = p.a.TryLock(ctx)
				p.a.Step("looks", func() {
					assert.Greater(t, p.Now(), 3*short, "it has waited so long")
				})
				assert.NoError(t, err)
				assert.False(t, granted && p.a.lostNow(),
					"the lease of this grant is over")
				p.a.Step("looks", func() { assert.True(t, p.Node(0).Free()) })
			})
		})
	})
}

// breaking is a connection whose writes fail once they name a channel.
type breaking struct {
	net.Conn
	channel []byte
	broken  *atomic.Int32 // how often
	times   int32
}

func (c breaking) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("subscribe")) && bytes.Contains(b, c.channel) &&
		c.broken.Add(1) <= c.times {
		c.Conn.Close()
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return c.Conn.Write(b)
}

// go-redis connects again when a SUBSCRIBE could not be written, with the
// channels that it had before. The new connection works and lacks the channel.
func TestASubscriptionThatFailsIsRepeated(t *testing.T) {
	for name, times := range map[string]int32{"once": 1, "five times": 5} {
		t.Run(name, func(t *testing.T) {
			listening(t, func(t *testing.T, rung ladder.Rung) {
				promised(t, rung, nil, func(p *promise) {
					ctx := context.Background()
					var broken atomic.Int32
					at, end := p.driven(p.b, rung, lease,
						func(c net.Conn) net.Conn {
							return breaking{c, []byte("other"), &broken, times}
						})
					held := map[string]lock.Lock{}
					for _, key := range []string{"stock", "other"} {
						env := p.a.Env(key)
						l, err := rung.Build(env)
						require.NoError(t, err)
						held[key] = l
					}
					p.a.Go(func() {
						for _, l := range held {
							assert.NoError(t, l.Lock(ctx))
						}
						p.a.Sleep(5 * time.Second)
						assert.NoError(t, held["other"].Unlock(ctx))
						p.a.Sleep(time.Second)
						assert.NoError(t, held["stock"].Unlock(ctx))
					})
					left := make(chan struct{}, 2)
					waits := func(key string, from, until time.Duration) {
						p.b.Go(func() {
							defer func() { left <- struct{}{} }()
							l := at(key)
							p.b.Sleep(from)
							assert.NoError(t, l.Lock(ctx))
							p.b.Step("is in", func() {
								assert.Equal(t, until, p.Now(), key)
							})
							assert.NoError(t, l.Unlock(ctx))
						})
					}
					waits("stock", time.Second, 6*time.Second)
					waits("other", 2*time.Second, 5*time.Second)
					p.b.Go(func() {
						<-left
						<-left
						assert.Greater(t, broken.Load(), times)
						end()
					})
				})
			})
		})
	}
}

// A dialer that hangs until its context ends, or the network says no, keeps a
// subscription busy. Neither Lock nor Unlock waits for it, and what was begun ends
// with the dialing.
func TestNobodyWaitsForASubscriptionThatCannotConnect(t *testing.T) {
	for name, free := range map[string]bool{
		"the context ends": false, "the lock is granted": true,
	} {
		t.Run(name, func(t *testing.T) {
			listening(t, func(t *testing.T, rung ladder.Rung) {
				server := miniredis.RunT(t)
				var cut atomic.Bool
				refused := make(chan struct{})
				dialing := make(chan struct{}, 100)
				rdb := redis.NewClient(&redis.Options{
					Addr: server.Addr(), // the number of attempts is go-redis's own
					Dialer: func(ctx context.Context, network, addr string) (
						net.Conn, error) {
						if !cut.Load() {
							return new(net.Dialer).DialContext(ctx, network, addr)
						}
						dialing <- struct{}{}
						select {
						case <-ctx.Done():
							return nil, ctx.Err()
						case <-refused:
							return nil, syscall.ECONNREFUSED
						}
					},
				})
				defer rdb.Close()
				e := lock.Env{Nodes: []redis.UniversalClient{rdb}, Key: "stock",
					TTL: 300 * time.Millisecond}
				e.Options = []lock.Option{lock.FixedLease()}
				l, err := rung.Build(e)
				require.NoError(t, err)
				require.NoError(t, l.Lock(t.Context())) // connects
				require.NoError(t, l.Unlock(t.Context()))
				server.HSet("stock", "somebody", "1")

				cut.Store(true)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 2)
				go func() {
					defer close(done)
					err := l.Lock(ctx)
					done <- err
					if err == nil {
						done <- l.Unlock(ctx)
					}
				}()
				<-dialing
				if free {
					server.Del("stock")
				} else {
					cancel()
				}
				hung := time.After(10 * time.Second)
				for over := false; !over; {
					select {
					case err, ok := <-done:
						over = !ok
						if free {
							assert.NoError(t, err)
						} else if ok {
							assert.ErrorIs(t, err, context.Canceled)
						}
					case <-hung:
						over = true
						t.Error("Lock or Unlock waits for the connection")
					}
				}
				close(refused)
				assert.Eventually(t, func() bool { return !subscribes() },
					30*time.Second, 10*time.Millisecond,
					"the subscription outlives its connection")
			})
		})
	}
}

// subscribes says whether a subscription of a rung, or one of go-redis, has a
// goroutine.
func subscribes() bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Contains(string(stacks), "(*subscription).") ||
		strings.Contains(string(stacks), "go-redis/v9.(*channel).")
}

// A process that was stopped may run before its own timers do. Its holder looks
// at Lost before it writes, or enters once more: both look at the clock.
func TestAHolderThatHasJustWokenIsTold(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		server := miniredis.RunT(t) // whose keys don't end by themselves
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer rdb.Close()
		const ttl = 50 * time.Millisecond
		e := lock.Env{Nodes: []redis.UniversalClient{rdb}, Key: "stock",
			TTL: ttl, Options: []lock.Option{lock.FixedLease()}}
		asleep := func() lock.Lock {
			l, err := rung.Build(e)
			require.NoError(t, err)
			require.NoError(t, l.Lock(t.Context()))
			granted := time.Now()
			time.Sleep(ttl - 3*time.Millisecond)
			for time.Since(granted) < ttl { // no timer fires meanwhile
			}
			return l
		}
		// With one processor that is kept busy, timers wait.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))

		l := asleep()
		assert.True(t, isClosed(lostOf(l)), "it looks at Lost")
		l.Unlock(t.Context())

		if strings.HasPrefix(rung.Name, "reentrant") {
			l = asleep()
			_, err := l.TryLock(t.Context())
			assert.ErrorIs(t, err, lock.ErrLost, "it enters once more")
			l.Unlock(t.Context())
			l.Unlock(t.Context())
		}
	})
}

// unhashable is a client that can't be the key of a map.
type unhashable struct {
	*redis.Client
	labels []string
}

// A lock that listens shares one subscription among all that use a client.
func TestOnlyAClientThatCanSubscribeIsTaken(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{
		Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	plain := client(t).(*redis.Client)
	for why, rdb := range map[string]redis.UniversalClient{
		"a *redis.Ring can't subscribe to a lock's channel: pass the shard's own" +
			" client": ring,
		"a ladder_test.unhashable can't be told from another one: pass a" +
			" pointer": unhashable{plain, []string{"a"}},
	} {
		listening(t, func(t *testing.T, rung ladder.Rung) {
			e := env(t, 1)
			e.Nodes[0] = rdb
			l, err := rung.Build(e)
			require.ErrorIs(t, err, lock.ErrInvalid)
			assert.EqualError(t, err, "invalid argument: "+why)
			assert.True(t, l == nil, "no lock comes with an error")
		})
		e := env(t, 1)
		e.Nodes[0] = rdb
		for _, name := range []string{"diamond/watchdog", "reentrant",
			"reentrant/fenced"} {
			rung, err := ladder.Find(name)
			require.NoError(t, err)
			_, err = rung.Build(e)
			assert.NoError(t, err, "%s does not subscribe", name)
		}
	}
}
