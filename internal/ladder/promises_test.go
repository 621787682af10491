package ladder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
)

// What the rungs' comments promise and no scenario judges, because a lock of
// somebody else's need not promise it.

const lease = 10 * time.Second

// promise is a world of virtual time with two clients, each with a handle.
type promise struct {
	*lab.World
	t    *testing.T
	a, b *owner
}

// owner is a client with a handle on the lock.
type owner struct {
	*lab.Client
	lock.Lock
	tokens  int              // how many it has drawn
	another func() lock.Lock // makes one more handle in the same process
}

// promised tells a story of a rung.
func promised(t *testing.T, rung ladder.Rung, options []lock.Option,
	tell func(p *promise)) {
	t.Helper()
	config := lab.Config{Nodes: max(rung.Nodes, 1), Key: "stock", TTL: lease}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		p := &promise{World: w, t: t}
		p.a, p.b = p.owner(rung, "A", options), p.owner(rung, "B", options)
		w.Record()
		tell(p)
		w.Play()
		assert.Empty(t, w.Failures())
	}))
}

func (p *promise) owner(rung ladder.Rung, name string,
	options []lock.Option) *owner {
	o := &owner{Client: p.Client(name)}
	counted := lock.Tokens(func() string {
		o.tokens++
		return fmt.Sprintf("%s#%d", name, o.tokens)
	})
	env := o.Env("stock", append(options, counted)...)
	o.another = func() lock.Lock {
		l, err := rung.Build(env)
		require.NoError(p.t, err)
		return l
	}
	o.Lock = o.another()
	return o
}

// those runs a test for the rungs whose names begin so.
func those(t *testing.T, prefix string, do func(*testing.T, ladder.Rung)) {
	found := false
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		if strings.HasPrefix(rung.Name, prefix) {
			found = true
			do(t, rung)
		}
	})
	assert.True(t, found, "no rung is named %s", prefix)
}

func TestASecondGoroutineIsToldThatTheHandleIsBusy(t *testing.T) {
	those(t, "reentrant", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			p.a.Go(func() {
				assert.NoError(t, p.a.Lock.Lock(ctx))
				p.a.Sleep(5 * time.Second)
				assert.NoError(t, p.a.Unlock(ctx))
			})
			p.b.Go(func() {
				p.b.Sleep(time.Second)
				waited := make(chan error)
				go func() { waited <- p.b.Lock.Lock(ctx) }()
				p.b.Sleep(time.Second)
				_, err := p.b.TryLock(ctx)
				assert.ErrorIs(t, err, lock.ErrBusy)
				assert.ErrorIs(t, p.b.Lock.Lock(ctx), lock.ErrBusy)
				assert.ErrorIs(t, p.b.Unlock(ctx), lock.ErrBusy)
				assert.NoError(t, <-waited, "the first one is not disturbed")
				assert.NoError(t, p.b.Unlock(ctx), "it is free again")
			})
		})
	})
}

func TestAnInnerUnlockRestartsTheLease(t *testing.T) {
	those(t, "reentrant", func(t *testing.T, rung ladder.Rung) {
		fixed := []lock.Option{lock.FixedLease()}
		promised(t, rung, fixed, func(p *promise) {
			ctx := context.Background()
			p.a.Go(func() {
				assert.NoError(t, p.a.Lock.Lock(ctx))
				assert.NoError(t, p.a.Lock.Lock(ctx))
				p.a.Sleep(8 * time.Second)
				assert.NoError(t, p.a.Unlock(ctx))
				p.a.Step("looks", func() {
					assert.Equal(t, lease, p.Node(0).LeaseLeft())
				})
				assert.NoError(t, p.a.Unlock(ctx))
			})
		})
	})
}

func TestUnlockIsNoLoss(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		if !rung.Renews {
			t.Skip("it tells of no loss")
		}
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			p.a.Go(func() {
				assert.NoError(t, p.a.Lock.Lock(ctx))
				lost := p.a.Lock.(lock.LossNotifier).Lost()
				p.a.Sleep(5 * time.Second)
				assert.NoError(t, p.a.Unlock(ctx))
				p.a.Sleep(3 * lease)
				select {
				case <-lost:
					t.Error("Lost is closed after an Unlock")
				default:
				}
			})
		})
	})
}

// The release of a grant that came too late may still be on its way: the next
// acquisition must not be found by it.
func TestTheOwnerOfALateGrantIsNotUsedAgain(t *testing.T) {
	those(t, "reentrant", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			p.a.Go(func() {
				granted, err := p.a.TryLock(ctx) // its scripts are known now
				assert.True(t, granted)
				assert.NoError(t, err)
				assert.NoError(t, p.a.Unlock(ctx))
				before := p.a.tokens
				p.a.Step("slow", func() {
					p.a.Always(lab.Fault{AnswerAfter: lease + time.Second})
				})
				granted, _ = p.a.TryLock(ctx)
				assert.False(t, granted, "the lease is over")
				p.a.Step("quick", func() { p.a.Always(lab.Fault{}) })
				granted, _ = p.a.TryLock(ctx)
				assert.True(t, granted)
				assert.Equal(t, before+2, p.a.tokens)
				assert.NoError(t, p.a.Unlock(ctx))
			})
		})
	})
}

// rouses are the rungs whose waiters are woken.
func rouses(t *testing.T, do func(*testing.T, ladder.Rung)) {
	those(t, "reentrant/notify", do)
}

func TestAReleaseWakesAWaiterAtOnce(t *testing.T) {
	rouses(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			p.a.Go(func() {
				assert.NoError(t, p.a.Lock.Lock(ctx))
				p.a.Sleep(5 * time.Second)
				assert.NoError(t, p.a.Unlock(ctx))
			})
			p.b.Go(func() {
				p.b.Sleep(time.Second)
				assert.NoError(t, p.b.Lock.Lock(ctx))
				p.b.Step("is in", func() {
					assert.Equal(t, 5*time.Second, p.Now())
				})
				assert.NoError(t, p.b.Unlock(ctx))
			})
		})
	})
}

// Between a refusal and the moment at which the subscription stands, a release
// is heard by nobody: a waiter asks once more when it stands, and the others have
// the lock after it.
func TestAReleaseBeforeTheSubscriptionStandsIsNotMissed(t *testing.T) {
	rouses(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			others := []lock.Lock{p.b.another(), p.b.another()}
			p.a.Go(func() {
				assert.NoError(t, p.a.Lock.Lock(ctx))
				p.a.Sleep(2 * time.Second)
				assert.NoError(t, p.a.Unlock(ctx))
			})
			p.b.Go(func() {
				p.b.Sleep(time.Second)
				granted, err := p.b.TryLock(ctx) // its scripts are known now
				assert.False(t, granted)
				assert.NoError(t, err)
				p.b.Step("locks", func() {
					p.b.Begin(lab.Acquire)
					// First the script is refused, then comes SUBSCRIBE.
					p.b.Fault(lab.Acquire, 2,
						lab.Fault{Deliver: 3 * time.Second})
				})
				assert.NoError(t, p.b.Lock.Lock(ctx))
				p.b.Step("is in", func() {
					assert.Equal(t, 3*time.Second, p.Now())
				})
				assert.NoError(t, p.b.Unlock(ctx))
			})
			for _, l := range others {
				p.b.Go(func() {
					p.b.Sleep(1500 * time.Millisecond)
					assert.NoError(t, l.Lock(ctx))
					p.b.Step("is in", func() {
						assert.Equal(t, 3*time.Second, p.Now())
					})
					assert.NoError(t, l.Unlock(ctx))
				})
			}
		})
	})
}

// In order, five nodes that answer after 400 ms take two seconds.
func TestParallelAsksAllNodesAtOnce(t *testing.T) {
	those(t, "redlock", func(t *testing.T, rung ladder.Rung) {
		for _, c := range []struct {
			options []lock.Option
			takes   time.Duration
		}{
			{nil, 2 * time.Second},
			{[]lock.Option{lock.Parallel()}, 400 * time.Millisecond},
		} {
			promised(t, rung, c.options, func(p *promise) {
				ctx := context.Background()
				p.a.Go(func() {
					p.a.Step("slow", func() {
						p.a.Always(lab.Fault{AnswerAfter: 400 * time.Millisecond})
					})
					granted, err := p.a.TryLock(ctx)
					assert.True(t, granted)
					assert.NoError(t, err)
					p.a.Step("is in", func() {
						assert.Equal(t, c.takes, p.Now())
						p.a.Always(lab.Fault{})
					})
					assert.NoError(t, p.a.Unlock(ctx))
				})
			})
		}
	})
}
