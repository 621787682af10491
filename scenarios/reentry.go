package scenarios

import (
	"context"
	"errors"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The family of re-entry: the owner asks for what it has, or may have.

var _ = in(Reentrant, "nested", Scenario{
	Summary: "A takes the lock and calls a function that locks through the same" +
		" handle, with a deadline of 5 s. The inner unlock must not free the" +
		" outer lock, and the fencing token stays.",
	Invariants: []string{SelfDeadlock, ForeignRelease, WrongToken},
	features:   []Feature{Reentry},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	entered, failed := false, false
	s.play(func() {
		a.begins()
		token := a.token()
		a.at(second)
		if entered = a.enterAgain(5 * second); !entered {
			a.Step("is done", func() { failed = true })
			return
		}
		a.mustKeep(token)
		a.at(2 * second)
		if err := a.release(); err != nil && len(s.Breaks(SelfDeadlock)) == 0 {
			s.Fail("the inner Unlock fails: %v", err)
		}
		a.mustKeep(token)
		a.at(4 * second)
		a.Until(b.tried, 5*second)
		if err := a.release(); err != nil && len(s.Breaks(ForeignRelease, SelfDeadlock)) == 0 {
			s.Fail("the outer Unlock fails: %v", err)
		}
	}, func() {
		b.at(3*second, func() bool { return failed || a.released() })
		if !entered {
			return
		}
		if granted, _ := b.try(); granted {
			b.report(ForeignRelease, "B gets the lock although A has"+
				" only unlocked the inner level")
			b.release()
		}
		b.at(4 * second)
		b.Until(func() bool { return a.depth == 0 && a.released() }, 5*second)
		if err := b.acquire(s.patience(second)); err != nil {
			s.Fail("A has unlocked both levels, and B can't have the lock: %v", err)
		}
	})
	s.judge(true, SelfDeadlock)
	s.judge(entered, ForeignRelease)
	s.judge(entered && a.fenced(), WrongToken)
})

// enterAgain locks through a handle that may hold the lock already, and judges
// when the owner ends up waiting for itself.
func (a *actor) enterAgain(patience time.Duration) bool {
	ctx, cancel := a.within(patience)
	defer cancel()
	err := a.acquireWith(ctx)
	switch {
	case err == nil && ctx.Err() != nil:
		a.report(SelfDeadlock, "%s waits for a lock whose owner is %s itself,"+
			" and its Lock returns ok after its deadline", a.Name, a.Name)
		return true
	case err == nil:
		return true
	// The lock may return any error; and the connection's deadline may come first.
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		a.report(SelfDeadlock, "%s waits for a lock whose owner is %s itself", a.Name, a.Name)
	default:
		a.run.Fail("%s locks again through its handle and is told: %v", a.Name, err)
	}
	return false
}

// mustKeep judges that the fencing token is still the grant's.
func (a *actor) mustKeep(token uint64) {
	if now := a.token(); now != token {
		a.report(WrongToken, "the fencing token of one acquisition was %d and is %d", token, now)
	}
}

// follows says whether a fencing token may be that of the grant after another's.
func (s *S) follows(before, token uint64) bool {
	if s.settings.counted {
		return token == before+1
	}
	return token > before
}

var _ = in(Reentrant, "lost_reply", Scenario{
	Summary: "B takes the lock and releases it. Then A's acquire is executed and its" +
		" reply is lost (on several nodes: one of the replies). If A's first attempt" +
		" isn't granted, A locks again with a deadline of 5 s. It unlocks once, and then" +
		" B gets the lock. A's fencing token is the one after B's.",
	Invariants: []string{SelfDeadlock, Orphaned, WrongToken, FalseSuccess},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	var ready, held, freed, done bool
	var before, token uint64
	s.start()
	a.Fault(lab.Acquire, a.grants, lab.Fault{LoseReply: true})
	s.run(func() {
		a.at(second, func() bool { return ready })
		var err error
		if held, err = a.try(); !held {
			a.mustDoubt(err)
			held = a.enterAgain(5 * second)
		}
		if !held {
			a.Step("is done", func() { done = true })
			return
		}
		if token = a.token(); a.fenced() && !s.follows(before, token) {
			a.report(WrongToken, "B's lock had token %d, and A holds the"+
				" next one with token %d", before, token)
		}
		a.at(7 * second)
		err = a.release()
		a.Step("is done", func() { freed, done = err == nil, true })
		switch {
		case errors.Is(err, lock.ErrNotHeld):
			a.report(FalseSuccess, "A was told that it has the lock, and its"+
				" Unlock says that it has not")
		case err != nil:
			s.Fail("A can't release the lock that it was granted: %w", err)
		}
	}, func() {
		b.begins()
		before = b.token()
		b.release()
		b.Step("is ready", func() { ready = true })
		b.at(8*second, func() bool { return done })
		if !freed {
			return
		}
		if granted, _ := b.try(); !granted {
			b.report(Orphaned, "A has unlocked once, as it locked, and the lock is still taken")
			return
		}
		if a.fenced() && !s.follows(token, b.token()) {
			b.report(WrongToken, "A's lock had token %d, and B holds the"+
				" next one with token %d", token, b.token())
		}
		b.release()
	})
	s.judge(true, SelfDeadlock)
	s.judge(freed, Orphaned)
	s.judge(freed && a.fenced(), WrongToken)
	s.judge(true, FalseSuccess)
})

// mustDoubt judges what TryLock says that was granted the lock and did not hear of
// it: "unknown" is true, and "refused" is not. A driver that asks again by itself
// is told that the lock is taken; that is not the lock's doing.
func (a *actor) mustDoubt(err error) {
	a.Step("looks", func() {
		if s := a.run; err == nil && s.Owner() == a.Name && !s.repeats() {
			s.Report(FalseSuccess, "A's TryLock says that the lock is another one's,"+
				" and the server has it as A's")
		}
	})
}

var _ = in(Reentrant, "failed_inner_unlock", Scenario{
	Summary: "A takes the lock twice through the same handle. The connection breaks" +
		" when A unlocks the inner level at 2 s. B is refused at 12 s. A unlocks" +
		" the outer level once, at 14 s, and B gets the lock within 1 s.",
	Invariants: []string{TwoHolders, Orphaned},
	features:   []Feature{Reentry},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	// A lock that isn't renewed must live until B has tried.
	tries, leaves := s.works(4*second, 12*second), s.works(5*second, 14*second)
	failed, done := false, false
	s.play(func() {
		a.begins()
		a.at(second)
		if !a.enterAgain(5 * second) {
			return
		}
		a.at(2 * second)
		a.refuse(lab.Release, 1)
		err := a.release()
		a.accept(lab.Release, 1)
		a.Step("goes on", func() { failed = err != nil })
		a.at(leaves, b.tried)
		a.release()
		a.Step("is done", func() { done = true })
	}, func() {
		b.at(tries, func() bool { return failed })
		if !failed {
			return
		}
		b.triesToPass()
		b.at(leaves+second, func() bool { return done })
		b.mustComeFree(s.patience(second), "A has unlocked as often as it has locked")
	})
	s.judge(failed, TwoHolders, Orphaned)
})

var _ = in(Reentrant, "held_token", Scenario{
	Summary: "A takes the lock and asks for it again at 1 s, with TryLock through the same" +
		" handle, and is refused. A's lock must keep its token: its renewals go on, if it has" +
		" any, and A can release it.",
	Invariants: []string{TwoHolders, FalseSuccess},
	readable:   "the server doesn't show whose lock it is right after a call",
}, func(s *S) {
	works := s.works(5*second, 15*second)
	a, b := s.actor("A"), s.actor("B")
	refused := false
	s.play(func() {
		a.begins()
		a.at(second)
		if granted, _ := a.try(); granted {
			a.release()
			a.release()
			return
		}
		a.Step("works", func() { refused = true })
		a.at(works)
		a.mustAdmit(a.release())
	}, func() {
		b.at(2*second, a.tried)
		if refused {
			b.passes(works)
		}
	})
	s.judge(refused, TwoHolders, FalseSuccess)
})

var _ = in(Reentrant, "refused_by_itself", Scenario{
	Summary: "A's acquire is executed and its reply is lost. A locks again: what the" +
		" first attempt left behind may keep it out for one lease, and no longer. Also:" +
		" the server then evicts every key but the lock's own. Also: A is granted the" +
		" lock too late (on several nodes: each answers after 2.9 s), and the release of" +
		" it never reaches the server.",
	Invariants: []string{SelfDeadlock},
}, func(s *S) {
	s.leavesBehind(false)
	if s.exact() {
		s.World(func() { s.leavesBehind(true) })
		s.World(s.lateAndLeft)
	}
})

// leavesBehind runs refused_by_itself with a lost reply.
func (s *S) leavesBehind(evicts bool) {
	s.pollEvery(500 * time.Millisecond)
	a := s.actor("A")
	s.start()
	a.Fault(lab.Acquire, a.grants, lab.Fault{LoseReply: true})
	s.triesTwice(a, func() {
		if evicts {
			a.Step("evicts", func() { s.everyNode((*lab.Node).Evict) })
		}
	})
}

// triesTwice has A ask once more, after something else, if it wasn't granted the lock.
func (s *S) triesTwice(a *actor, between func()) {
	s.run(func() {
		a.at(0)
		granted, _ := a.try()
		between()
		if granted || a.enterAgain(lease+s.patience(second)) {
			a.release()
		}
	})
	s.judge(true, SelfDeadlock)
}

// lateAndLeft runs refused_by_itself with a grant that came too late.
func (s *S) lateAndLeft() {
	s.nodeTimeout(3 * second)
	s.pollEvery(500 * time.Millisecond)
	a := s.actor("A")
	s.start()
	if s.settings.nodes > 1 {
		a.Always(lab.Fault{AnswerAfter: 2900 * time.Millisecond})
	} else {
		a.Fault(lab.Acquire, a.grants, lab.Fault{Deliver: 11 * second})
	}
	for i := range s.settings.nodes {
		a.Fault(lab.Acquire, a.acquires+1+i, lab.Fault{Refuse: true, IfSent: true})
	}
	s.triesTwice(a, func() { a.Step("goes on", func() { a.Always(lab.Fault{}) }) })
}
