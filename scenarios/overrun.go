package scenarios

import (
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of overruns: work, or a grant on its way, outlives the lease.

var _ = in(Overrun, "overrun_overlap", Scenario{
	Summary:    "A works for 15 s on a lease of 10 s while B waits.",
	Invariants: []string{TwoHolders},
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.play(a.holds(15*second), b.waitsAndWorks(second, 30*second, second))
	s.judge(true, TwoHolders)
})

// paused_holder is Kleppmann's scenario ("How to do distributed locking").
var _ = in(Overrun, "paused_holder", Scenario{
	Summary: "A's whole process stops at 1 s, its renewals as well, and wakes up at 31 s." +
		" Meanwhile B gets the lock and writes. A writes as soon as it's awake, before it" +
		" can learn that it has lost the lock. Where the lock has fencing tokens, the" +
		" storage checks them.",
	Invariants: []string{StaleWrite},
}, func(s *S) {
	a, b := s.mortal("A"), s.actor("B")
	storage := s.Storage(100)
	s.start()
	a.Stop(second, 31*second, a.has)
	s.run(func() {
		a.begins()
		left, version := a.read(storage)
		a.at(31 * second)
		a.write(storage, left-1, version)
	}, func() {
		b.at(2 * second)
		if b.acquire(20*second) == nil {
			b.buys(storage)
		}
		b.at(40 * second)
	})
	s.judge(b.heldBefore(31*second), StaleWrite)
})

var _ = in(Overrun, "late_grant", Scenario{
	Summary: "The reply of the last command of A's acquire comes at 12 s, and B got the" +
		" lock at about 10 s: A must not believe that it holds it. Also: the request" +
		" reaches the server at 11 s and is answered at once. If A says that it wasn't" +
		" granted the lock, it must have given it back: B gets in within 1 s. On several" +
		" nodes: every node answers after 2.9 s.",
	Invariants: []string{TwoHolders, Orphaned},
}, func(s *S) {
	if s.settings.nodes > 1 {
		s.lateGrantOnManyNodes()
		return
	}
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.Fault(lab.Acquire, a.acquires, lab.Fault{Answer: 12 * second, Until: b.has})
	s.run(func() {
		a.at(0)
		if granted, _ := a.try(); granted {
			a.work(second)
			a.release()
		}
	}, b.takes(second, 15*second, 20*second))
	s.judge(b.heldBefore(max(a.triedAt, 12*second)), TwoHolders)
	s.World(func() {
		a, b := s.actor("A"), s.actor("B")
		s.start()
		a.Fault(lab.Acquire, a.grants, lab.Fault{Deliver: 11 * second})
		refused := false
		s.run(func() {
			a.at(0)
			granted, _ := a.try()
			if refused = !granted; granted {
				a.release()
			}
		}, func() {
			b.at(11*second+100*time.Millisecond, func() bool { return a.tried() && a.reached() })
			if refused {
				b.mustComeFree(s.patience(second), "A refused the lock and kept it")
			}
		})
		s.judge(refused, Orphaned)
	})
})

// reached is whether a server has executed a command of the actor, for Until.
func (a *actor) reached() bool {
	return slices.ContainsFunc(a.run.Timeline(), func(e *lab.Entry) bool {
		return e.Client == a.Name && e.Node >= 0
	})
}

// lateGrantOnManyNodes runs late_grant where the lateness adds up: no node
// exceeds the node timeout, and all together exceed the lease. In virtual time
// also: they exceed it by no more than clocks may differ; and the caller's
// deadline passes when a majority of the nodes has granted.
func (s *S) lateGrantOnManyNodes() {
	s.answersAddUp(2900*time.Millisecond, time.Hour)
	if s.exact() {
		s.World(func() { s.answersAddUp(2010*time.Millisecond, time.Hour) })
		s.World(func() { s.answersAddUp(2900*time.Millisecond, 8*second) })
	}
}

func (s *S) answersAddUp(each, patience time.Duration) {
	s.nodeTimeout(s.sooner(3*second, 6*second)) // room for a busy machine
	a, b := s.actor("A"), s.actor("B")
	s.start()
	a.Always(lab.Fault{AnswerAfter: each})
	refused := false
	s.run(func() {
		a.at(0)
		refused = !a.triesInTime(patience)
		b.Go(func() {
			b.Sleep(b.phase)
			if refused {
				b.mustComeFree(s.patience(second), "A refused the lock and kept it")
			}
		})
	})
	s.judge(true, TwoHolders)
	s.judge(refused, Orphaned)
}

// triesInTime is tryFor, whose grant must not be older than a lease.
func (a *actor) triesInTime(patience time.Duration) (granted bool) {
	s, asked := a.run, a.run.Now()
	granted = a.tryFor(patience)
	if granted && s.Now()-asked >= s.lease() {
		a.report(TwoHolders, "A believes at %.3f to hold a lease of %v that it asked for at"+
			" %.3f", s.Now().Seconds(), s.lease(), asked.Seconds())
	}
	return granted
}

var _ = in(Overrun, "late_with_losers", Scenario{
	Summary: "Two of five nodes never answer, and A waits 2.6 s for each command to" +
		" them. A majority grants at once. A must not believe that it holds the lock" +
		" after 10 s, whatever it has sent to the other two meanwhile.",
	Invariants: []string{TwoHolders},
}, func(s *S) {
	nodes := s.settings.nodes
	if nodes < 3 {
		s.verdict(DoesNotArise, TwoHolders)
		return
	}
	if s.needsOwnServers() {
		return
	}
	s.nodeTimeout(2600 * time.Millisecond)
	a := s.actor("A")
	silent := s.operates("hangs", func() {
		for i := nodes/2 + 1; i < nodes; i++ {
			s.Node(i).Hang()
		}
	}, 0)
	s.play(func() {
		a.at(second, silent)
		a.triesInTime(time.Hour)
	})
	s.judge(a.has(), TwoHolders)
})
