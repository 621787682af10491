package scenarios

import (
	"errors"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The family of servers: the faults of nodes, and of clocks.

var _ = in(Server, "failover", Scenario{
	Summary: "A holds the lock on the master, which dies before it has replicated" +
		" the lock. The replica, which knows of no lock, is promoted, and B tries" +
		" at once. (A lock that uses several nodes has one of them fail over. If" +
		" the lock has fencing tokens, B writes, then A.)",
	Invariants: []string{TwoHolders, StaleWrite},
	own:        true,
	readable:   "the store's replicas have a test of their own",
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	storage := s.Storage(100)
	promoted := s.operates("fails over", s.Node(0).Promote, 500*time.Millisecond, a.has)
	tried, asked, stale := false, false, false
	s.Node(0).Replicate()
	s.play(func() {
		a.begins()
		a.at(700*time.Millisecond, func() bool { return tried })
		if a.fenced() && b.has() {
			stale = true
			a.write(storage, 99, storage.Version())
		}
		a.at(3 * second)
		a.release()
	}, func() {
		b.at(600*time.Millisecond, promoted)
		b.Until(a.told, second) // a tenth of it in the scenario
		granted, answered := b.tryAgain(0)
		if granted && b.fenced() {
			b.buys(storage)
		}
		b.Step("has tried", func() { tried, asked = true, answered })
		if !granted {
			return
		}
		b.at(4 * second)
		b.release()
	})
	s.judge(asked, TwoHolders)
	s.judge(stale, StaleWrite)
})

// loseOne runs the scenario of a node that forgets: A holds the lock on no more nodes than it
// needs, B is refused, something happens to one of them, and B tries again.
func (s *S) loseOne(what string, happen func(n *lab.Node)) {
	a, b := s.actor("A"), s.actor("B")
	nodes := s.settings.nodes
	needed := nodes/2 + 1
	// Nodes refuse; it has happened; B has tried again, and was answered.
	var refused, hit, tried, asked bool
	free := []int{0} // when it has happened; B can have them all
	for i := needed; i < nodes; i++ {
		free = append(free, i)
	}
	refuse := func(o *actor, refusing bool) {
		o.Step("nodes", func() {
			for _, i := range free[1:] {
				s.Node(i).Refuse(refusing)
			}
			refused = refused || refusing
		})
	}
	s.operator(func(o *actor) {
		o.at(0)
		refuse(o, true)
		o.at(500*time.Millisecond, a.has)
		refuse(o, false)
		o.at(time.Second, b.tried)
		o.Step(what, func() {
			happen(s.Node(0))
			hit = true
		})
	})
	s.play(func() {
		a.at(200*time.Millisecond, func() bool { return refused })
		a.mustAcquire()
		a.at(3*second, func() bool { return tried })
		a.release()
	}, func() {
		b.at(800*time.Millisecond, a.has)
		if granted, _ := b.try(); granted {
			return
		}
		b.at(1100*time.Millisecond, func() bool { return hit })
		b.Until(a.told, second) // a tenth of it in the scenario
		granted, answered := b.tryAgain(free...)
		b.Step("has tried", func() { tried, asked = true, answered })
		if granted {
			b.at(4 * second)
			b.release()
		}
	})
	s.judge(asked, TwoHolders)
}

var _ = in(Server, "node_restart", Scenario{
	Summary: "A node that holds A's lock restarts without its data, and B tries at" +
		" once. (Where the lock uses five nodes, A has it on exactly three. B is" +
		" refused before the restart, and then one of these three restarts.)",
	Invariants: []string{TwoHolders},
	own:        true,
}, func(s *S) {
	s.loseOne("restarts", func(n *lab.Node) {
		if !s.readable() {
			n.Restart("restarts, with its data")
		} else {
			n.Restart("restarts without its data")
		}
	})
})

var _ = in(Server, "clock_jump", Scenario{
	Summary: "A server's clock jumps ahead by one lease, before any renewal. B tries" +
		" at once. (Several nodes: as in node_restart.)",
	Invariants: []string{TwoHolders},
	exact:      "a real server's clock can't be moved",
}, func(s *S) { s.loseOne("jumps", func(n *lab.Node) { n.JumpClock(lease) }) })

var _ = in(Server, "client_clock_skew", Scenario{
	Summary:    "B's own clock is 15 s ahead. B tries while A holds the lock.",
	Invariants: []string{TwoHolders},
}, func(s *S) {
	if s.settings.machineClock && s.cannot("all processes of a machine read the same clock") {
		return
	}
	a, b := s.actor("A"), s.actor("B")
	b.process.Skew = 15 * second
	s.play(a.holds(2*second, b.tried), func() {
		b.at(second, a.has)
		b.triesToPass()
	})
	s.judge(true, TwoHolders)
})

var _ = in(Server, "nodes_down", Scenario{
	Summary: "Of five nodes, two are down, then three: first they refuse connections," +
		" then they accept them and never answer. (If the lock uses one node, that one" +
		" refuses connections.) With a majority the lock works. Without one it refuses in" +
		" bounded time and leaves nothing behind.",
	Invariants: []string{Unavailable, TwoHolders, Hangs, Orphaned},
	own:        true,
}, func(s *S) {
	nodes := s.settings.nodes
	if nodes == 1 {
		s.verdict(DoesNotArise, Unavailable)
		s.nodesAreDown(1, false)
		return
	}
	minority := (nodes - 1) / 2
	s.nodesAreDown(minority, false)
	s.World(func() { s.nodesAreDown(minority+1, false) })
	s.World(func() { s.nodesAreDown(minority, true) })
	s.World(func() { s.nodesAreDown(minority+1, true) })
})

// nodesAreDown runs nodes_down with so many nodes down in one way.
func (s *S) nodesAreDown(down int, hang bool) {
	a, b := s.actor("A"), s.actor("B")
	majority := s.settings.nodes-down > s.settings.nodes/2
	isDown, up, asked := false, false, false
	s.operator(func(o *actor) {
		o.at(0)
		o.Step("down", func() {
			for i := range down {
				if hang {
					s.Node(i).Hang()
				} else {
					s.Node(i).Refuse(true)
				}
			}
			isDown = true
		})
		o.at(30 * second)
		o.Step("up", func() {
			for i := 0; i < down && !hang; i++ {
				s.Node(i).Refuse(false)
			}
			up = true
		})
	})
	s.play(func() {
		a.at(second, func() bool { return isDown })
		if majority {
			if err := a.acquire(5 * second); err != nil {
				a.report(Unavailable, "A can't have a free lock, although a"+
					" majority of the nodes works")
				return
			}
			ctx, cancel := a.within(lease)
			defer cancel()
			a.releaseWith(ctx)
			// The connection's deadline may come before the context's timer.
			if end, _ := ctx.Deadline(); !time.Now().Before(end) {
				a.report(Hangs, "A's Unlock waits for nodes that never"+
					" answer, until its deadline")
			}
			return
		}
		granted := a.tryFor(time.Minute)
		if took := s.Now() - second; took > lease+s.sooner(0, second) {
			a.report(Hangs, "A is answered only after %v", took.Round(time.Millisecond))
		}
		if granted {
			if s.Now() < 30*second { // or it has waited for the nodes
				a.report(TwoHolders, "A is granted a lock without a majority")
			}
			a.release()
			return
		}
		a.work(second)
		a.Step("looks", func() {
			for i := down; i < s.settings.nodes; i++ {
				if !s.Node(i).Free() {
					s.Report(Orphaned, "A was refused, and node %d still has its lock", i+1)
				}
			}
		})
	}, func() {
		if majority {
			b.at(8*second, a.released)
			granted := b.tryFor(time.Minute)
			if !granted { // the first command meets the old connection
				granted = b.tryFor(time.Minute)
			}
			if !granted {
				b.report(Unavailable, "A has unlocked, and B can't have the"+
					" lock, although a majority of the nodes works")
			}
			return
		}
		if hang {
			return
		}
		b.at(31*second, func() bool { return up })
		var granted bool
		granted, asked = b.tryAgain(0)
		if !granted && !s.readable() { // A may have waited for the nodes, too
			granted = b.acquire(lease) == nil
		}
		if !granted && asked {
			b.report(Orphaned, "A was refused, the nodes are up again, and B can't get the lock")
		}
	})
	if majority {
		s.judge(true, Unavailable)
		if len(s.Breaks(Hangs)) > 0 {
			s.judge(true, Hangs)
		}
	} else {
		s.judge(true, TwoHolders, Hangs)
		s.judge(asked || hang, Orphaned)
	}
}

// tryFor calls TryLock with a caller's patience, which ends a call that hangs.
func (a *actor) tryFor(patience time.Duration) bool {
	ctx, cancel := a.within(patience)
	defer cancel()
	granted, _ := a.tryWith(ctx)
	return granted
}

var _ = in(Server, "script_cache_flushed", Scenario{
	Summary: "An operator sends SCRIPT FLUSH between lock and unlock, and between" +
		" renewals.",
	Invariants: []string{Unavailable},
	own:        true,
	readable:   "the server keeps no scripts",
}, func(s *S) {
	s.flushesScripts(2 * second)
	if s.offers(Renewal) {
		s.World(func() { s.flushesScripts(15 * second) })
	}
})

// flushesScripts runs script_cache_flushed with a holder that works for so long.
func (s *S) flushesScripts(works time.Duration) {
	a := s.actor("A")
	s.operator(func(o *actor) {
		for moment := second; moment < works; moment += 4 * second {
			o.at(moment)
			o.Step("flushes", func() { s.Node(0).FlushScripts() })
		}
	})
	s.play(func() {
		a.begins()
		a.at(works)
		if err := a.release(); err != nil {
			a.report(Unavailable, "A worked for %v and its Unlock fails: %s", works, outcome(err))
		}
	})
	s.judge(true, Unavailable)
}

var _ = in(Server, "clock_drift", Scenario{
	Summary: "The nodes' clocks run 1 % faster than A's, so a lease of 10 s ends after" +
		" 9.9 s. A works for 9 s while B waits. On several nodes, also: those beyond" +
		" a majority answer so slowly that A's acquire takes 9.94 s, and A must not" +
		" believe that it holds the lock.",
	Invariants: []string{TwoHolders},
	exact:      "a real server's clock can't be given another rate",
}, func(s *S) {
	nodes := s.settings.nodes
	s.pollEvery(500 * time.Millisecond)
	a, b := s.actor("A"), s.actor("B")
	s.start()
	s.drift(1.01)
	s.run(a.holds(9*second), b.comes(second, lease))
	s.judge(true, TwoHolders)
	if nodes < 3 {
		return
	}
	s.World(func() {
		s.nodeTimeout(9 * second)
		a := s.actor("A")
		s.start()
		s.drift(1.01)
		beyond := nodes - (nodes/2 + 1)
		for i := range beyond {
			a.Fault(lab.Acquire, nodes-i, lab.Fault{
				AnswerAfter: 9940 * time.Millisecond / time.Duration(beyond)})
		}
		s.run(func() {
			a.at(0)
			granted := a.tryFor(time.Hour)
			a.Step("looks", func() {
				if granted && s.Owner() == "-" {
					s.Report(TwoHolders, "A believes at %.3f to hold the lock,"+
						" and its lease is over on most nodes", s.Now().Seconds())
				}
			})
		})
		s.judge(true, TwoHolders)
	})
})

// drift lets the clocks of all nodes run at another rate.
func (s *S) drift(rate float64) {
	s.everyNode(func(n *lab.Node) { n.Drift(rate) })
}

var _ = in(Server, "full_server", Scenario{
	Summary: "From 1 s on the servers' memory is full (maxmemory, noeviction), and they" +
		" refuse commands that need more. A, which has the lock, works for 15 s where" +
		" the lease is renewed and for 5 s where it is not. It is told of no loss, and" +
		" its Unlock succeeds. Also, where the lock has readers: A reads.",
	Invariants: []string{Unavailable},
	own:        true,
	readable:   "the server isn't Redis, and limits its memory differently",
}, func(s *S) {
	a := s.actor("A")
	s.fills(a)
	if a.readWrite() != nil {
		s.World(func() { s.fills(s.actor("A").reads) })
	}
})

// aReplica is how a replica answers a command that writes.
const aReplica = "READONLY You can't write against a read only replica."

var _ = in(Server, "error_replies", Scenario{
	Summary: "The servers answer all that A sends from 2 s to 3 s with the error READONLY. A" +
		" has the lock, and its Unlock returns neither nil nor ErrNotHeld. Also: they answer" +
		" B with it while it waits, and it makes at most 50 attempts a second. Also, where" +
		" the lease is renewed: they answer A with it from 4 s on, and A works until 20 s." +
		" It must be told of the loss before its lease ends, so before B gets in.",
	Invariants: []string{FalseSuccess, BusyWaiting, TwoHolders},
	exact:      "only a replica really answers with them",
	readable:   "the store isn't Redis, and has other errors",
}, func(s *S) {
	a := s.actor("A")
	s.play(func() {
		a.begins()
		a.at(2 * second)
		a.isAnswered(aReplica)
		if err := a.release(); err == nil || errors.Is(err, lock.ErrNotHeld) {
			a.report(FalseSuccess, "A's Unlock returns %s, and the servers have executed nothing",
				outcome(err))
		}
		a.at(3 * second)
		a.isAnswered("")
	})
	s.judge(true, FalseSuccess)
	s.World(s.waiterMeetsErrors)
	if !s.offers(Renewal) || !s.offers(LossNotices) {
		s.verdict(NotOffered, TwoHolders)
		return
	}
	s.World(func() {
		a, b := s.actor("A"), s.actor("B")
		s.play(func() {
			a.begins()
			a.at(4 * second)
			a.isAnswered(aReplica)
			a.at(8 * second)
			if a.Sent(lab.Renewal) > 0 { // else it can't fail, and the lease is simply too short
				a.at(20 * second)
			}
			a.isAnswered("")
			a.release()
		}, b.comes(5*second, 3*lease, a.has))
		s.judge(a.Sent(lab.Renewal) > 0, TwoHolders)
	})
})

// isAnswered has the servers answer each command of the actor with an error, until it is "".
func (a *actor) isAnswered(reply string) {
	a.Step("is answered", func() {
		a.run.errors = append(a.run.errors, reply)
		a.Always(lab.Fault{Error: reply})
	})
}

func (s *S) waiterMeetsErrors() {
	a, b := s.actor("A"), s.actor("B")
	tried, waits := 0, 0
	s.play(a.holds(8*second), func() {
		b.at(second)
		b.Step("tries", func() { tried = len(s.Timeline()) })
		b.try()
		b.at(2 * second)
		b.isAnswered(aReplica)
		b.Step("waits", func() { waits = len(s.Timeline()) })
		err := b.acquire(3 * second)
		b.isAnswered("")
		if err == nil {
			b.release()
		}
		b.Step("looks", func() {
			b.judgeAttempts(s.Timeline()[tried:waits], s.Timeline()[waits:])
		})
	})
	s.judge(true, BusyWaiting)
}

// fills runs full_server with a holder of either kind.
func (s *S) fills(a *actor) {
	works := s.works(5*second, 15*second)
	s.operates("fills the memory", func() { s.everyNode((*lab.Node).Fill) }, second, a.has)
	s.play(func() {
		a.begins()
		a.at(works)
		told := a.told()
		if err := a.release(); told || err != nil {
			a.report(Unavailable, "a full server has cost the lock: A was told of a"+
				" loss (%v), and its release after %v returns %s", told, works,
				outcome(err))
		}
	})
	s.judge(true, Unavailable)
}
