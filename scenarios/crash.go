package scenarios

import (
	"context"
	"errors"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of crashes: a process ends, or gives up, and what it had remains.

// mustComeFree is the judge of this family: somebody waits for a lock that
// nobody alive holds.
func (a *actor) mustComeFree(patience time.Duration, why string) {
	asked := a.story.Now()
	if err := a.acquire(patience); err != nil {
		a.report(Orphaned, "%s has waited since %.3f and can't have the lock: %s",
			a.Name, asked.Seconds(), why)
		return
	}
	a.release()
}

var crashHolding = Scenario{
	Name:       "crash_holding",
	Family:     Crash,
	Story:      "A takes the lock and dies. B waits for up to 60 s.",
	Invariants: []string{Orphaned},
	tell: func(t *telling) {
		t.world(func(s *story) {
			a, b := s.mortal("A"), s.actor("B")
			s.play(func() {
				a.at(0)
				a.mustAcquire()
				a.work(second)
				a.crash()
			}, func() {
				b.at(2 * second)
				b.mustComeFree(time.Minute, "A died with it")
			})
			s.judge(Orphaned, true)
		})
	},
}

var crashAfterFirstCommand = Scenario{
	Name:   "crash_after_first_command",
	Family: Crash,
	Story: "A dies right after the first command of its acquire was executed." +
		" B waits for up to 60 s.",
	Invariants: []string{Orphaned},
	tell: func(t *telling) {
		t.world(func(s *story) {
			a, b := s.mortal("A"), s.actor("B")
			s.start()
			a.Fault(lab.Acquire, 1, lab.Fault{CrashAfter: true})
			s.run(func() {
				a.at(0)
				a.try()
			}, func() {
				b.at(second)
				b.mustComeFree(time.Minute, "A died while it took it")
			})
			s.judge(Orphaned, true)
		})
	},
}

var cancelledContext = Scenario{
	Name:   "cancelled_context",
	Family: Crash,
	Story: "A takes the lock with a context that is cancelled at 1 s, works until" +
		" 5 s, and its deferred unlock runs with that context. B tries from 5 s" +
		" to 6 s. Where the lease is renewed, also: A works on until 15 s while" +
		" B waits.",
	Invariants: []string{Orphaned, TwoHolders},
	tell: func(t *telling) {
		t.world(func(s *story) {
			cast := s.cast("A", "B")
			a, b := cast[0], cast[1]
			s.play(func() {
				ctx := a.cancelledAt(second)
				a.at(0)
				a.acquireWith(ctx)
				a.at(5 * second)
				a.releaseWith(ctx)
			}, func() {
				b.at(5 * second)
				b.Until(a.released, lease)
				b.mustComeFree(s.patience(second), "A's unlock never reached the server")
			})
			s.judge(Orphaned, true)
		})
		if !t.offers(Renewal) {
			t.verdict(DoesNotArise, TwoHolders)
			return
		}
		t.world(func(s *story) {
			cast := s.cast("A", "B")
			a, b := cast[0], cast[1]
			s.play(func() {
				ctx := a.cancelledAt(second)
				a.at(0)
				a.acquireWith(ctx)
				a.at(15 * second)
				if errors.Is(a.releaseWith(ctx), ErrNotHeld) {
					a.report(TwoHolders, "A's Unlock after 15 s returns"+
						" ErrNotHeld: the cancelled context has cost the lock")
				}
			}, func() {
				b.at(2 * second)
				b.acquire(20 * second)
			})
			s.judge(TwoHolders, true)
		})
	},
}

// cancelledAt is a context that is cancelled at a moment of the story.
func (a *actor) cancelledAt(moment time.Duration) context.Context {
	ctx, cancel := context.WithCancel(a.story.Context())
	time.AfterFunc(a.story.Lasts(moment-a.story.Now()), func() {
		a.Until(a.has, lease)
		cancel()
	})
	return ctx
}

var abandonedAcquire = Scenario{
	Name:   "abandoned_acquire",
	Family: Crash,
	Story: "A's deadline passes while the first command of its acquire is on the" +
		" way, and A's call returns an error. The command is executed at 5 s." +
		" B waits for up to 60 s.",
	Invariants: []string{Orphaned},
	tell: func(t *telling) {
		t.world(func(s *story) {
			cast := s.cast("A", "B")
			a, b := cast[0], cast[1]
			s.start()
			a.Fault(lab.Acquire, 1, lab.Fault{Deliver: 5 * second})
			s.run(func() {
				a.at(0)
				ctx, cancel := a.within(s.soon())
				defer cancel()
				if granted, _ := a.tryWith(ctx); granted {
					a.release()
				}
			}, func() {
				b.at(6 * second)
				b.mustComeFree(time.Minute, "A asked for it and gave up")
			})
			s.judge(Orphaned, true)
		})
	},
}
