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
		return fmt.Errorf("%s can't release a read lock that it holds: %w", a.Name, err)
	}
	return nil
}

// readSide is the read side of an actor's lock, which it gets later.
type readSide struct{ of *part }

func (r readSide) side() lab.ReadSide { return lab.ReadSide{Of: r.of.writes.readWrite()} }

func (r readSide) Lock(ctx context.Context) error            { return r.side().Lock(ctx) }
func (r readSide) TryLock(ctx context.Context) (bool, error) { return r.side().TryLock(ctx) }
func (r readSide) Unlock(ctx context.Context) error          { return r.side().Unlock(ctx) }

// waits is acquire, and says whether the call has waited in vain: until the deadline
// without success, or well beyond it. How long it took decides, because a lock may return
// any error then. It may also give up a little earlier, by one pause between two attempts.
func (a *actor) waits(patience time.Duration) (err error, vain bool) {
	asked := a.run.Now()
	err = a.acquire(patience)
	early := patience - (a.run.Now() - asked)
	return err, err != nil && early < second/2 || early < -second
}

var _ = in(Sharing, "readers_together", Scenario{
	Summary: "A, B and C take the read lock at 0, 1 and 2 s and read until 4 s." +
		" Also: while A reads, B waits to write, and A takes the read lock again.",
	Invariants: []string{Unavailable, SelfDeadlock},
}, func(s *S) {
	cast := s.cast("A", "B", "C")
	var scripts []func()
	for i, x := range cast {
		scripts = append(scripts, func() {
			x.at(time.Duration(i) * second)
			if i > 0 {
				x.Until(cast[i-1].reads.has, lease)
			}
			if granted, err := x.reads.try(); !granted {
				x.report(Unavailable, "only readers hold the lock, and %s's"+
					" TryRLock returns %v, %s", x.Name, granted,
					outcome(err))
				return
			}
			x.at(4 * second)
			x.Until(cast[2].reads.has, second)
			x.reads.release()
		})
	}
	s.play(scripts...)
	s.judge(true, Unavailable)
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
			a.reads.begins()
			a.at(2 * second)
			err, vain := a.reads.waits(4 * second)
			if vain {
				a.report(SelfDeadlock, "A reads, B waits for A, and A's second RLock waits for B")
			}
			if err == nil {
				a.reads.release()
			}
			a.reads.release()
		}, b.comes(second, 2*lease, a.reads.has))
		s.judge(true, SelfDeadlock)
	})
})

var _ = in(Sharing, "writer_excludes", Scenario{
	Summary: "A writes until 3 s. B tries to read at 1 s, waits to read from 2 s on, and" +
		" is let in within 1 s of A's Unlock. Also: A reads and B wants to write. Also:" +
		" the same, and C has read until 0.5 s.",
	Invariants: []string{TwoHolders, LateWakeUp},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.excludes(a, a.has, b.reads)
	s.World(func() {
		a, b := s.actor("A"), s.actor("B")
		s.excludes(a.reads, a.reads.has, b)
	})
	s.World(func() {
		a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
		s.excludes(a.reads, c.released, b, c.reads.holds(second/2, a.reads.has))
	})
})

// excludes runs writer_excludes: A is inside, which B must not be.
func (s *S) excludes(a *actor, inside func() bool, b *actor, others ...func()) {
	s.play(append([]func(){a.holds(3 * second), func() {
		b.at(second, inside)
		if granted, _ := b.try(); granted {
			return
		}
		b.at(2 * second)
		err := b.acquire(lease)
		if late := s.Now() - a.freedAt; err != nil || late > s.patience(second) {
			b.report(LateWakeUp, "%s has left at %.3f, and %s, which waits, is let in"+
				" %.3f s later: %s", a.Name, a.freedAt.Seconds(), b.Name,
				late.Seconds(), outcome(err))
		}
		if err == nil {
			b.release()
		}
	}}, others...)...)
	s.judge(true, TwoHolders, LateWakeUp)
}

var _ = in(Sharing, "upgrade", Scenario{
	Summary: "A reads, alone, and asks for the write lock: within 5 s it must get it or" +
		" be refused. Also: A and B read, both ask, and one of them must be answered.",
	Invariants: []string{SelfDeadlock, TwoHolders},
}, func(s *S) {
	s.upgrades("A")
	s.World(func() { s.upgrades("A", "B") })
})

// upgrades runs upgrade with these readers.
func (s *S) upgrades(names ...string) {
	cast := s.cast(names...)
	told := false // somebody knows
	var scripts []func()
	for _, x := range cast {
		scripts = append(scripts, func() {
			x.reads.begins()
			x.at(second, cast[len(cast)-1].reads.has)
			err, vain := x.waits(5 * second)
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
			x.reads.release()
		})
	}
	s.play(scripts...)
	s.judge(true, SelfDeadlock, TwoHolders)
}

var _ = in(Sharing, "downgrade", Scenario{
	Summary: "A writes, takes the read lock as well, and unlocks at 2 s. It reads" +
		" until 8 s, and where the lease is renewed until 15 s. B waits to write" +
		" from 1 s on, and must not be let in before.",
	Invariants: []string{TwoHolders, SelfDeadlock},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	until, reads := s.works(8*second, 15*second), false
	s.play(func() {
		a.begins()
		a.at(1500 * time.Millisecond)
		err, vain := a.reads.waits(lease / 2)
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
		err = a.reads.release()
		if !told && errors.Is(err, lock.ErrNotHeld) {
			a.report(FalseLoss, "A was told of no loss, and its RUnlock returns"+
				" lock.ErrNotHeld: its Unlock has cost the read lock")
		}
	}, b.comes(second, 30*second, a.has))
	s.judge(reads, TwoHolders)
	s.judge(true, SelfDeadlock)
})
