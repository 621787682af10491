package scenarios

import (
	"errors"
	"time"

	"github.com/lockladder/lockladder/lock"
)

// The family of sharing goes on: the faults of a reader, and the clients that
// must not wait for it.

var _ = in(Sharing, "reader_crash", Scenario{
	Summary: "A reads and dies. B waits to write, for up to 60 s. Also: A dies while it" +
		" waits to read, and C writes until 3 s.",
	Invariants: []string{Orphaned},
}, func(s *S) {
	a, b := s.mortal("A"), s.actor("B")
	s.play(func() {
		a.reads.begins()
		a.work(second)
		a.crash()
	}, b.comesFree(2*second, time.Minute, "A died while it read"))
	s.judge(true, Orphaned)
	s.World(func() {
		a, b, c := s.mortal("A"), s.actor("B"), s.actor("C")
		s.operates("kills A", a.Crash, 2*second)
		s.play(func() {
			a.at(second, c.has)
			a.reads.acquire(2 * lease)
		}, b.comesFree(4*second, time.Minute, "A died while it waited to read",
			c.released), c.holds(3*second))
		s.judge(true, Orphaned)
	})
})

// reader_renewal_isolated is redisson#1458: one lease for all readers.
var _ = in(Sharing, "reader_renewal_isolated", Scenario{
	Summary: "A and B read, and B dies at 1 s. A's lease is renewed until it unlocks" +
		" at 25 s, and B's is not. C waits to write from 24 s on, and must be let in" +
		" by 27 s: B's lease was over at 11 s at the latest.",
	Invariants: []string{Orphaned, ForeignRenewal},
	features:   []Feature{Renewal},
}, func(s *S) {
	a, b, c := s.actor("A"), s.mortal("B"), s.actor("C")
	s.play(a.reads.holds(25*second), func() {
		b.reads.begins()
		b.at(second)
		b.crash()
	}, c.comesFree(24*second, 3*second, "A has unlocked at 25.007, and B's lease is over"+
		" since 11 s: another one's renewals have kept it"))
	s.judge(true, Orphaned)
	if s.exact() { // the scores of readers are seen there only
		s.judge(s.Readers != "", ForeignRenewal)
	} else {
		s.unjudged("only the lab's own server shows the readers' leases", ForeignRenewal)
	}
})

var _ = in(Sharing, "writer_not_starved", Scenario{
	Summary: "A and B read in turn for 3 s, and each begins before the other one has" +
		" left, for a minute. C waits to write from 5 s on, and must be let in" +
		" within a lease. Also: C gives up waiting at 2 s, or dies then, and B must be able" +
		" to read: within 1 s, or when C's lease would be over.",
	Invariants: []string{Starvation, LateWakeUp, Orphaned},
}, func(s *S) {
	s.readersOverlap()
	if s.absent {
		return
	}
	s.World(s.writerGivesUp)
	s.World(s.waitingWriterDies)
})

func (s *S) readersOverlap() {
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	until := s.sooner(time.Minute, 30*second)
	reads := func(x *actor, from time.Duration) func() {
		return func() {
			for begin := from; begin < until; begin += 4 * second {
				x.at(begin)
				if x.reads.acquire(until) != nil {
					return
				}
				x.at(max(begin, s.Now().Truncate(second)) + 3*second)
				x.reads.release()
			}
		}
	}
	s.play(reads(a, 0), reads(b, 2*second), func() {
		c.at(5 * second)
		if c.acquire(lease) != nil {
			c.report(Starvation, "C waits to write since %.3f, and readers have"+
				" come and gone all the while", (5*second + c.phase).Seconds())
			return
		}
		c.work(second)
		c.release()
	})
	s.judge(true, Starvation)
}

func (s *S) writerGivesUp() {
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	s.play(a.reads.holds(8*second, b.tried), func() {
		b.at(3*second, c.tried)
		asked := s.Now()
		err := b.reads.acquire(s.patience(second))
		b.triedAt = s.Now()
		if err != nil {
			b.report(LateWakeUp, "C gave up waiting to write at %.3f, and B"+
				" waits to read since %.3f", c.triedAt.Seconds(),
				asked.Seconds())
			return
		}
		b.reads.release()
	}, func() {
		c.at(second, a.reads.has)
		c.passes(second)
		c.triedAt = s.Now()
	})
	s.judge(true, LateWakeUp)
}

func (s *S) waitingWriterDies() {
	a, b, c := s.actor("A"), s.actor("B"), s.mortal("C")
	s.operates("kills C", c.Crash, 2*second)
	s.play(a.reads.holds(3*second), func() {
		b.at(4 * second)
		if b.reads.acquire(time.Minute) != nil {
			b.report(Orphaned, "C died while it waited to write, nobody"+
				" holds the lock, and B waits to read since %.3f",
				(4*second + b.phase).Seconds())
			return
		}
		b.reads.release()
	}, func() {
		c.at(second, a.reads.has)
		c.acquire(2 * lease)
	})
	s.judge(true, Orphaned)
}

var _ = in(Sharing, "reader_overrun", Scenario{
	Summary: "A reads, its network is cut from 1 s to 30 s, and its process works on. B," +
		" which waits to write, is let in at about 10 s and works until 31 s. A is told" +
		" no later than its lease ends, and its RUnlock at 36 s returns ErrNotHeld." +
		" Renewals of A's that arrive late keep nobody out: C writes at 32 s.",
	Invariants: []string{NotTold, FalseSuccess, Orphaned},
}, func(s *S) {
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	var told time.Duration
	s.start()
	a.Hold(second, 30*second, a.reads.has)
	s.run(func() {
		a.reads.begins()
		told = a.awaitLoss(29 * second)
		a.at(36 * second)
		if err := a.reads.release(); b.has() && !errors.Is(err, lock.ErrNotHeld) {
			a.report(FalseSuccess, "A's read lock is gone since %.3f, and its"+
				" RUnlock returns %s", b.grantedAt.Seconds(), outcome(err))
		}
	}, func() {
		b.at(2 * second)
		if b.acquire(27*second) != nil {
			return
		}
		b.at(31 * second)
		b.judgeNotice(told, b.grantedAt)
		b.release()
	}, c.comesFree(32*second, s.patience(second), "B has unlocked, and A's read lock is"+
		" long over"))
	s.judgeTold(b.has())
	s.judge(b.has(), FalseSuccess, Orphaned)
})

var _ = in(Sharing, "reader_failover", Scenario{
	Summary: "A reads. The master dies before it has replicated that, the replica is" +
		" promoted, and B tries to write at once. (If the lock uses several" +
		" nodes, one of them fails over.)",
	Invariants: []string{TwoHolders},
	own:        true,
	readable:   "the store's replicas have a test of their own",
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	promoted := s.operates("fails over", s.Node(0).Promote, 500*time.Millisecond, a.reads.has)
	tried, asked := false, false
	s.start()
	if !s.absent { // a real replica is a process
		s.Node(0).Replicate()
	}
	s.run(a.reads.holds(3*second, func() bool { return tried }), func() {
		b.at(600*time.Millisecond, promoted)
		granted, answered := b.tryAgain(0)
		b.Step("has tried", func() { tried, asked = true, answered })
		if granted {
			b.at(4 * second)
			b.release()
		}
	})
	s.judge(asked, TwoHolders)
})
