package scenarios

import (
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of fencing: the tokens of successive grants.

var _ = in(Fencing, "tokens_rise", Scenario{
	Summary: "The server loses all data between two acquisitions, and the storage must" +
		" still accept the next holder's write. Also: C, A and B, whose clocks differ by 40 s," +
		" hold the lock in turn, twice each. Nobody asks for five leases, and then A and C" +
		" hold it. Each fencing token is greater than the one before. Also: the command" +
		" that takes the lock for A is on its way while B holds it and releases it.",
	Invariants: []string{WrongToken, Unavailable},
}, func(s *S) {
	s.holdInTurn()
	s.World(s.acquireIsDelayed)
	if s.exact() {
		s.World(s.counterIsLost)
	} else {
		s.unjudged("only the lab's own server is flushed", Unavailable)
	}
})

// grants are the tokens of successive grants.
type grants struct{ newest uint64 }

// next judges the token of a grant.
func (g *grants) next(a *actor) {
	if a.fenced() && !a.run.follows(g.newest, a.token()) {
		a.report(WrongToken, "%s is granted token %d after token %d", a.Name, a.token(), g.newest)
	}
	g.newest = a.token()
}

func (s *S) holdInTurn() {
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	b.process.Skew, c.process.Skew = -20*second, 20*second
	var held grants
	fenced := false
	turns := []*actor{c, a, b, c, a, b, nil, a, c} // nil: a long time
	taken := 0
	script := func(x *actor) func() {
		return func() {
			moment := time.Duration(0)
			for i, turn := range turns {
				if turn == nil {
					moment += 5 * lease
					continue
				}
				moment += second
				if turn != x {
					continue
				}
				x.at(moment, func() bool { return taken == i || turns[taken] == nil })
				x.mustAcquire()
				if fenced = x.fenced(); taken == 0 {
					held.newest = x.token()
				} else {
					held.next(x)
				}
				x.release()
				x.Step("is done", func() { taken = i + 1 })
			}
		}
	}
	s.play(script(a), script(b), script(c))
	s.judge(fenced, WrongToken)
}

func (s *S) acquireIsDelayed() {
	a, b := s.actor("A"), s.actor("B")
	var held grants
	granted := false
	s.start()
	a.Fault(lab.Acquire, a.grants, lab.Fault{Deliver: 3 * second, Until: b.released})
	s.run(func() {
		a.at(second)
		if granted, _ = a.try(); granted {
			held.next(a)
			a.release()
		}
	}, func() {
		b.at(1500 * time.Millisecond)
		b.mustAcquire()
		held.newest = b.token()
		b.release()
	})
	s.judge(granted && a.fenced() && b.heldBefore(a.grantedAt), WrongToken)
}

func (s *S) counterIsLost() {
	a, b := s.actor("A"), s.actor("B")
	storage := s.Storage(100)
	s.operates("flushes", func() { s.everyNode((*lab.Node).Flush) }, 4*second)
	s.play(func() {
		for range 3 {
			a.begins()
			a.buys(storage)
			a.release()
		}
	}, func() {
		b.at(5 * second)
		b.mustAcquire()
		_, version := b.read(storage)
		if !b.write(storage, 0, version) {
			b.report(Unavailable, "B holds the lock, and the storage has seen"+
				" tokens that are greater than its token %d", b.token())
		}
		b.release()
	})
	s.judge(a.fenced(), Unavailable)
}
