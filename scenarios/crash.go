package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The family of crashes: a process ends, or gives up, and what it had remains.

// mustComeFree is the judge of this family: somebody waits for a lock that nobody alive holds.
func (a *actor) mustComeFree(patience time.Duration, why string) {
	asked := a.run.Now()
	patience += max(0, a.run.lease()-lease) // in the laboratory a lease may be longer
	err := a.acquire(patience)
	if err != nil && !a.run.Exact() && a.run.readable() && !a.executes(asked) {
		err = a.acquire(patience) // on a busy machine, no server has heard it ask
	}
	if took := a.run.Now() - asked; err != nil && took < patience/2 {
		a.run.Fail("%s's Lock gives up after %.3f s, long before its deadline of %v: %s"+
			" (a lock that gives up by itself doesn't show whether it would come free)",
			a.Name, took.Seconds(), patience, err)
		return
	}
	if late := a.run.Now() - asked - patience; err == nil && late > second {
		err = fmt.Errorf("Lock returns %v after its deadline", late)
	}
	if err != nil {
		a.report(Orphaned, "%s has waited since %.3f and can't get the lock: %s",
			a.Name, asked.Seconds(), why)
		if a.depth == 0 {
			return
		}
	}
	a.release()
}

// comesFree is a script: mustComeFree, from a moment on.
func (a *actor) comesFree(moment, patience time.Duration, why string,
	events ...func() bool) func() {
	return func() {
		a.at(moment, events...)
		a.mustComeFree(patience, why)
	}
}

var _ = in(Crash, "crash_holding", Scenario{
	Summary:    "A takes the lock and dies. B waits for up to 60 s.",
	Invariants: []string{Orphaned},
}, func(s *S) {
	a, b := s.mortal("A"), s.actor("B")
	s.play(func() {
		a.begins()
		a.work(second)
		a.crash()
	}, b.comesFree(2*second, time.Minute, "A died with it"))
	s.judge(true, Orphaned)
})

var _ = in(Crash, "crash_after_first_command", Scenario{
	Summary: "The server executes the command with which A takes the lock, and A dies" +
		" before it can send another one. B waits for up to 60 s.",
	Invariants: []string{Orphaned},
}, func(s *S) {
	a, b := s.mortal("A"), s.actor("B")
	s.start()
	a.Fault(lab.Acquire, a.grants, lab.Fault{CrashAfter: true})
	s.run(func() {
		a.at(0)
		a.try()
	}, b.comesFree(second, time.Minute, "A died while taking it"))
	s.judge(true, Orphaned)
})

// nothing_left is about the server's memory: a key without an expiry is there forever.
var _ = in(Crash, "nothing_left", Scenario{
	Summary: "A dies after any one command of its acquire or release. Three leases later the" +
		" servers hold no key without a TTL, except those that the lock says it" +
		" keeps, such as the counter of its fencing tokens. Also: B dies while it waits for" +
		" A, and A dies as well. Also: A locks and unlocks 40 times, and the servers hold no" +
		" more than after 10.",
	Invariants: []string{LeftBehind},
	exact:      "it isn't known which keys of a real server belong to a lock",
}, func(s *S) {
	s.diesAfter(lab.Acquire, 1)
	s.World(s.allDie)
	s.World(s.nothingGrows)
})

// allDie runs nothing_left with a waiter.
func (s *S) allDie() {
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	s.play(func() {
		a.begins()
		a.at(3 * second)
		a.crash()
	}, func() {
		b.at(second)
		b.acquire(lease)
	}, func() {
		c.at(2 * second)
		c.Step("sees B die", b.Crash)
		c.at(3*second + 3*lease)
		c.findsNothing()
	})
	s.judge(true, LeftBehind)
}

// nothingGrows runs nothing_left with many sections.
func (s *S) nothingGrows() {
	a := s.actor("A")
	stored := func() (n int) {
		s.everyNode(func(of *lab.Node) { n += len(of.Embedded().Server().Dump()) })
		return n
	}
	early := 0
	s.play(func() {
		a.at(0)
		for n := range 40 {
			if n == 10 {
				a.Step("looks", func() { early = stored() })
			}
			a.mustAcquire()
			a.release()
		}
		a.Step("looks", func() {
			if now := stored(); now > 2*early+100 {
				s.Report(LeftBehind, "after 10 sections the servers have stored %d characters,"+
					" and after 40 %d", early, now)
			}
		})
	})
	s.judge(true, LeftBehind)
}

// lasting are the keys that no expiry will ever remove, but for those that the lock keeps.
func (s *S) lasting() []string {
	return without(s.Lasting(), s.kept())
}

// findsNothing judges, three leases after all have died, what they have left.
func (a *actor) findsNothing() {
	a.Step("looks", func() {
		if left := a.run.lasting(); len(left) > 0 {
			a.run.Report(LeftBehind, "three leases after A's death %q is there, and no expiry"+
				" will ever remove it", left[0])
		}
	})
}

// diesAfter lets A die after a command of one of its calls, and in other worlds after
// the next ones.
func (s *S) diesAfter(call lab.Call, nth int) {
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.Fault(call, nth, lab.Fault{CrashAfter: true})
	s.run(func() {
		a.at(0)
		if granted, _ := a.try(); granted {
			a.work(second)
			a.release()
		}
	}, func() {
		b.at(second + 3*lease)
		b.findsNothing()
	})
	s.judge(true, LeftBehind)
	switch {
	case call == lab.Acquire && nth < a.acquires, call == lab.Release && nth < a.releases:
		s.World(func() { s.diesAfter(call, nth+1) })
	case call == lab.Acquire:
		s.World(func() { s.diesAfter(lab.Release, 1) })
	}
}

var _ = in(Crash, "cancelled_context", Scenario{
	Summary: "A takes the lock with a context that is canceled at 1 s, works until 5 s," +
		" and its deferred unlock runs with that context. B tries from 5 s to 6 s." +
		" Where the lease is renewed, also: A works on until 15 s while B waits.",
	Invariants: []string{Orphaned, TwoHolders},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.play(func() {
		ctx := a.cancelledAt(second)
		a.at(0)
		a.acquireWith(ctx)
		a.at(5 * second)
		a.releaseWith(ctx)
	}, b.comesFree(5*second, s.patience(second), "A's unlock never reached the server", a.released))
	s.judge(true, Orphaned)
	if !s.offers(Renewal) {
		s.verdict(DoesNotArise, TwoHolders)
		return
	}
	s.World(func() {
		a, b := s.actor("A"), s.actor("B")
		s.play(func() {
			ctx := a.cancelledAt(second)
			a.at(0)
			a.acquireWith(ctx)
			a.at(15 * second)
			if errors.Is(a.releaseWith(ctx), lock.ErrNotHeld) && !s.twoInside() {
				a.report(FalseLoss, "A's Unlock after 15 s returns"+
					" lock.ErrNotHeld: the canceled context has cost the lock")
			}
		}, func() {
			b.at(2 * second)
			b.acquire(20 * second)
		})
		s.judge(true, TwoHolders)
	})
})

// cancelledAt is a context that is canceled at a moment of the scenario.
func (a *actor) cancelledAt(moment time.Duration) context.Context {
	ctx, cancel := context.WithCancel(a.run.Context())
	time.AfterFunc(a.run.Lasts(moment-a.run.Now()), func() {
		a.Until(a.has, lease)
		cancel()
	})
	return ctx
}

var _ = in(Crash, "abandoned_acquire", Scenario{
	Summary: "A's deadline passes while the command that takes the lock is on the" +
		" way, and A's call returns an error. The command is executed at 5 s." +
		" B waits for up to 60 s. Also: A waits and gives up at 2 s, C unlocks at 4 s, and B" +
		" tries at 5 s.",
	Invariants: []string{Orphaned},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.Fault(lab.Acquire, a.grants, lab.Fault{Deliver: 5 * second})
	s.run(func() {
		a.at(0)
		if a.tryFor(s.soon()) {
			a.release()
		}
	}, b.comesFree(6*second, time.Minute, "A asked for it and gave up"))
	s.judge(true, Orphaned)
	s.World(s.waiterGivesUp)
})

// waiterGivesUp is for a lock whose waiting goes on without its caller.
func (s *S) waiterGivesUp() {
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	s.play(a.comes(second, second, c.has), func() {
		b.at(5*second, c.released)
		b.mustComeFree(s.patience(second), "A has given up, and C has unlocked")
	}, c.holds(4*second))
	s.judge(true, Orphaned)
}

var _ = in(Crash, "crash_after_renewal", Scenario{
	Summary: "A dies right after a renewal of its lease was executed. B waits, and" +
		" must get the lock when that lease has ended.",
	Invariants: []string{Orphaned},
	features:   []Feature{Renewal},
}, func(s *S) {
	s.pollEvery(500 * time.Millisecond)
	a, b := s.mortal("A"), s.actor("B")
	s.start()
	a.Fault(lab.Renewal, a.renews, lab.Fault{CrashAfter: true})
	s.run(func() {
		a.begins()
		a.work(lease)
		// Some locks renew their lease just before it ends.
	}, b.comesFree(lease/2, lease*3/2+2*second, "A died after a renewal"))
	s.judge(true, Orphaned)
})
