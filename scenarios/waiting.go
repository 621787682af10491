package scenarios

import (
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of waiting: how long a call takes, and what it asks meanwhile.

// prompt is how long a call may take that waits for nobody.
const prompt = 500 * time.Millisecond

// mostAttempts is how many commands a waiter may send a node in a second.
const mostAttempts = 50

var promptAnswers = Scenario{
	Name:   "prompt_answers",
	Family: Waiting,
	Summary: "A's TryLock of a free lock, B's TryLock while A holds it, and A's" +
		" Unlock are answered within 0.5 s. B's Lock ends at its deadline, three" +
		" times, and sends each node at most 50 commands about the lock a second" +
		" until then. Also: nothing" +
		" that B sends is answered; its Lock ends no more than half a lease after its" +
		" deadline, and its Unlock a lease after it.",
	Invariants: []string{Hangs, BusyWaiting},
	exact: "how long an answer takes there says more about the machine than" +
		" about the lock",
	run: func(t *scenarioRun) {
		t.world(callsAreTimed)
		// A driver with timeouts of its own ends a call when it likes.
		if t.settings.driver == nil {
			t.world(nothingIsAnswered)
		}
	},
}

func callsAreTimed(s *worldRun) {
	a, b := s.actor("A"), s.actor("B")
	waiting := 0
	s.play(func() {
		a.at(0)
		granted := false
		a.mustAnswer("TryLock of a free lock", prompt, func() {
			granted, _ = a.try()
		})
		if !granted {
			s.Fail("A can't take a free lock")
			return
		}
		a.at(8 * second)
		a.mustAnswer("Unlock", prompt, func() { a.release() })
	}, func() {
		b.at(second)
		b.mustAnswer("TryLock of a held lock", prompt, func() { b.try() })
		b.at(2 * second)
		b.Step("waits", func() { waiting = len(s.Timeline()) })
		for _, patience := range deadlines {
			what := fmt.Sprintf("Lock with a deadline of %v", patience)
			if !b.mustAnswer(what, patience+prompt, func() { b.acquire(patience) }) {
				return
			}
		}
		b.Step("looks", func() { b.judgeAttempts(s.Timeline()[waiting:]) })
	})
	s.judge(Hangs, true)
	s.judge(BusyWaiting, true)
}

// deadlines are such that a lock which sleeps on after one of them is late for it,
// whatever its pause is: hardly a pause of 0.6 s or more ends near all of them.
var deadlines = []time.Duration{1450 * time.Millisecond, 950 * time.Millisecond,
	3 * second}

// mustAnswer judges how long a call takes.
func (a *actor) mustAnswer(what string, within time.Duration, call func()) (ok bool) {
	asked := a.run.Now()
	call()
	took := a.run.Now() - asked
	if took > within {
		a.report(Hangs, "%s's %s takes %.3f s", a.Name, what, took.Seconds())
	}
	return took <= within
}

// judgeAttempts judges how many commands the actor has sent a node in a second.
func (a *actor) judgeAttempts(waited []*lab.Entry) {
	newest := map[int][]time.Duration{} // node: when the newest came
	for _, e := range waited {
		if e.Client != a.Name || !a.run.names(e.Command) {
			continue
		}
		sent := append(newest[e.Node], e.At)
		if len(sent) > mostAttempts {
			sent = sent[1:]
			if took := e.At - sent[0]; took < second {
				a.run.Report(BusyWaiting, "%s waits, and sends node %d %d"+
					" commands within %.3f s", a.Name, e.Node+1, mostAttempts,
					took.Seconds())
				return
			}
		}
		newest[e.Node] = sent
	}
}

func nothingIsAnswered(s *worldRun) {
	a, b := s.actor("A"), s.actor("B")
	s.play(a.holds(5*second), func() {
		b.at(second)
		b.Step("is cut off", func() { b.Always(lab.Fault{Hang: true}) })
		b.mustAnswer("Lock with a deadline of 2 s", 2*second+lease/2, func() {
			b.acquire(2 * second)
		})
		b.Step("is connected", func() { b.Always(lab.Fault{}) })
		b.at(10 * second)
		if b.acquire(2*lease) != nil {
			s.Fail("A has unlocked, and B can't get the lock")
			return
		}
		b.Step("is cut off", func() { b.Always(lab.Fault{Hang: true}) })
		ctx, cancel := b.within(2 * second)
		defer cancel()
		b.mustAnswer("Unlock with a deadline of 2 s", 2*second+lease, func() {
			b.releaseWith(ctx)
		})
	})
	s.judge(Hangs, true)
}
