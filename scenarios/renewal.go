package scenarios

import (
	"errors"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The family of renewal: a lease that is renewed, and a holder that must be told when it is lost.

var _ = in(Loss, "hung_worker", Scenario{
	Summary: "A's worker hangs forever, but its process stays alive. B waits for ten" +
		" minutes.",
	Invariants: []string{Orphaned},
}, func(s *S) {
	s.pollEvery(5 * second) // ten minutes need no ten attempts a second
	a, b := s.actor("A"), s.actor("B")
	s.play(a.begins, b.comesFree(second, s.sooner(10*time.Minute, 30*second),
		"A hangs while it holds the lock"))
	s.judge(true, Orphaned)
})

// afterRenewal is a moment just after the first renewal of a lease that is
// renewed every third of it, and long before the end of one that is not.
const afterRenewal = 3400 * time.Millisecond

var _ = in(Loss, "lost_lease_told", Scenario{
	Summary: "A works, and just after a renewal an operator deletes the lock's key, or" +
		" the server evicts it. A must be told within half a lease, and its Unlock" +
		" returns ErrNotHeld. Also: A takes the lock again instead, which must be a new" +
		" acquisition and not re-entry. Also, where the lock has readers: A reads.",
	Invariants: []string{NotTold, FalseSuccess},
}, func(s *S) {
	s.losesLock(s.actor("A"))
	if s.Readers != "" { // else they aren't deleted
		s.World(func() { s.losesLock(s.actor("A").reads) })
	}
	s.World(func() {
		a := s.actor("A")
		s.operates("deletes", s.deleteLock, afterRenewal)
		s.play(func() {
			a.begins()
			a.at(afterRenewal + lease/2)
			if granted, _ := a.try(); !granted {
				return
			}
			a.release()
			a.Step("looks", func() {
				if s.Owner() != "-" {
					s.Report(FalseSuccess, "A lost the lock, locked and unlocked once,"+
						" and has it still: the loss passed as re-entry")
				}
			})
		})
		s.judge(true, FalseSuccess)
		if !s.offers(LossNotices) {
			s.verdict(NotOffered, NotTold)
		}
	})
})

// judgeTold is judge for NotTold, of a lock that may tell nobody of a loss.
func (s *S) judgeTold(arose bool) {
	s.judge(arose, NotTold)
	if !s.offers(LossNotices) {
		s.verdict(NotOffered, NotTold)
	}
}

// judgeNotice judges when A was told, whose lease has ended and who has lost the lock to
// this actor.
func (a *actor) judgeNotice(told, ends time.Duration) {
	if told == 0 || told > ends+a.run.sooner(0, second) {
		a.report(NotTold, "%s holds the lock since %.3f, and A was not told when its lease"+
			" ended, at %.3f", a.Name, a.grantedAt.Seconds(), ends.Seconds())
	}
}

// losesLock runs lost_lease_told with a holder of either kind.
func (s *S) losesLock(a *actor) {
	s.operates("deletes", s.deleteLock, afterRenewal)
	s.play(func() {
		a.begins()
		a.at(afterRenewal)
		if a.awaitLoss(afterRenewal+lease/2) == 0 && s.offers(LossNotices) {
			a.report(NotTold, "A's lease is gone since %.3f, and half a lease later"+
				" it has not been told", afterRenewal.Seconds())
		}
		a.mustBeDenied("the lock was deleted under it")
	})
	s.judge(true, NotTold, FalseSuccess)
}

var _ = in(Loss, "second_grant", Scenario{
	Summary: "A takes the lock, unlocks at 2 s, and unlocks once more at 2.5 s. It locks" +
		" again at 3 s through the same handle and works for 8 s, or for 20 s where the" +
		" lease is renewed. B waits from 4 s on, and is not let in before A unlocks. Also:" +
		" an operator deletes the lock's key just after a renewal, and A unlocks half a" +
		" lease later. A2, in A's process, takes the lock and releases it. Then A locks" +
		" again and works as above.",
	Invariants: []string{TwoHolders, Unavailable},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.play(func() {
		a.begins()
		a.at(2 * second)
		a.release()
		a.at(2500 * time.Millisecond)
		a.unlocksInVain()
		a.locksAgain(3 * second)
	}, b.comes(4*second, 3*lease))
	s.judge(true, TwoHolders)
	s.World(s.locksAfterALoss)
})

// locksAfterALoss runs second_grant with a first grant that is lost.
func (s *S) locksAfterALoss() {
	a, b := s.actor("A"), s.actor("B")
	a2 := s.beside(a, "A2")
	s.operates("deletes", s.deleteLock, afterRenewal)
	lost := afterRenewal + lease/2
	s.play(func() {
		a.begins()
		a.at(lost)
		a.release()
		a.at(lost+2*second, a2.released)
		a.locksAgain(lost + 2*second)
	}, b.comes(lost+4*second, 3*lease), func() {
		a2.at(lost+second, a.released)
		a2.locksInTime()
		a2.release()
	})
	s.judge(true, TwoHolders, Unavailable)
}

// unlocksInVain unlocks what nobody has; whatever the lock says to that.
func (a *actor) unlocksInVain() {
	err := a.lock.Unlock(a.run.Context())
	a.Step("Unlock returns", func() { a.Note("Unlock returns %s", outcome(err)) })
}

// locksAgain is a section that begins at a moment, longer than a lease if that is renewed.
func (a *actor) locksAgain(moment time.Duration) {
	works := a.run.works(8*second, 2*lease)
	a.at(moment)
	a.locksInTime()
	a.at(moment + works)
	if err := a.release(); a.run.offers(Renewal) && errors.Is(err, lock.ErrNotHeld) {
		a.report(FalseLoss, "nothing was in the way of the renewal of A's second lock, and its"+
			" Unlock returns ErrNotHeld")
	}
}

// works is how long a holder works: longer than a lease if that is renewed.
func (s *S) works(brief, long time.Duration) time.Duration {
	if s.offers(Renewal) {
		return long
	}
	return brief
}

// locksInTime takes a lock that is free, within a lease.
func (a *actor) locksInTime() {
	if a.acquire(lease) != nil {
		a.report(Unavailable, "nobody has the lock, and %s can't get it", a.owner)
		a.Quit()
	}
}

// deleteLock removes the lock from every node.
func (s *S) deleteLock() { s.everyNode((*lab.Node).Delete) }

var _ = in(Loss, "renewal_after_unlock", Scenario{
	Summary: "A works for 4 s and unlocks. B takes the lock and works. A sends" +
		" nothing more for five minutes but keep-alives. Where the lease is" +
		" renewed, also: a renewal is on its way when A unlocks.",
	Invariants: []string{RenewalAfterUnlock},
}, func(s *S) {
	s.renewalThenUnlock(lab.Fault{})
	if s.offers(Renewal) && s.exact() {
		s.World(func() {
			s.renewalThenUnlock(lab.Fault{Deliver: 4500 * time.Millisecond})
		})
	}
})

// renewalThenUnlock runs renewal_after_unlock with a fate for the renewal that
// comes before the unlock.
func (s *S) renewalThenUnlock(renewal lab.Fault) {
	a, b := s.actor("A"), s.actor("B")
	unlocked, at := 0, time.Duration(0)
	s.start()
	a.Fault(lab.Renewal, a.renews, renewal)
	s.run(func() {
		a.begins()
		a.at(4 * second)
		a.release()
		a.Step("is done", func() { unlocked, at = len(s.Timeline()), s.Now() })
		a.work(s.sooner(5*time.Minute, 30*second))
		a.Step("looks", func() {
			for _, e := range s.Timeline()[unlocked:] {
				// Of many real nodes, one is sent the release, or executes it,
				// after a majority's answers have ended Unlock.
				releases := !s.exact() && e.Sent <= at+second/2
				if e.Client == a.Name && e.Node >= 0 && !releases &&
					!strings.HasPrefix(e.Text, "message ") {
					s.Report(RenewalAfterUnlock, "A has unlocked, and"+
						" sends %s at %.3f", e.Text, e.At.Seconds())
					return
				}
			}
		})
	}, func() {
		b.at(5*second, a.released)
		if b.acquire(lease) != nil {
			s.Fail("A has unlocked, and B can't get the lock")
		}
		b.work(s.sooner(5*time.Minute, 30*second))
		b.release()
	})
	s.judge(true, RenewalAfterUnlock)
}

var _ = in(Loss, "renewal_reacquires", Scenario{
	Summary: "A's key vanishes while A works. B locks and unlocks before A's next" +
		" renewal, which must leave the key free. Also: B still holds the lock when A's" +
		" renewal comes, and the renewal must leave B's lock and lease as they are. Also:" +
		" the key vanishes in the middle of A's second renewal, and its command that" +
		" extends the lease comes when B has the lock.",
	Invariants: []string{Orphaned, ForeignRenewal},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.vanishes(func() {
		a.begins()
		a.at(8*second, b.released)
		a.Step("looks", func() {
			if !s.Node(0).Free() {
				s.Report(Orphaned, "B has unlocked, nobody has asked"+
					" since, and the lock is there again")
			}
		})
	}, b, func() { b.work(second) })
	s.judge(a.Sent(lab.Renewal) > 0, Orphaned)
	s.World(func() {
		a, b := s.actor("A"), s.actor("B")
		s.vanishes(func() {
			a.begins()
			a.at(9 * second)
		}, b, func() { b.at(9 * second) })
		s.judgeAs(a.Sent(lab.Renewal) > 0, ForeignRenewal, ForeignRelease)
	})
	if s.offers(Renewal) {
		s.World(s.vanishesDuringRenewal)
	}
})

// vanishesDuringRenewal runs renewal_reacquires with a lock that may look, in one
// command, whether the lease is its own, and extend it in the next. Which command of
// a renewal extends the lease is seen in the first one, and the second one is expected
// as much later as the first one came after the grant.
func (s *S) vanishesDuringRenewal() {
	a, b := s.actor("A"), s.actor("B")
	var extends int       // which of A's commands on its own account is to be late
	var due time.Duration // when it reaches the server
	deleted := false
	s.operator(func(o *actor) {
		o.await(func() bool { return extends > 0 && a.Sent(lab.Renewal) >= extends })
		o.Step("deletes", func() {
			s.deleteLock()
			deleted = true
		})
	})
	s.play(func() {
		a.begins()
		before := 0 // the commands on A's own account that belong to no renewal
		a.await(func() bool {
			if a.Decided(lab.Renewal) > 0 {
				return true
			}
			before = a.Sent(lab.Renewal)
			return false
		})
		a.Step("is slow from now on", func() {
			if a.Decided(lab.Renewal) == 0 {
				return // the lease isn't renewed, or the server doesn't show it
			}
			// On real servers an extension by less than a second isn't seen.
			due = s.Now() + (s.Now() - a.grantedAt) + s.sooner(second/2, 2*second)
			extends = a.Sent(lab.Renewal) + a.Decided(lab.Renewal) - before
			a.everyTry(lab.Renewal, extends, lab.Fault{Deliver: due, Until: b.has})
		})
		a.at(due + 2*second)
	}, func() {
		b.at(second)
		if !b.await(func() bool { return deleted }) {
			return
		}
		if b.acquire(s.patience(second/2)) != nil {
			return
		}
		b.at(due + 2*second)
		b.release()
	})
	s.judgeAs(deleted && b.heldBefore(s.late(due)), ForeignRenewal, ForeignRelease)
}

// await waits for an event whose moment the lock decides, for two leases at most.
func (a *actor) await(event func() bool) (come bool) {
	for end := a.run.Now() + 2*lease; !come && a.run.Now() < end; {
		a.Sleep(second / 20)
		a.Step("looks", func() { come = event() })
	}
	return come
}

// vanishes plays A's script. Meanwhile A's lock is deleted, and B takes it and works.
func (s *S) vanishes(script func(), b *actor, works func()) {
	deleted := s.operates("deletes", s.deleteLock, afterRenewal)
	s.play(script, func() {
		b.at(4*second, deleted)
		if b.acquire(s.patience(second)) != nil {
			s.Fail("the lock was deleted, and B can't have it")
		}
		works()
		b.release()
	})
}

var _ = in(Loss, "partitioned_holder", Scenario{
	Summary: "A's network is cut from 1 s to 30 s, and its process works on. B gets the" +
		" lock at about 10 s. A is told no later than its lease ends at the server," +
		" although the reply to its acquire took 15 ms. Also: the network is cut at 5 s," +
		" and it is the reply to a renewal that took 15 ms.",
	Invariants: []string{NotTold},
	features:   []Feature{LossNotices},
}, func(s *S) {
	s.holderIsCutOff(second, lab.Acquire)
	if s.exact() {
		s.World(func() { s.holderIsCutOff(5*second, lab.Renewal) })
	}
})

// holderIsCutOff runs partitioned_holder with the cut at a moment after a slow
// reply to a command of a kind.
func (s *S) holderIsCutOff(cut time.Duration, slow lab.Call) {
	a, b := s.actor("A"), s.actor("B")
	var ends, told time.Duration
	s.start()
	if s.exact() {
		// Some locks wait no longer than 20 ms for a node.
		nth := a.grants
		if slow == lab.Renewal {
			nth = a.renews
		}
		a.Fault(slow, nth, lab.Fault{IfSent: true, AnswerAfter: 15 * time.Millisecond})
	}
	a.Hold(cut, 30*second, a.has)
	s.run(func() {
		a.begins()
		a.at(cut - 100*time.Millisecond)
		a.Step("looks", func() {
			if left := s.Node(0).LeaseLeft(); left > 0 {
				ends = s.Now() + left
			}
		})
		told = a.awaitLoss(29 * second)
	}, func() {
		b.at(2 * second)
		if b.acquire(27*second) != nil {
			return
		}
		if ends == 0 { // the lease is no expiry of the key
			ends = b.grantedAt
		}
		b.work(30 * second)
		b.judgeNotice(told, ends)
		b.release()
	})
	s.judge(b.has(), NotTold)
}

var _ = in(Loss, "renewal_fails_once", Scenario{
	Summary:    "One renewal meets a connection error. A works for 15 s while B waits.",
	Invariants: []string{TwoHolders},
	features:   []Feature{Renewal},
}, func(s *S) { s.oneRenewalFails(lab.Fault{Refuse: true}, 0) })

// oneRenewalFails has something happen to the first renewal, while replies take so long.
func (s *S) oneRenewalFails(fault lab.Fault, reply time.Duration) {
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.Fault(lab.Renewal, a.renews, fault)
	s.run(func() {
		a.begins()
		a.Step("slows down", func() { a.Always(lab.Fault{AnswerAfter: reply}) })
		a.at(15 * second)
		told := a.told()
		if err := a.release(); (told || err != nil) && !s.twoInside() {
			a.report(FalseLoss, "failing to renew has cost the lock: A was told of"+
				" a loss (%v), and its Unlock after 15 s returns %s", told, outcome(err))
		}
	}, func() {
		b.at(second)
		b.acquire(30 * second)
		b.release()
	})
	s.judge(a.Sent(lab.Renewal) > 0, TwoHolders)
}

// twoInside says whether another client was let in beside a holder that was told nothing:
// then its loss is true, and two holders are what is wrong.
func (s *S) twoInside() bool { return len(s.Breaks(TwoHolders)) > 0 }

var _ = in(Loss, "unlock_is_no_loss", Scenario{
	Summary: "A works for 4 s and unlocks. B takes the lock. A's Lost is" +
		" still open right after the Unlock, and two leases later.",
	Invariants: []string{FalseSuccess},
	features:   []Feature{LossNotices},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	released := false
	s.play(func() {
		a.begins()
		lost := a.lost()
		a.at(4 * second)
		released = a.release() == nil && lost != nil
		for _, moment := range []time.Duration{4 * second, 8 * second, 24 * second} {
			a.at(moment)
			if closed(lost) || closed(a.lost()) {
				a.report(FalseSuccess, "A has unlocked, and Lost says that it has lost the lock")
				return
			}
		}
	}, b.takes(5*second, lease, 24*second, a.released))
	s.judge(released, FalseSuccess)
})

// closed says whether a channel that nobody sends on is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

var _ = in(Loss, "renewal_hangs", Scenario{
	Summary: "One renewal hangs: it's neither executed nor answered, and everything" +
		" after it works. A works for 15 s while B waits. Also: once A has the" +
		" lock, every other reply to A takes a tenth of the lease.",
	Invariants: []string{TwoHolders},
	features:   []Feature{Renewal},
}, func(s *S) {
	hangs := lab.Fault{Hang: true}
	s.oneRenewalFails(hangs, 0)
	s.World(func() { s.oneRenewalFails(hangs, lease/10) })
})
