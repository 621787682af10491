package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of waking: how those who wait learn of a release.

var _ = in(Waking, "lost_wakeup", Scenario{
	Summary: "A unlocks at 5 s, and the message to the waiters is lost. B must get" +
		" the lock within one lease.",
	Invariants: []string{Orphaned},
	readable:   "the server sends no message that could be lost alone",
}, func(s *S) {
	a, b := s.actor("A"), s.actor("B")
	s.operates("mutes", func() { s.everyNode(func(n *lab.Node) { n.Mute(true) }) }, 0)
	s.play(a.holds(5*second), b.comesFree(second, 4*second+lease, "A unlocked at 5.007"))
	s.judge(true, Orphaned)
})

var _ = in(Waking, "prompt_wake", Scenario{
	Summary: "A unlocks after B was refused and before B can hear of it: B's next" +
		" command, which may be its subscription, is on its way until 3 s, and A" +
		" unlocks at 2 s. B must get the lock by 4 s. Also: five owners of one" +
		" process wait from 3 s on, and A unlocks at 8 s. One of them must get the" +
		" lock within 1 s, and unless they poll, not all of them may ask for it. Also:" +
		" five owners of one process wait from 1 s on and give up together at 3 s, C" +
		" waits from 2 s on, and A unlocks at 4 s. C must get the lock within 1 s.",
	Invariants: []string{LateWakeUp, Herd},
	readable:   "a test can't tell which command a waiter listens with",
}, func(s *S) {
	s.releaseBeforeListening()
	s.World(s.oneIsWoken)
	s.World(s.allGiveUp)
})

// releaseBeforeListening runs a release between a refusal and what the waiter sends next.
func (s *S) releaseBeforeListening() {
	a, b := s.actor("A"), s.actor("B")
	s.start()
	b.Fault(lab.Acquire, b.grants+1, lab.Fault{Deliver: 3 * second,
		Until: a.released, IfSent: true})
	s.run(func() {
		a.begins()
		a.at(2 * second)
		a.Until(func() bool { return b.Sent(lab.Acquire) > b.grants }, lease/2)
		a.release()
	}, func() {
		b.at(second, a.has)
		if err := b.acquire(3 * second); err != nil {
			b.report(LateWakeUp, "A has unlocked at %.3f, and B, which waits"+
				" since %.3f, isn't let in: %s", a.freedAt.Seconds(),
				(second + b.phase).Seconds(), outcome(err))
			return
		}
		b.release()
	})
	s.judge(true, LateWakeUp)
}

// five are the owners of one process.
func (s *S) five(b *actor) []*actor {
	owners := []*actor{b}
	for _, name := range []string{"B2", "B3", "B4", "B5"} {
		owners = append(owners, s.beside(b, name))
	}
	return owners
}

// allGiveUp has a whole process give up before the release.
func (s *S) allGiveUp() {
	s.pollEvery(500 * time.Millisecond)
	a, b, c := s.actor("A"), s.actor("B"), s.actor("C")
	scripts := []func(){a.holds(4 * second), func() {
		c.at(2*second, a.has)
		if c.acquire(2*second-c.phase+s.patience(second)) != nil {
			c.report(LateWakeUp, "A has unlocked at %.3f, five waiters have given"+
				" up before, and C isn't let in", a.freedAt.Seconds())
			return
		}
		c.release()
	}}
	for _, w := range s.five(b) {
		scripts = append(scripts, w.comes(second, 2*second-w.phase, a.has))
	}
	s.play(scripts...)
	s.judge(true, LateWakeUp)
}

// oneIsWoken runs a release for which a whole process waits.
func (s *S) oneIsWoken() {
	s.pollEvery(500 * time.Millisecond) // five wait
	a, b := s.actor("A"), s.actor("B")
	waiters := s.five(b)
	let := func() bool { return slices.ContainsFunc(waiters, (*actor).has) }
	silent := false
	scripts := []func(){func() {
		a.begins()
		a.at(8 * second)
		// One that polls every few seconds is silent for a while, too.
		a.Step("looks", func() { silent = !b.polls(4 * second) })
		a.release()
		a.Until(let, s.patience(second))
		a.work(500 * time.Millisecond)
		a.Step("looks", func() {
			if n := b.sentSince(a.freedAt); silent && n >= len(waiters) {
				s.Report(Herd, "A has unlocked at %.3f, and the %d waiters"+
					" of a process have sent %d commands since",
					a.freedAt.Seconds(), len(waiters), n)
			}
		})
		a.work(s.patience(second) - 500*time.Millisecond)
		if !let() {
			a.report(LateWakeUp, "A has unlocked at %.3f, and of five waiters"+
				" none is let in", a.freedAt.Seconds())
		}
	}}
	for _, w := range waiters {
		scripts = append(scripts, func() {
			w.at(3*second, a.has)
			if w.acquire(6*second+s.patience(second)) == nil {
				w.work(3 * second)
				w.release()
			}
		})
	}
	s.play(scripts...)
	s.judge(true, LateWakeUp)
	s.judge(silent, Herd)
}

// polls says whether the actor's client has asked for the lock since a moment, but for
// what follows a message to it.
func (a *actor) polls(since time.Duration) bool {
	told := -second
	for _, e := range a.run.Timeline() {
		switch {
		case e.Client != a.Name:
		case strings.HasPrefix(e.Text, "message "):
			told = e.At
		case a.run.names(e.Command) && e.At >= since && e.At-told > prompt/5:
			return true
		}
	}
	return false
}

// sentSince is how often a server has executed a command about the lock of the actor's
// client since a moment: of several kinds the most frequent one, because an attempt may
// take several commands.
func (a *actor) sentSince(moment time.Duration) (most int) {
	kinds := map[string]int{}
	for _, e := range a.sentIn(a.run.Timeline()) {
		if e.At >= moment {
			kinds[kindOf(e)]++
			most = max(most, kinds[kindOf(e)])
		}
	}
	return most
}

// sentIn are those of the entries that are commands of the actor's client about the lock.
func (a *actor) sentIn(entries []*lab.Entry) (sent []*lab.Entry) {
	for _, e := range entries {
		if e.Client == a.Name && a.run.names(e.Command) {
			sent = append(sent, e)
		}
	}
	return sent
}

// kindOf is the same for commands to a node that begin with the same two words, such as
// those of successive attempts.
func kindOf(e *lab.Entry) string {
	words := strings.Fields(e.Command)
	return fmt.Sprint(e.Node, words[:min(len(words), 2)])
}

var _ = in(Waking, "impatient_waiter", Scenario{
	Summary: "B and B2 wait in one process, and A unlocks at 2 s. The first command" +
		" that this process sends then hangs. B gives up at 2.5 s. One of them must" +
		" have got the lock by 7 s.",
	Invariants: []string{LateWakeUp},
	readable:   "a command that hangs there may be a heartbeat",
}, func(s *S) {
	s.pollEvery(300 * time.Millisecond)
	a, b := s.actor("A"), s.actor("B")
	b2, arose := s.beside(b, "B2"), true
	s.play(func() {
		a.begins()
		a.at(2 * second)
		a.Step("unlocks soon", func() {
			b.Begin(lab.Acquire) // its commands are counted anew
			b.Fault(lab.Acquire, 1, lab.Fault{Hang: true})
		})
		a.release()
	}, b.comes(500*time.Millisecond, 2*second-b.phase, a.has), func() {
		b2.at(second, a.has)
		b2.passes(6 * second)
		switch {
		case b.has() || b2.has():
		case s.longestFree(a.freedAt) > second:
			b2.report(LateWakeUp, "A has unlocked at %.3f, B has given up,"+
				" and B2 isn't let in", a.freedAt.Seconds())
		default: // on a busy machine B was let in as it gave up: nobody was to be woken
			arose = false
		}
	})
	s.judge(arose, LateWakeUp)
})

var _ = in(Waking, "dead_waiter", Scenario{
	Summary: "B waits for the lock from 1 s on and C from 2 s on. B's process dies" +
		" at 3 s. A unlocks at 4 s, and C must get the lock within a lease. Also: B's clock" +
		" is 30 s fast.",
	Invariants: []string{Orphaned},
}, func(s *S) {
	s.waiterDies(0)
	// A process of its own reads its machine's clock, and client_clock_skew is about locks
	// whose leases depend on it.
	if s.exact() && s.settings.leaseEnd == nil {
		s.World(func() { s.waiterDies(3 * lease) })
	}
})

// waiterDies runs dead_waiter with a waiter whose clock is ahead.
func (s *S) waiterDies(ahead time.Duration) {
	s.pollEvery(500 * time.Millisecond)
	a, b, c := s.actor("A"), s.mortal("B"), s.actor("C")
	b.process.Skew = ahead
	s.play(func() {
		a.begins()
		a.at(3 * second)
		a.Step("sees B die", func() { b.Crash() })
		a.at(4 * second)
		a.release()
	}, func() {
		b.at(second, a.has)
		b.acquire(lease)
	}, c.comesFree(2*second, 2*second+lease, "A has unlocked, and B, which was before"+
		" C, is dead", a.has))
	s.judge(true, Orphaned)
}
