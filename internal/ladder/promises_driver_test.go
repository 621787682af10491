package ladder_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// The rungs' promises about a driver with its own settings: it repeats commands
// without a word, waits past its caller's deadline, and dials more than once. The
// lab's clients do none of that.

// The driver sends the release again when its reply was lost, and the second one
// finds nothing. The lock is free, so ErrNotHeld would say that it was lost
// before; an error of the network says what is known.
func TestALostReplyOfAReleaseIsNoLossOfTheLock(t *testing.T) {
	promised(t, renewing, func(p *promise) {
		a := ready(p.driven()).Locks().
			Fails(lab.Release, 1, lab.Fault{LoseReply: true})
		if !reentrant(p.rung) {
			a.Unlocks(lock.ErrNotHeld).Finds(true) // as it documents
			return
		}
		a.Unlocks(locktest.ErrUnknown).Finds(true).
			Unlocks(lock.ErrNotHeld). // it was done the first time
			Section(0)
	})
}

// The driver sends the acquisition again as well where its connection broke, and the
// second one meets what the first has set.
func TestALostReplyOfAnAcquisitionIsAGrantToAnOwnerThatIsKnown(t *testing.T) {
	promised(t, renewing, func(p *promise) {
		a := ready(p.driven()).Fails(lab.Acquire, 1, lab.Fault{LoseReply: true})
		if !reentrant(p.rung) { // it can't know its owner
			a.Tries(false, locktest.ErrUnknown).Finds(false)
			return
		}
		a.Tries(true).Finds(false).Unlocks()
	})
}

// An acquisition that was not answered in time may still be on its way. If it came
// after the Unlock of one that repeats it, nobody would hold the lock for a lease.
func TestAnAcquisitionThatMayBeUnderWayIsNotRepeated(t *testing.T) {
	promised(t, renewing, func(p *promise) {
		ready(p.driven()).
			Fails(lab.Acquire, 1, lab.Fault{Deliver: 20 * time.Second}).
			Tries(false, locktest.ErrUnknown)
		p.b.At(19 * time.Second).Tries(true).Unlocks()
	})
}

// The driver waits five seconds for a reply, whatever its caller's deadline is. A
// release is over after one lease all the same, and a renewal that it waits for
// after a third of one.
func TestOwnDeadlinesHoldWhateverTheDriverWaitsFor(t *testing.T) {
	const short = 3 * time.Second
	for name, hangs := range map[string]struct{ at, until time.Duration }{
		"the release": {at: 2900 * time.Millisecond, until: 2900*time.Millisecond + short},
		"a renewal":   {at: 3500 * time.Millisecond, until: 2*time.Second + short*2/3 + short},
	} {
		t.Run(name, func(t *testing.T) {
			those(t, onOneNode, func(t *testing.T, rung ladder.Rung) {
				config := locktest.Config{Build: rung.Build, TTL: short}
				locktest.Run(t, config, func(s *locktest.Scenario) {
					s.Process("A").Driven(nil).Warm()
					s.Operator(2500*time.Millisecond, "", (*lab.Node).Hang)
					s.Owner("A").At(2 * time.Second).Locks().
						At(hangs.at).Unlocks(locktest.ErrUnknown).
						Does(func() { assert.Equal(t, hangs.until, s.Now()) })
				})
			})
		})
	}
}

func TestTheCallersDeadlineEndsAnAcquisition(t *testing.T) {
	promised(t, renewing, func(p *promise) {
		a := p.driven()
		a.Process.Warm()
		p.Operator(7*time.Second, "", (*lab.Node).Hang)
		a.At(8*time.Second).LocksWithin(time.Second, context.DeadlineExceeded).
			Does(func() { assert.Equal(p.t, 9*time.Second, p.Now()) })
	})
}

func TestAWaiterLeavesTheQueueWithinOneTurn(t *testing.T) {
	promised(t, queuing, func(p *promise) {
		b := p.b
		b.Driven(nil).Warm()
		b.Lock = b.Build(locktest.Key)
		p.a.At(10 * time.Second).Locks()
		b.At(11 * time.Second).GivesUp(2 * time.Second).Does(func() {
			assert.Equal(p.t, 13*time.Second+lease/20, p.Now())
		})
		p.Operator(12*time.Second, "the server hangs", (*lab.Node).Hang)
		p.Play()
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
			promised(t, listening, func(p *promise) {
				var broken atomic.Int32
				p.b.Driven(func(c net.Conn) net.Conn {
					return breaking{c, []byte("other"), &broken, times}
				})
				p.OwnerOf("other", "A1").Section(5 * time.Second)
				p.a.Section(6 * time.Second)
				p.Owner("B1").At(time.Second).Section(0).Since(6 * time.Second)
				p.OwnerOf("other", "B2").At(2 * time.Second).Section(0).
					SinceAtMost(5*time.Second + time.Millisecond)
				p.Play()
				assert.Greater(p.t, broken.Load(), times)
			})
		})
	}
}

// A dialer that hangs until its context ends, or the network says no, keeps a
// subscription busy. Neither Lock nor Unlock waits for it, and what was begun ends
// with the dialing.
func TestNobodyWaitsForASubscriptionThatCannotConnect(t *testing.T) {
	locktest.Long(t, "it waits in real time for rungs that listen")
	for name, free := range map[string]bool{
		"the context ends": false, "the lock is granted": true,
	} {
		t.Run(name, func(t *testing.T) {
			those(t, listening, func(t *testing.T, rung ladder.Rung) {
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
					TTL: time.Second}
				e.Options = []lock.Option{lock.FixedLease()}
				l, err := rung.Build(e)
				require.NoError(t, err)
				require.NoError(t, l.Lock(t.Context())) // connects
				require.NoError(t, l.Unlock(t.Context()))
				server.HSet("stock", "somebody", "1")

				cut.Store(true)
				done := make(chan error, 1)
				call := func(ctx context.Context, do func(context.Context) error) error {
					go func() { done <- do(ctx) }()
					select {
					case err := <-done:
						return err
					case <-time.After(10 * time.Second):
						return errors.New("it waits for the connection")
					}
				}
				if free {
					go func() {
						<-dialing
						server.Del("stock")
					}()
					assert.NoError(t, call(t.Context(), l.Lock))
					assert.NoError(t, call(t.Context(), l.Unlock))
				} else {
					for range 5 {
						ctx, cancel := context.WithTimeout(t.Context(), e.TTL/10)
						defer cancel()
						assert.ErrorIs(t, call(ctx, l.Lock),
							context.DeadlineExceeded)
					}
				}
				close(refused)
				assert.Eventually(t, func() bool {
					return goroutines("(*Subscription[")+
						goroutines("go-redis/v9.(*channel).") == 0
				}, 30*time.Second, 10*time.Millisecond,
					"the subscription outlives its connection")
			})
		})
	}
}

// goroutines counts those that are in a function of some type.
func goroutines(of string) (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for one := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(one, of) {
			n++
		}
	}
	return n
}

// A lock that listens shares one subscription among all that use a client.
func TestOnlyAClientThatCanSubscribeIsTaken(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{
		Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	e := env(t, 1)
	e.Nodes[0] = ring
	those(t, onOneNode, func(t *testing.T, rung ladder.Rung) {
		l, err := rung.Build(e)
		if !listening(rung) {
			assert.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, lock.ErrInvalid)
		assert.True(t, l == nil, "no lock comes with an error")
	})
}
