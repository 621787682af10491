package ladder_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// The rungs' promises about the lease: when it is renewed, when that ends, and
// what becomes of a grant that came too late.

// A renewal follows a third of the lease after the grant and after each renewal
// that succeeded, and a tenth of it after one that failed, once.
func TestTheLeaseIsRenewedEveryThirdOfIt(t *testing.T) {
	promised(t, renewing, func(p *promise) {
		var sent time.Duration
		ready(p.a).Fails(lab.Renewal, 3, lab.Fault{Refuse: true}).
			Looks(func() { sent = p.Now() }).Locks().Works(2 * lease).
			Looks(func() {
				third, tenth := lease/3, lease/10
				at := p.sends("A", 0, "EVALSHA", sent+roundTrip+1)
				want := []time.Duration{third, 2 * third, lease, lease + tenth,
					lease + tenth + third, lease + tenth + 2*third}
				if !assert.Len(p.t, at, len(want), "%v", at) {
					return
				}
				for i := range want {
					assert.InDelta(p.t, want[i], at[i]-sent,
						float64(20*time.Millisecond), "renewal %d", i+1)
				}
			}).
			Holds(true).Unlocks() // it was renewed all the time
	})
}

// The server executes every renewal, and no reply comes back: the holder must
// take the lease for lost, and may not keep it alive any longer.
func TestNoRenewalFollowsTheLoss(t *testing.T) {
	promised(t, renewing, func(p *promise) {
		var sent int
		ready(p.a)
		for i := range 100 {
			p.a.Fails(lab.Renewal, 1+i, lab.Fault{LoseReply: true})
		}
		p.a.Locks().Hears(func() { sent = p.a.Sent(lab.Renewal) }).
			Works(2 * lease).
			Looks(func() { assert.Equal(p.t, sent, p.a.Sent(lab.Renewal)) }).
			Finds(true)
	})
}

// A grant that comes after its own lease is given back. When that fails, the
// caller learns it: the lock may be held at the server for another lease.
func TestALateGrantThatCannotBeGivenBackIsAnError(t *testing.T) {
	over := lease + time.Second
	for name, c := range map[string]struct {
		answered time.Duration // after the acquisition was sent
		release  lab.Fault
		want     []error
	}{
		"it is refused":   {over, lab.Fault{Refuse: true}, []error{locktest.ErrUnknown}},
		"nothing is left": {over, lab.Fault{AnswerAfter: roundTrip}, nil},
		"its reply is too late": {over, lab.Fault{AnswerAfter: 2 * lease},
			[]error{locktest.ErrUnknown}},
		"to the nanosecond": {lease, lab.Fault{Refuse: true},
			[]error{locktest.ErrUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			promised(t, renewing, func(p *promise) {
				ready(p.a).
					Fails(lab.Acquire, 1, lab.Fault{AnswerAfter: c.answered}).
					Fails(lab.Acquire, 2, c.release).Tries(false, c.want...)
			})
		})
	}
}

// The script counts the levels for who looks at the server; the handle's own count
// is what decides.
func TestTheServerShowsHowDeepTheOwnerIs(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		shows := func(levels ...string) func() {
			return func() {
				count, err := p.b.Redis().HVals(p.Context(), locktest.Key).Result()
				assert.NoError(p.t, err)
				assert.Equal(p.t, levels, count)
			}
		}
		ready(p.a).Locks().Does(shows("1")).Locks().Does(shows("2")).
			Unlocks().Does(shows("1")).Unlocks()
	})
}

// A renewal that hangs takes a third of the lease until it is given up. Another
// one must follow before the deadline, with time for its answer.
func TestOneLeaseHasRoomForARenewalThatFails(t *testing.T) {
	locktest.Long(t, "it runs many scenarios with every rung that renews")
	hangs := lab.Fault{Deliver: 100 * lease}
	refused := lab.Fault{Refuse: true}
	unanswered := lab.Fault{LoseReply: true}
	slow := lab.Fault{AnswerAfter: lease / 10}
	answered := lab.Fault{AnswerAfter: roundTrip}
	for _, c := range []struct {
		name     string
		renewals []lab.Fault
		lost     bool
	}{
		{"it hangs", []lab.Fault{hangs}, false},
		{"it hangs, and the next takes a tenth of the lease",
			[]lab.Fault{hangs, slow}, false},
		{"it is refused", []lab.Fault{refused}, false},
		{"its reply is lost", []lab.Fault{unanswered}, false},
		{"the second hangs", []lab.Fault{answered, hangs}, false},
		{"it is refused twice", []lab.Fault{refused, refused}, false},
		{"it is refused and the next hangs", []lab.Fault{refused, hangs}, false},
		{"it hangs twice", []lab.Fault{hangs, hangs}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			promised(t, renewing, func(p *promise) {
				var sent time.Duration
				ready(p.a)
				for i, fault := range c.renewals {
					p.a.Fails(lab.Renewal, 1+i, fault)
				}
				p.a.Looks(func() { sent = p.Now() }).Locks()
				if c.lost {
					p.a.Hears(func() { assert.Equal(p.t, lease, p.Now()-sent) })
					return
				}
				p.a.Works(2*lease - lease/4).Holds(true).Looks(func() {
					assert.Positive(p.t, p.Node(0).LeaseLeft())
				}).Unlocks()
			})
		})
	}
}

// Only fenced and cohort's NewFenced count.
func TestALockWithoutTokensKeepsNoCounter(t *testing.T) {
	promised(t, named("reentrant/cohort"), func(p *promise) {
		p.a.Section(0).Does(func() {
			n, err := p.a.Redis().Exists(p.Context(),
				lock.SecondKey(locktest.Key, "token")).Result()
			assert.NoError(p.t, err)
			assert.Zero(p.t, n)
		})
	})
}

// The watchdog of the grant before may be inside a renewal that hangs. TryLock
// waits for it, and the new lease runs meanwhile.
func TestAGrantIsNotOverWhenTryLockReturns(t *testing.T) {
	const short = time.Second
	rung, err := ladder.Find("diamond/watchdog")
	require.NoError(t, err)
	config := locktest.Config{Build: rung.Build, TTL: short}
	locktest.Run(t, config, func(s *locktest.Scenario) {
		s.Deletes(20 * time.Millisecond)
		a := s.Owner("A").Tries(true).At(50*time.Millisecond).
			Fails(lab.Acquire, 1, lab.Fault{AnswerAfter: 750 * time.Millisecond})
		for renewal := range 2 { // the second hangs from 0.77 s to 1.1 s
			a.Fails(lab.Acquire, 2+renewal, lab.Fault{Hang: true})
		}
		a.Does(func() {
			granted, err := a.Try()
			assert.Greater(t, s.Now(), 50*time.Millisecond+short, "it has waited")
			assert.NoError(t, err)
			assert.False(t, granted && a.LostNow(), "the lease of this grant is over")
		}).Finds(true)
	})
}
