package ladder_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
)

// What the rungs promise of a network that is slow, or fails one command and not
// the next.

// roundTrip is what every command takes in these stories: where nothing takes
// time, a deadline and an attempt at the same instant look like success.
const roundTrip = time.Millisecond

// renewing are the rungs that renew their lease.
func renewing(t *testing.T, do func(*testing.T, ladder.Rung)) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		if !rung.Renews {
			t.Skip("it does not renew")
		}
		do(t, rung)
	})
}

// ready lets the server know the owner's scripts, the renewal's as well, and
// makes the network take its time from here on.
func (o *owner) ready(t *testing.T) {
	ctx := context.Background()
	assert.NoError(t, o.Lock.Lock(ctx))
	o.Sleep(lease / 2)
	assert.NoError(t, o.Unlock(ctx))
	o.Step("slow", func() {
		o.Always(lab.Fault{AnswerAfter: roundTrip})
	})
}

// acquire locks, and counts what is sent for it as what an acquisition sends.
func (o *owner) acquire(t *testing.T) {
	o.Step("locks", func() { o.Begin(lab.Acquire) })
	assert.NoError(t, o.Lock.Lock(context.Background()))
	o.Step("is in", func() { o.Begin(lab.Renewal) })
}

// release unlocks, and counts what is sent for it as what a release sends.
func (o *owner) release() error {
	o.Step("unlocks", func() { o.Begin(lab.Release) })
	err := o.Unlock(context.Background())
	o.Step("is out", func() { o.Begin(lab.Renewal) })
	return err
}

// lostNow says whether the holder is told now that its lease is gone.
func (o *owner) lostNow() bool { return isClosed(lostOf(o.Lock)) }

func lostOf(l lock.Lock) <-chan struct{} { return l.(lock.LossNotifier).Lost() }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A renewal that hangs takes a third of the lease until it is given up. Another
// one must follow before the deadline, with time for its answer.
func TestOneLeaseHasRoomForARenewalThatFails(t *testing.T) {
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
			renewing(t, func(t *testing.T, rung ladder.Rung) {
				promised(t, rung, nil, func(p *promise) {
					p.a.Go(func() {
						p.a.ready(t)
						var sent time.Duration
						p.a.Step("asks", func() {
							sent = p.Now()
							for i, fault := range c.renewals {
								p.a.Fault(lab.Renewal,
									p.a.Sent(lab.Renewal)+1+i, fault)
							}
						})
						p.a.acquire(t)
						lost := lostOf(p.a.Lock)
						select {
						case <-lost:
							p.a.Step("is told", func() {
								assert.True(t, c.lost, "Lost is closed after %v",
									p.Now()-sent)
								assert.Equal(t, lease, p.Now()-sent)
							})
						case <-time.After(2*lease - lease/4):
							assert.False(t, c.lost, "Lost is still open")
							p.a.Step("looks", func() {
								assert.Positive(t, p.Node(0).LeaseLeft())
							})
							assert.NoError(t, p.a.release())
						}
					})
				})
			})
		})
	}
}

func TestAFixedLeaseEndsAfterOneLease(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		fixed := []lock.Option{lock.FixedLease()}
		promised(t, rung, fixed, func(p *promise) {
			p.a.Go(func() {
				p.a.ready(t)
				var sent time.Duration
				var before int
				p.a.Step("asks", func() {
					sent, before = p.Now(), p.a.Sent(lab.Renewal)
				})
				p.a.acquire(t)
				<-lostOf(p.a.Lock)
				p.a.Step("is told", func() {
					assert.Equal(t, lease, p.Now()-sent)
					assert.Equal(t, before, p.a.Sent(lab.Renewal))
				})
			})
		})
	})
}

// An inner Unlock that fails may not cost the outer one its release: the holder
// has two deferred Unlocks, and neither is called again.
func TestTheOutermostUnlockReleasesWhateverTheInnerOnesMet(t *testing.T) {
	for name, fault := range map[string]lab.Fault{
		"not sent":       {Refuse: true},
		"reply is lost":  {LoseReply: true},
		"reply too late": {AnswerAfter: 2 * lease},
	} {
		t.Run(name, func(t *testing.T) {
			those(t, "reentrant", func(t *testing.T, rung ladder.Rung) {
				promised(t, rung, nil, func(p *promise) {
					p.a.Go(func() {
						p.a.ready(t)
						p.a.acquire(t)
						p.a.acquire(t)
						p.a.Step("breaks", func() {
							p.a.Fault(lab.Release, 1, fault)
						})
						err := p.a.release()
						assert.Error(t, err, "the inner one")
						assert.NotErrorIs(t, err, lock.ErrNotHeld)
						assert.NoError(t, p.a.release(), "the outer one")
						p.a.Step("looks", func() {
							assert.True(t, p.Node(0).Free())
						})
						p.a.Sleep(5 * lease)
						p.a.Step("looks again", func() {
							assert.True(t, p.Node(0).Free())
						})
					})
				})
			})
		})
	}
}

// What was not answered may be asked again: the id of the release stays the
// owner's until the next acquisition.
func TestAnOutermostUnlockThatFailsMayBeCalledAgain(t *testing.T) {
	those(t, "reentrant", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			p.a.Go(func() {
				p.a.ready(t)
				p.a.acquire(t)
				p.a.Step("breaks", func() {
					p.a.Fault(lab.Release, 1, lab.Fault{Refuse: true})
				})
				assert.Error(t, p.a.release())
				p.a.Step("looks", func() { assert.False(t, p.Node(0).Free()) })
				assert.NoError(t, p.a.release())
				p.a.Step("looks", func() { assert.True(t, p.Node(0).Free()) })
			})
		})
	})
}

// Somebody's SET on the lock's name leaves a key of another type there.
func TestAKeyOfAnotherTypeIsNobodysLock(t *testing.T) {
	those(t, "reentrant", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			set := func() {
				p.b.Step("sets", func() { p.b.Begin(lab.Acquire) })
				rdb := p.b.Env("stock").Nodes[0]
				assert.NoError(t, rdb.Set(ctx, "stock", "a string", 0).Err())
			}
			p.a.Go(func() {
				p.a.ready(t)
				p.a.acquire(t)
				set()
				assert.ErrorIs(t, p.a.release(), lock.ErrNotHeld)
				assert.NoError(t, p.b.Env("stock").Nodes[0].
					Del(ctx, "stock").Err())
				p.a.acquire(t)
				set()
				var at time.Duration
				p.a.Step("waits", func() { at = p.Now() })
				<-lostOf(p.a.Lock)
				p.a.Step("is told", func() {
					assert.Less(t, p.Now()-at, lease/2, "by the next renewal")
				})
				assert.ErrorIs(t, p.a.release(), lock.ErrNotHeld)
			})
		})
	})
}

// What the process was told before it locked anew is no loss of the new grant,
// and no loss follows an Unlock, however late somebody looks.
func TestLostIsOpenAfterAnUnlock(t *testing.T) {
	renewing(t, func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			p.a.Go(func() {
				p.a.ready(t)
				p.a.acquire(t)
				assert.NoError(t, p.a.release())
				p.a.Sleep(3 * lease)
				assert.False(t, p.a.lostNow())
			})
		})
	})
}

// The counter of the fencing tokens was evicted, or deleted by somebody. The
// owner that is inside is still the owner.
func TestAnOwnerIsFoundWithoutTheCounterOfItsTokens(t *testing.T) {
	those(t, "reentrant/fenced", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			lose := func() {
				rdb := p.b.Env("stock").Nodes[0]
				assert.NoError(t, rdb.Del(ctx,
					lock.Beside("stock", "token")).Err())
			}
			p.a.Go(func() {
				p.a.ready(t)
				p.a.acquire(t)
				token := p.a.Lock.(lock.Fenced).Token()
				lose()
				p.a.acquire(t)
				assert.Equal(t, token, p.a.Lock.(lock.Fenced).Token(),
					"it is the same grant")
				assert.NoError(t, p.a.release())
				assert.NoError(t, p.a.release())

				p.a.Step("breaks", func() {
					p.a.Begin(lab.Acquire)
					p.a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
				})
				_, err := p.a.TryLock(ctx)
				assert.Error(t, err)
				lose()
				granted, err := p.a.TryLock(ctx)
				assert.NoError(t, err)
				assert.True(t, granted, "it finds itself")
				assert.Positive(t, p.a.Lock.(lock.Fenced).Token())
				assert.NoError(t, p.a.release())
			})
		})
	})
}

// A counter that can't count grants nothing, and leaves no lock behind.
func TestACounterThatFailsLeavesTheLockFree(t *testing.T) {
	those(t, "reentrant/fenced", func(t *testing.T, rung ladder.Rung) {
		promised(t, rung, nil, func(p *promise) {
			ctx := context.Background()
			p.a.Go(func() {
				p.a.ready(t)
				rdb := p.b.Env("stock").Nodes[0]
				require.NoError(t, rdb.Set(ctx, lock.Beside("stock", "token"),
					"no number", 0).Err())
				granted, err := p.a.TryLock(ctx)
				assert.False(t, granted)
				assert.Error(t, err)
				p.a.Step("looks", func() { assert.True(t, p.Node(0).Free()) })
			})
		})
	})
}
