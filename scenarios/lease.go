package scenarios

import (
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of leases: how long a lease lasts at the server.

var _ = in(Leasing, "lease_length", Scenario{
	Summary: "A takes the lock and works for 9.6 s. Its lease is as long as A asked" +
		" for, by the server: after it was granted and, where it is renewed, after" +
		" each renewal. Also: the lease isn't a whole number of seconds.",
	Invariants: []string{WrongLease},
	readable:   "the lock's lease isn't the expiry of a key",
}, func(s *S) {
	s.measureLease()
	s.World(func() {
		s.uneven()
		s.measureLease()
	})
})

func (s *S) measureLease() {
	a := s.actor("A")
	leased := false
	measure := func() {
		a.Step("looks", func() {
			s.everyNode(func(n *lab.Node) { leased = s.measure(n, leased) || leased })
		})
	}
	s.play(func() {
		a.begins()
		measure()
		for _, moment := range []time.Duration{afterRenewal,
			2 * afterRenewal, 9600 * time.Millisecond} {
			a.at(moment)
			measure()
		}
		a.release()
	})
	s.judge(leased, WrongLease)
}

// measure judges the lease that a node has given A last, and says whether there
// is one. A key that never had a lease is a lock without one.
func (s *S) measure(n *lab.Node, leased bool) bool {
	asked := s.Now()
	left := n.LeaseLeft()
	from, to := n.Leased()
	// A machine may be late between. Of the lengths that it may have the nearest counts.
	length := min(max(s.lease(), left+asked-to), left+s.Now()-from)
	switch {
	case n.Free(), left == 0 && !leased: // perhaps only since a moment ago
		return false
	case left == 0:
		s.Report(WrongLease, "A's lock had a lease, and has none since %.3f", to.Seconds())
	case (length - s.lease()).Abs() > s.inexact():
		s.Report(WrongLease, "the lease that A has had since %.3f is %.3f s long, and"+
			" A asked for %.3f s", to.Seconds(), s.Lasts(length).Seconds(), s.Lasts(s.lease()).Seconds())
	}
	return true
}

// inexact is by how much a lease may differ from the one that was asked for.
func (s *S) inexact() time.Duration {
	return s.sooner(100*time.Millisecond, 300*time.Millisecond)
}

var _ = in(Leasing, "fixed_lease", Scenario{
	Summary: "A takes the lock with the option that turns renewal off, and works" +
		" for 15 s. B, which waits, gets the lock when A's lease ends at 10 s, and" +
		" not before, and A is told by then.",
	Invariants: []string{WrongLease, NotTold},
	features:   []Feature{Renewal, FixedLeases},
}, func(s *S) {
	s.fixedLease()
	a, b := s.actor("A"), s.actor("B")
	var asked, told time.Duration
	s.play(func() {
		a.at(0)
		asked = s.Now()
		a.mustAcquire()
		told = a.awaitLoss(14 * second)
		a.at(15 * second)
		a.release()
	}, func() {
		b.at(second, a.has)
		if b.acquire(10*second+s.sooner(0, 2*second)) != nil {
			b.report(WrongLease, "A's lease of %v was not to be renewed,"+
				" and B can't get the lock", s.lease())
			return
		}
		// A's lease began after A had asked.
		if after := b.grantedAt - asked; after < s.lease()-s.inexact() {
			b.report(WrongLease, "B holds the lock %.3f s after A asked for it,"+
				" and A's lease was to be %v", after.Seconds(), s.lease())
		}
		b.at(15 * second)
		b.judgeNotice(told, b.grantedAt)
		b.release()
	})
	s.judge(true, WrongLease)
	s.judgeTold(b.has())
})
