package ladder_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
)

// What the rungs promise about the lease: when it is renewed, when that ends, and
// what becomes of a grant that came too late.

// renewals are the times at which A sent a renewal, counted from when it sent the
// acquisition.
func (p *promise) renewals(sent time.Duration) []time.Duration {
	var at []time.Duration
	for _, e := range p.Timeline() {
		if e.Client == "A" && e.Node == 0 && strings.HasPrefix(e.Text, "EVALSHA") &&
			e.At > sent+roundTrip {
			at = append(at, e.At-sent)
		}
	}
	return at
}

// A renewal follows a third of the lease after the grant and after each renewal
// that succeeded, and a tenth of it after one that failed, once.
func TestTheLeaseIsRenewedEveryThirdOfIt(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			p.a.Go(func() {
				p.a.ready(t)
				var sent time.Duration
				p.a.Step("asks", func() {
					sent = p.Now()
					p.a.Fault(lab.Renewal, p.a.Sent(lab.Renewal)+3,
						lab.Fault{Refuse: true})
				})
				p.a.acquire(t)
				p.a.Sleep(2 * lease)
				p.a.Step("looks", func() {
					third, tenth := lease/3, lease/10
					at := p.renewals(sent)
					want := []time.Duration{third, 2 * third, lease, lease + tenth,
						lease + tenth + third, lease + tenth + 2*third}
					if !assert.Len(t, at, len(want), "%v", at) {
						return
					}
					for i := range want {
						assert.InDelta(t, want[i], at[i],
							float64(20*time.Millisecond), "renewal %d", i+1)
					}
				})
				assert.False(t, p.a.lostNow(), "it was renewed all the time")
				assert.NoError(t, p.a.release())
			})
		})
	})
}

// The server executes every renewal, and no reply comes back: the holder must
// take the lease for lost, and may not keep it alive any longer.
func TestNoRenewalFollowsTheLoss(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			p.a.Go(func() {
				p.a.ready(t)
				p.a.Step("asks", func() {
					for i := range 100 {
						p.a.Fault(lab.Renewal, p.a.Sent(lab.Renewal)+1+i,
							lab.Fault{LoseReply: true})
					}
				})
				p.a.acquire(t)
				<-lostOf(p.a.Lock)
				var sent int
				p.a.Step("is told", func() { sent = p.a.Sent(lab.Renewal) })
				p.a.Sleep(2 * lease)
				p.a.Step("looks", func() {
					assert.Equal(t, sent, p.a.Sent(lab.Renewal))
					assert.True(t, p.Node(0).Free())
				})
			})
		})
	})
}

// A grant that comes after its own lease is given back. When that fails, the
// caller learns it: the lock may be held at the server for another lease.
func TestALateGrantThatCannotBeGivenBackIsAnError(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		over := lease + time.Second
		for name, c := range map[string]struct {
			answered time.Duration // after the acquisition was sent
			release  lab.Fault
			fails    bool
		}{
			"it is refused":         {over, lab.Fault{Refuse: true}, true},
			"nothing is left":       {over, lab.Fault{AnswerAfter: roundTrip}, false},
			"its reply is too late": {over, lab.Fault{AnswerAfter: 2 * lease}, true},
			"to the nanosecond":     {lease, lab.Fault{Refuse: true}, true},
		} {
			t.Run(name, func(t *testing.T) {
				promised(t, rung, nil, func(p *promise) {
					p.a.Go(func() {
						p.a.ready(t)
						p.a.Step("slow", func() {
							p.a.Begin(lab.Acquire)
							p.a.Fault(lab.Acquire, 1,
								lab.Fault{AnswerAfter: c.answered})
							p.a.Fault(lab.Acquire, 2, c.release)
						})
						granted, err := p.a.TryLock(context.Background())
						assert.False(t, granted)
						assert.Equal(t, c.fails, err != nil, "%v", err)
						assert.NotErrorIs(t, err, lock.ErrNotHeld)
					})
				})
			})
		}
	})
}

// Looking for the loss is not what finds it: the lease is counted anew by every
// renewal, and Lost agrees with the server at any time.
func TestLostStaysOpenWhileTheLeaseIsRenewed(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			p.a.Go(func() {
				p.a.ready(t)
				p.a.acquire(t)
				for range 40 {
					p.a.Sleep(lease / 10)
					require.False(t, p.a.lostNow(), "at %v", p.Now())
				}
				assert.NoError(t, p.a.release())
			})
		})
	})
}

// The script counts the levels for who looks at the server; the handle's own count
// is what decides.
func TestTheServerShowsHowDeepTheOwnerIs(t *testing.T) {
	those(t, "reentrant", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			rdb := p.b.Env("stock").Nodes[0]
			shows := func(levels ...string) {
				count, err := rdb.HVals(ctx, "stock").Result()
				assert.NoError(t, err)
				assert.Equal(t, levels, count)
			}
			p.a.Go(func() {
				p.a.ready(t)
				p.a.acquire(t)
				shows("1")
				p.a.acquire(t)
				shows("2")
				assert.NoError(t, p.a.release())
				shows("1")
				assert.NoError(t, p.a.release())
			})
		})
	})
}
