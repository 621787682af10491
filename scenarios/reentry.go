package scenarios

import (
	"context"
	"errors"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of re-entry: the owner asks for what it has, or may have.

var nested = Scenario{
	Name:   "nested",
	Family: Reentrant,
	Story: "A takes the lock and calls a function that locks through the same" +
		" handle, with a deadline of 5 s. The inner unlock must not free the" +
		" outer lock, and the fencing token stays.",
	Invariants: []string{SelfDeadlock, ForeignRelease, WrongToken},
	tell: func(t *telling) {
		if !t.offers(Reentry) {
			t.verdict(NotOffered, t.scenario.Invariants...)
			return
		}
		t.world(func(s *story) {
			cast := s.cast("A", "B")
			a, b := cast[0], cast[1]
			entered, failed := false, false
			s.play(func() {
				a.at(0)
				a.mustAcquire()
				token := a.token()
				a.at(second)
				if entered = a.enterAgain(5 * second); !entered {
					a.Step("is done", func() { failed = true })
					return
				}
				a.mustKeep(token)
				a.at(2 * second)
				if err := a.release(); err != nil {
					s.Fail("the inner Unlock fails: %v", err)
				}
				a.mustKeep(token)
				a.at(4 * second)
				a.Until(b.tried, 5*second)
				if err := a.release(); err != nil &&
					len(s.Breaks(ForeignRelease)) == 0 {
					s.Fail("the outer Unlock fails: %v", err)
				}
			}, func() {
				b.at(3 * second)
				b.Until(func() bool { return failed || a.released() }, lease)
				if !entered {
					return
				}
				if granted, _ := b.try(); granted {
					b.report(ForeignRelease, "B gets the lock although A has"+
						" only unlocked the inner level")
					b.release()
				}
				b.at(4 * second)
				b.Until(func() bool { return a.depth == 0 && a.released() },
					5*second)
				if err := b.acquire(s.patience(second)); err != nil {
					s.Fail("A has unlocked both levels, and B can't have the"+
						" lock: %v", err)
				}
			})
			s.judge(SelfDeadlock, true)
			s.judge(ForeignRelease, entered)
			s.judge(WrongToken, entered && a.fenced())
		})
	},
}

// enterAgain locks through a handle that may hold the lock already, and judges
// when the owner ends up waiting for itself.
func (a *actor) enterAgain(patience time.Duration) bool {
	ctx, cancel := a.within(patience)
	defer cancel()
	err := a.acquireWith(ctx)
	switch {
	case err == nil:
		return true
	// Whatever the lock calls it; and the connection's deadline may come first.
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		a.report(SelfDeadlock, "%s waits for a lock whose owner is %s itself",
			a.Name, a.Name)
	default:
		a.story.Fail("%s locks again through its handle and is told: %v",
			a.Name, err)
	}
	return false
}

// mustKeep judges that the fencing token is still the grant's.
func (a *actor) mustKeep(token uint64) {
	if now := a.token(); now != token {
		a.report(WrongToken, "the fencing token of one grant was %d and is %d",
			token, now)
	}
}

// follows says whether a fencing token may be that of the grant after another's.
func (t *telling) follows(before, token uint64) bool {
	if t.settings.counted {
		return token == before+1
	}
	return token > before
}

var lostReply = Scenario{
	Name:   "lost_reply",
	Family: Reentrant,
	Story: "B takes the lock and releases it. Then A's acquire is executed and" +
		" its reply is lost (of several nodes: on one). If the first attempt was" +
		" not granted, A locks again with a deadline of 5 s. A unlocks once; B" +
		" tries. The token is the granted one.",
	Invariants: []string{SelfDeadlock, Orphaned, WrongToken},
	tell: func(t *telling) {
		t.world(func(s *story) {
			cast := s.cast("A", "B")
			a, b := cast[0], cast[1]
			var ready, held, freed, done bool
			var before, token uint64
			s.start()
			a.Fault(lab.Acquire, 1, lab.Fault{LoseReply: true})
			s.run(func() {
				a.at(second)
				a.Until(func() bool { return ready }, lease)
				if held, _ = a.try(); !held {
					held = a.enterAgain(5 * second)
				}
				if !held {
					a.Step("is done", func() { done = true })
					return
				}
				if token = a.token(); a.fenced() && !t.follows(before, token) {
					a.report(WrongToken, "B's grant had token %d, and A holds the"+
						" next one with token %d", before, token)
				}
				a.at(7 * second)
				freed = a.release() == nil
				a.Step("is done", func() { done = true })
				if !freed {
					s.Fail("A can't release the lock that it was granted")
				}
			}, func() {
				b.at(0)
				b.mustAcquire()
				before = b.token()
				b.release()
				b.Step("is ready", func() { ready = true })
				b.at(8 * second)
				b.Until(func() bool { return done }, lease)
				if !freed {
					return
				}
				if granted, _ := b.try(); !granted {
					b.report(Orphaned, "A has unlocked once, as it locked, and"+
						" the lock is still taken")
					return
				}
				if b.fenced() && !t.follows(token, b.token()) {
					b.report(WrongToken, "A's grant had token %d, and B holds the"+
						" next one with token %d", token, b.token())
				}
				b.release()
			})
			s.judge(SelfDeadlock, true)
			s.judge(Orphaned, freed)
			s.judge(WrongToken, freed && a.fenced())
		})
	},
}
