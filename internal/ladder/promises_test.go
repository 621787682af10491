package ladder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// The promises of the rungs' comments that no scenario judges, because a lock of
// somebody else's need not make them.

const lease = locktest.Lease

// promise is a scenario of a rung with two clients, each with an owner.
type promise struct {
	*locktest.Scenario
	t      *testing.T
	rung   ladder.Rung
	a, b   *locktest.Owner
	tokens int // how many the owners have drawn
}

// which says of which rungs a promise is.
type which func(ladder.Rung) bool

func every(ladder.Rung) bool { return true }

// renewing are the rungs that renew their lease.
func renewing(r ladder.Rung) bool { return r.Renews }

// onOneNode are those of them that need one server only.
func onOneNode(r ladder.Rung) bool { return r.Renews && r.Nodes <= 1 }

// named are the rungs whose names begin so.
func named(prefix string) which {
	return func(r ladder.Rung) bool { return strings.HasPrefix(r.Name, prefix) }
}

var (
	reentrant = named("reentrant")
	fenced    = named("reentrant/fenced")
)

// counting are the rungs whose every grant has a fencing token.
func counting(r ladder.Rung) bool { return r.Name == "diamond/fenced" || fenced(r) }

// rousing are the rungs whose waiters are woken by the release of any process.
func rousing(r ladder.Rung) bool {
	return slices.Contains([]string{"reentrant/notify", "reentrant/fair",
		"reentrant/readwrite"}, r.Name)
}

// listening are the rungs whose waiters share a subscription.
func listening(r ladder.Rung) bool {
	return rousing(r) || r.Name == "reentrant/cohort"
}

// queuing are the rungs whose waiters stand in a queue at the server.
func queuing(r ladder.Rung) bool {
	return r.Name == "reentrant/fair" || r.Name == "reentrant/cohort"
}

// those runs a test for some of the rungs.
func those(t *testing.T, of which, do func(*testing.T, ladder.Rung)) {
	found := false
	for _, rung := range ladder.Rungs {
		if of(rung) {
			found = true
			t.Run(rung.Name, func(t *testing.T) { do(t, rung) })
		}
	}
	assert.True(t, found, "there is such a rung")
}

// promised runs a scenario of each of those rungs, with options for both owners.
func promised(t *testing.T, of which, run func(p *promise),
	options ...lock.Option) {
	t.Helper()
	those(t, of, func(t *testing.T, rung ladder.Rung) {
		p := &promise{t: t, rung: rung}
		count := lock.Tokens(func() string {
			p.tokens++
			return fmt.Sprintf("#%d", p.tokens)
		})
		config := locktest.Config{Build: rung.Build, Nodes: rung.Nodes,
			Options: append([]lock.Option{count}, options...)}
		locktest.Run(t, config, func(s *locktest.Scenario) {
			p.Scenario, p.a, p.b = s, s.Owner("A"), s.Owner("B")
			run(p)
		})
	})
}

// roundTrip is what every command takes in some scenarios: where nothing takes
// time, a deadline and an attempt at the same instant look like success.
const roundTrip = time.Millisecond

// ready lets the server know the owner's scripts, the renewal's as well, and
// makes the network take its time from here on.
func ready(o *locktest.Owner) *locktest.Owner {
	return o.Locks().Works(lease / 2).Unlocks().
		Suffers(lab.Fault{AnswerAfter: roundTrip})
}

// driven gives A a driver with go-redis's own settings.
func (p *promise) driven() *locktest.Owner {
	p.a.Driven(nil)
	p.a.Lock = p.a.Build(locktest.Key)
	return p.a
}

// sends are the times since a moment at which a client has sent a node commands that
// begin with a text.
func (p *promise) sends(client string, node int, text string,
	since time.Duration) (at []time.Duration) {
	for _, e := range p.Timeline() {
		if e.Client == client && e.Node == node && e.At >= since &&
			strings.HasPrefix(e.Text, text) {
			at = append(at, e.At)
		}
	}
	return at
}

// B waits in Lock for a second, and each of its next calls takes one.
func TestASecondGoroutineIsToldThatTheHandleIsBusy(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		p.a.Section(2 * time.Second)
		p.b.At(time.Second).Locks().
			Suffers(lab.Fault{AnswerAfter: time.Second}).
			At(3 * time.Second).Tries(true).At(5 * time.Second).Unlocks().Unlocks()
		c := p.Owner("C")
		for _, busy := range []time.Duration{1500, 3500, 5500} {
			c.At(busy * time.Millisecond).Does(func() {
				ctx := p.Context()
				granted, err := p.b.Lock.TryLock(ctx)
				assert.False(p.t, granted)
				assert.ErrorIs(p.t, err, lock.ErrBusy)
				assert.ErrorIs(p.t, p.b.Lock.Lock(ctx), lock.ErrBusy)
				assert.ErrorIs(p.t, p.b.Lock.Unlock(ctx), lock.ErrBusy)
				if reads, ok := p.b.Lock.(lock.ReadWrite); ok {
					_, err = reads.TryRLock(ctx)
					for _, err := range []error{err, reads.RLock(ctx), reads.RUnlock(ctx)} {
						assert.ErrorIs(p.t, err, lock.ErrBusy)
					}
				}
			})
		}
	})
}

func TestAnInnerUnlockRestartsTheLease(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		p.a.Locks().Locks().Works(8 * time.Second).Unlocks().Looks(func() {
			assert.Equal(p.t, lease, p.Node(0).LeaseLeft())
		}).Unlocks()
	}, lock.FixedLease())
}

// The release of a grant that came too late may still be on its way: the next
// acquisition must not be found by it.
func TestTheOwnerOfALateGrantIsNotUsedAgain(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		var before int
		p.a.Section(0).Does(func() { before = p.tokens }).
			Suffers(lab.Fault{AnswerAfter: lease + time.Second}).
			Does(func() {
				granted, _ := p.a.Try()
				assert.False(p.t, granted, "the lease is over")
			}).
			Suffers(lab.Fault{}).Tries(true).
			Does(func() { assert.Equal(p.t, before+2, p.tokens) }).Unlocks()
	})
}

// Between a refusal and the moment at which the subscription stands, a release
// is heard by nobody: a waiter asks once more when it stands, and the others
// have the lock after it.
func TestAReleaseBeforeTheSubscriptionStandsIsNotMissed(t *testing.T) {
	promised(t, rousing, func(p *promise) {
		p.a.Section(2 * time.Second)
		// Its scripts are known after the first attempt. In the second, the
		// script is refused, and then comes SUBSCRIBE.
		p.b.At(time.Second).Tries(false).
			Fails(lab.Acquire, 2, lab.Fault{Deliver: 3 * time.Second}).
			Section(0).Since(3 * time.Second)
		for _, name := range []string{"B1", "B2"} {
			p.Owner(name).At(1500 * time.Millisecond).Section(0).
				Since(3 * time.Second)
		}
	})
}

// In order, five nodes that answer after 400 ms take two seconds.
func TestParallelAsksAllNodesAtOnce(t *testing.T) {
	slow := lab.Fault{AnswerAfter: 400 * time.Millisecond}
	promised(t, named("redlock"), func(p *promise) {
		p.a.Suffers(slow).Tries(true).Since(2 * time.Second).
			Suffers(lab.Fault{}).Unlocks()
	})
	promised(t, named("redlock"), func(p *promise) {
		p.a.Suffers(slow).Tries(true).Since(400 * time.Millisecond).
			Suffers(lab.Fault{}).Unlocks()
	}, lock.Parallel())
}
