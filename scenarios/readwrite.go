package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The family of sharing: many readers or one writer. Its scenarios need a
// lock.ReadWrite; for another lock they do not arise.

// readWrite is the actor's lock with its read side, or nil.
func (a *actor) readWrite() lock.ReadWrite {
	if w, ok := a.lock.(*worker); ok && !w.offers.ReadWrite {
		return nil
	}
	l, _ := a.lock.(lock.ReadWrite)
	return l
}

// warmReads lets an actor read, so that its scripts are known.
func (a *actor) warmReads(l lock.Lock) error {
	rw, ok := l.(lock.ReadWrite)
	if !ok {
		return nil
	}
	if granted, err := rw.TryRLock(a.run.Context()); err != nil || !granted {
		return fmt.Errorf("a free lock on a healthy server can't be read by %s:"+
			" %v, %w", a.Name, granted, err)
	}
	if err := rw.RUnlock(a.run.Context()); err != nil {
		return fmt.Errorf("%s can't release a read lock that it holds: %w", a.Name,
			err)
	}
	return nil
}

// tryRead calls TryRLock.
func (a *actor) tryRead() (bool, error) {
	a.Step("TryRLock", func() { a.Begin(lab.Acquire) })
	granted, err := a.readWrite().TryRLock(a.run.Context())
	a.Step("TryRLock returns", func() {
		a.reading(granted && err == nil)
		if err != nil {
			a.Note("TryRLock returns %v, %s", granted, outcome(err))
		} else {
			a.Note("TryRLock returns %v", granted)
		}
	})
	return granted, err
}

// acquireRead calls RLock and waits at most so long.
func (a *actor) acquireRead(patience time.Duration) error {
	return a.patiently(patience, a.acquireReadWith)
}

func (a *actor) acquireReadWith(ctx context.Context) error {
	a.Step("RLock", func() { a.Begin(lab.Acquire) })
	err := a.readWrite().RLock(ctx)
	a.Step("RLock returns", func() {
		a.reading(err == nil)
		a.Note("RLock returns %s", outcome(err))
	})
	return err
}

// mustRead is acquireRead in scenarios that begin with it.
func (a *actor) mustRead() {
	if err := a.acquireRead(lease); err != nil {
		a.run.Fail("%s can't read-lock a free lock: %w", a.Name, err)
		a.Quit()
	}
}

// reading keeps the books after a read lock.
func (a *actor) reading(ok bool) {
	a.Begin(lab.Renewal)
	if !ok {
		return
	}
	a.readAt = a.run.Now()
	a.reads++
	if a.reads+a.depth == 1 {
		a.holding = a.EnterSharedAs(a.owner, a.lost())
	}
}

// beginsReading is begins for a reader.
func (a *actor) beginsReading() {
	a.at(0)
	a.mustRead()
}

// holdsRead is holds for a reader.
func (a *actor) holdsRead(until time.Duration, events ...func() bool) func() {
	return func() {
		a.beginsReading()
		a.at(until, events...)
		a.releaseRead()
	}
}

// hasRead says whether the actor was granted a read lock, for Until.
func (a *actor) hasRead() bool { return a.readAt > 0 }

// goOnReading keeps the books of a writer that has unlocked: it may remain as a
// reader.
func (a *actor) goOnReading() {
	if a.reads > 0 {
		a.holding = a.EnterSharedAs(a.owner, a.lost())
	}
}

// releaseRead calls RUnlock.
func (a *actor) releaseRead() error {
	a.Step("RUnlock", func() {
		a.Begin(lab.Release)
		a.freedAt, a.freed = a.run.Now(), false
		a.reads = max(a.reads-1, 0)
		if a.reads+a.depth == 0 {
			a.LeaveAs(a.owner)
		}
	})
	err := a.readWrite().RUnlock(a.run.Context())
	a.Step("RUnlock returns", func() {
		a.freed = true
		a.Begin(lab.Renewal)
		a.Note("RUnlock returns %s", outcome(err))
	})
	return err
}

// waits calls what may wait, with a deadline, and says whether the call has waited in
// vain: until the deadline without success, or well beyond it. How long it took decides,
// because a lock may return any error then. It may also give up a little earlier, by one
// pause between two attempts.
func (a *actor) waits(patience time.Duration, call func(time.Duration) error) (
	err error, vain bool) {
	asked := a.run.Now()
	err = call(patience)
	early := patience - (a.run.Now() - asked)
	return err, err != nil && early < second/2 || early < -second
}

var readersTogether = Scenario{
	Name:   "readers_together",
	Family: Sharing,
	Summary: "A, B and C take the read lock at 0, 1 and 2 s and read until 4 s." +
		" Also: while A reads, B waits to write, and A takes the read lock again.",
	Invariants: []string{Unavailable, SelfDeadlock},
	run: func(s *S) {
		cast := s.cast("A", "B", "C")
		var scripts []func()
		for i, x := range cast {
			scripts = append(scripts, func() {
				x.at(time.Duration(i) * second)
				if i > 0 {
					x.Until(cast[i-1].hasRead, lease)
				}
				if granted, err := x.tryRead(); !granted {
					x.report(Unavailable, "only readers are inside, and %s's"+
						" TryRLock returns %v, %s", x.Name, granted,
						outcome(err))
					return
				}
				x.at(4 * second)
				x.Until(cast[2].hasRead, second)
				x.releaseRead()
			})
		}
		s.play(scripts...)
		s.judge(Unavailable, true)
		if s.absent {
			return
		}
		if !s.offers(Reentry) {
			s.verdict(NotOffered, SelfDeadlock)
			return
		}
		s.World(func() {
			a, b := s.actor("A"), s.actor("B")
			s.play(func() {
				a.beginsReading()
				a.at(2 * second)
				err, vain := a.waits(4*second, a.acquireRead)
				if vain {
					a.report(SelfDeadlock, "A reads, B waits for A, and A's second"+
						" RLock waits for B")
				}
				if err == nil {
					a.releaseRead()
				}
				a.releaseRead()
			}, func() {
				b.at(second, a.hasRead)
				b.passes(2 * lease)
			})
			s.judge(SelfDeadlock, true)
		})
	},
}

var writerExcludes = Scenario{
	Name:   "writer_excludes",
	Family: Sharing,
	Summary: "A writes until 3 s. B tries to read at 1 s, waits to read from 2 s on," +
		" and is let in within 1 s of A's Unlock. The same with A reading, also where C" +
		" has read until 0.5 s, and B writing.",
	Invariants: []string{TwoHolders, LateWakeUp},
	run: func(s *S) {
		a, b := s.actor("A"), s.actor("B")
		s.excludes(a, a.holds(3*second), a.has, b, b.tryRead, b.acquireRead,
			b.releaseRead)
		s.World(func() {
			a, b := s.actor("A"), s.actor("B")
			s.excludes(a, a.holdsRead(3*second), a.hasRead, b, b.try, b.acquire,
				b.release)
		})
		s.World(func() {
			a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
			s.excludes(a, a.holdsRead(3*second), c.released, b, b.try, b.acquire,
				b.release, c.holdsRead(second/2, a.hasRead))
		})
	},
}

// excludes runs writer_excludes: A is inside, and B calls what it is kept out of.
func (s *S) excludes(a *actor, holds func(), inside func() bool, b *actor,
	try func() (bool, error), acquire func(time.Duration) error, release func() error,
	others ...func()) {
	s.play(append([]func(){holds, func() {
		b.at(second, inside)
		if granted, _ := try(); granted {
			return
		}
		b.at(2 * second)
		err := acquire(lease)
		if late := s.Now() - a.freedAt; err != nil || late > s.patience(second) {
			b.report(LateWakeUp, "%s has left at %.3f, and %s, which waits, is let in"+
				" %.3f s later: %s", a.Name, a.freedAt.Seconds(), b.Name,
				late.Seconds(), outcome(err))
		}
		if err == nil {
			release()
		}
	}}, others...)...)
	s.judge(TwoHolders, true)
	s.judge(LateWakeUp, true)
}

var upgrade = Scenario{
	Name:   "upgrade",
	Family: Sharing,
	Summary: "A reads, alone, and asks for the write lock: it must be told within 5 s" +
		" whether it has it. Also: A and B read, both ask, and one of them must be" +
		" told.",
	Invariants: []string{SelfDeadlock, TwoHolders},
	run: func(s *S) {
		s.upgrades("A")
		s.World(func() { s.upgrades("A", "B") })
	},
}

// upgrades runs upgrade with these readers.
func (s *S) upgrades(names ...string) {
	cast := s.cast(names...)
	told := false // somebody knows
	var scripts []func()
	for _, x := range cast {
		scripts = append(scripts, func() {
			x.beginsReading()
			x.at(second, cast[len(cast)-1].hasRead)
			err, vain := x.waits(5*second, x.acquire)
			x.Step("is told", func() {
				// A release after that may let the other one in.
				if vain && !told {
					s.Report(SelfDeadlock, "%s reads, and its Lock waits until its"+
						" deadline for the readers to leave", x.Name)
				}
				told = true
			})
			if err == nil {
				x.release()
			}
			x.releaseRead()
		})
	}
	s.play(scripts...)
	s.judge(SelfDeadlock, true)
	s.judge(TwoHolders, true)
}

var downgrade = Scenario{
	Name:   "downgrade",
	Family: Sharing,
	Summary: "A writes, takes the read lock as well, and unlocks at 2 s. It reads" +
		" until 8 s, and where the lease is renewed until 15 s. B waits to write" +
		" from 1 s on, and must not be let in before.",
	Invariants: []string{TwoHolders, SelfDeadlock},
	run: func(s *S) {
		a, b := s.actor("A"), s.actor("B")
		until, reads := 8*second, false
		if s.offers(Renewal) {
			until = 15 * second
		}
		s.play(func() {
			a.begins()
			a.at(1500 * time.Millisecond)
			err, vain := a.waits(lease/2, a.acquireRead)
			reads = err == nil
			if vain {
				a.report(SelfDeadlock, "A writes, and its RLock waits for A")
			}
			a.at(2 * second)
			a.release()
			if !reads {
				return
			}
			a.at(until)
			told := a.told()
			err = a.releaseRead()
			if !told && errors.Is(err, lock.ErrNotHeld) {
				a.report(FalseLoss, "A was told of no loss, and its RUnlock"+
					" returns lock.ErrNotHeld: its Unlock has cost the read"+
					" lock")
			}
		}, func() {
			b.at(second, a.has)
			b.passes(30 * second)
		})
		s.judge(TwoHolders, reads)
		s.judge(SelfDeadlock, true)
	},
}
