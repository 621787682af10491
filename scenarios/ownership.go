package scenarios

import (
	"errors"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The family of ownership: whose lock does an unlock release?

var _ = in(Ownership, "overrun_release", Scenario{
	Summary: "A works for 15 s on a lease of 10 s. B gets the lock at about 10 s" +
		" and works for 15 s. A unlocks at 15 s. From that moment C waits for the" +
		" lock, for up to 3 s. B and C must not hold it together. (That A and" +
		" B do is judged by overrun_overlap.)",
	Invariants: []string{ForeignRelease, TwoHolders},
}, func(s *S) {
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	s.play(func() {
		a.begins()
		a.overlaps()
		a.at(15*second, b.has)
		a.release()
	}, b.waitsAndWorks(second, 30*second, 15*second), func() {
		if !s.readable() {
			return // there a grant is seen before the delete that made way
		}
		c.at(15*second, a.released)
		// B's own lease ends at about 20 s.
		if c.acquire(3*second) == nil {
			c.work(second)
			c.release()
		}
	})
	overrun := b.heldBefore(a.freedAt)
	s.judge(overrun, ForeignRelease, TwoHolders)
})

// overlaps says that the scenario isn't about this holder's overlap with others.
func (a *actor) overlaps() {
	a.Step("doesn't count", func() { a.process.OverlapAs(a.owner) })
}

// heldBefore says whether the actor was granted the lock before a moment.
func (a *actor) heldBefore(moment time.Duration) bool {
	return a.grantedAt > 0 && a.grantedAt < moment
}

// late is a moment that a fault waits for; on real servers it waits for an event
// besides, and the moment may be any.
func (s *S) late(moment time.Duration) time.Duration {
	return s.sooner(moment, time.Hour)
}

// soon is how long somebody waits who soon gives up; on real servers long enough
// for a busy machine to have sent a command.
func (s *S) soon() time.Duration {
	return s.sooner(300*time.Millisecond, second)
}

// slow_get is the timeline of [wukong] for its fourth scheme.
var _ = in(Ownership, "slow_get", Scenario{
	Summary: "A unlocks at 9.5 s. Its first command is executed at once, and the" +
		" reply comes at 12 s; its next command, if there is one, reaches the" +
		" server at 13 s. B gets the lock at about 11 s and works on.",
	Invariants: []string{ForeignRelease},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.Fault(lab.Release, 1, lab.Fault{Answer: 12 * second, Until: b.has})
	a.Fault(lab.Release, 2, lab.Fault{Deliver: 13 * second, Until: b.has, IfSent: true})
	s.run(a.holds(s.sooner(9500*time.Millisecond, 5*second)),
		b.takes(11*second, s.patience(2*second), 20*second))
	s.judge(b.heldBefore(s.late(13*second)), ForeignRelease)
})

var _ = in(Ownership, "slow_release", Scenario{
	Summary: "The first command of A's unlock, sent at 9.5 s, reaches the server at" +
		" 12 s. B got the lock meanwhile.",
	Invariants: []string{ForeignRelease},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.Fault(lab.Release, 1, lab.Fault{Deliver: 12 * second, Until: b.has})
	s.run(a.holds(s.sooner(9500*time.Millisecond, 5*second)),
		b.waitsAndWorks(second, 30*second, 8*second))
	// On real servers A's command waits for B, but not for a lease that was renewed.
	s.judge(b.heldBefore(s.sooner(12*second, 13*second)), ForeignRelease)
})

var _ = in(Ownership, "lost_release_reply", Scenario{
	Summary: "The command that freed A's lock is executed and its reply is lost." +
		" B gets the lock. A unlocks again.",
	Invariants: []string{ForeignRelease},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.Fault(lab.Release, a.frees, lab.Fault{LoseReply: true})
	s.run(func() {
		a.begins()
		a.at(second)
		a.release()
		a.at(3*second, b.has)
		a.release()
	}, b.takes(2*second, s.patience(2*second), 8*second, a.released))
	s.judge(b.heldBefore(a.freedAt), ForeignRelease)
})

var _ = in(Ownership, "unlock_not_held", Scenario{
	Summary:    "B, which never locked, unlocks while A holds the lock.",
	Invariants: []string{ForeignRelease, FalseSuccess},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.play(a.holds(5*second, b.released), func() {
		b.at(second, a.has)
		b.mustBeDenied("B never held the lock")
	})
	s.judge(true, ForeignRelease, FalseSuccess)
})

// mustBeDenied unlocks what is not the actor's: only lock.ErrNotHeld is the truth.
func (a *actor) mustBeDenied(why string) {
	switch err := a.release(); {
	case err == nil:
		a.report(FalseSuccess, "%s's Unlock returns no error, but must return ErrNotHeld: %s", a.Name, why)
	case !errors.Is(err, lock.ErrNotHeld):
		a.run.Fail("%s's Unlock returns neither nil nor scenarios.ErrNotHeld: %v", a.Name, err)
	}
}

var _ = in(Ownership, "unlock_expired", Scenario{
	Summary:    "A unlocks after its lease has ended, and nobody took the lock.",
	Invariants: []string{FalseSuccess},
}, func(s *S) {
	a := s.actor("A")
	over := false
	s.play(func() {
		a.begins()
		a.at(12 * second)
		a.Step("looks", func() { over = s.LeaseOver() })
		if over {
			a.mustBeDenied("its lease was over")
		} else {
			a.release()
		}
	})
	s.judge(over, FalseSuccess)
})

var _ = in(Ownership, "late_own_release", Scenario{
	Summary: "A unlocks at 1 s; the command that frees the lock reaches the server" +
		" at 16 s, and A gives up at once. A gets the lock again at about 11 s and works" +
		" to 18 s.",
	Invariants: []string{ForeignRelease},
}, func(s *S) {
	a := s.actor("A")
	again := false
	s.start()
	a.Fault(lab.Release, a.frees, lab.Fault{Deliver: 16 * second})
	s.run(func() {
		a.begins()
		a.at(second)
		ctx, cancel := a.within(s.soon())
		defer cancel()
		a.releaseWith(ctx)
		a.at(11 * second)
		again = a.acquire(s.patience(2*second)) == nil && s.Now() < 16*second
		a.at(18 * second)
		a.release()
	})
	s.judge(again, ForeignRelease)
})

var _ = in(Ownership, "failed_unlock", Scenario{
	Summary: "The connection breaks before the command that frees A's lock is sent, at 4 s." +
		" A's Unlock returns an error, nothing extends the lease any more, and B gets the" +
		" lock when it ends. Also: A unlocks again, and B gets the lock within 1 s. Also: A" +
		" doesn't unlock again, and can lock again after more than a lease.",
	Invariants: []string{FalseSuccess, RenewalAfterUnlock, Orphaned},
	readable:   "the server doesn't show whose lock it is right after a call",
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	var failed time.Duration
	kept := false
	s.play(func() {
		a.begins()
		a.at(4 * second)
		a.refuse(lab.Release, a.frees)
		a.mustAdmit(a.release())
		a.Step("looks", func() { failed, kept = s.Now(), s.Owner() == a.Name })
		a.at(8 * second)
		a.Step("looks", func() {
			for i := range s.settings.nodes {
				n := s.Node(i)
				if _, at := n.Leased(); kept && !n.Free() && s.Owner() == a.Name && at > failed {
					s.Report(RenewalAfterUnlock, "A's Unlock has failed, and its lease is"+
						" extended at %.3f", at.Seconds())
					return
				}
			}
		})
	}, b.comesFree(5*second, lease+s.sooner(0, 2*second), "A's Unlock has failed", a.released))
	s.judge(true, FalseSuccess)
	s.judge(kept, RenewalAfterUnlock)
	s.judge(true, Orphaned)
	s.World(func() {
		a, b := s.actor("A"), s.actor("B")
		freed := false
		s.play(func() {
			a.begins()
			a.at(second)
			a.refuse(lab.Release, a.frees)
			a.release()
			a.accept(lab.Release, a.frees)
			a.at(2 * second)
			err := a.release()
			a.mustAdmit(err)
			a.Step("is done", func() { freed = err == nil })
		}, func() {
			b.at(3*second, func() bool { return freed })
			if freed {
				b.mustComeFree(s.patience(second), "A has unlocked again")
			}
		})
		s.judge(true, FalseSuccess)
		s.judge(freed, Orphaned)
	})
	s.World(func() {
		a := s.actor("A")
		s.play(func() {
			a.begins()
			a.at(second)
			a.refuse(lab.Release, a.frees)
			a.release()
			a.accept(lab.Release, a.frees)
			a.at(2*second + lease)
			a.mustComeFree(s.patience(second), "A's Unlock has failed, more than a lease ago")
		})
		s.judge(true, Orphaned)
	})
})

// refuse has the connection break before each command that the actor sends in
// its next call of a kind, from the n-th on.
func (a *actor) refuse(call lab.Call, nth int) {
	a.Step("is cut off", func() { a.everyTry(call, nth, lab.Fault{Refuse: true}) })
}

// accept undoes what is left of refuse.
func (a *actor) accept(call lab.Call, nth int) {
	a.Step("is connected", func() { a.everyTry(call, nth, lab.Fault{}) })
}

// everyTry is Fault for a command and for those that come in its place: a driver
// may send a command four times, and the lock has several nodes.
func (a *actor) everyTry(call lab.Call, nth int, f lab.Fault) {
	for more := range 4 * a.run.settings.nodes {
		a.Fault(call, nth+more, f)
		f.IfSent = true
	}
}

// mustAdmit judges what Unlock says while the lock is still the actor's.
func (a *actor) mustAdmit(err error) {
	a.Step("looks", func() {
		if a.run.Owner() == a.Name && (err == nil || errors.Is(err, lock.ErrNotHeld)) {
			a.run.Report(FalseSuccess, "A's Unlock returns %s, and the server has"+
				" A's lock still", outcome(err))
		}
	})
}

// compare_twice is slow_release for locks that look first, however often.
var _ = in(Ownership, "compare_twice", Scenario{
	Summary: "A unlocks at 1 s. The command that frees the lock reaches the server at 13 s," +
		" and any commands before it are executed at once. B got the lock at about 10 s and" +
		" works until 18 s.",
	Invariants: []string{ForeignRelease},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.everyTry(lab.Release, a.frees, lab.Fault{Deliver: 13 * second, Until: b.has})
	s.run(a.holds(second), b.takes(2*second, 30*second, 18*second))
	s.judge(b.heldBefore(13*second), ForeignRelease)
})
