package scenarios

import (
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// The family of waiting: how long a call takes, and what it asks meanwhile.

// prompt is how long a call may take that waits for nobody.
const prompt = 500 * time.Millisecond

// mostAttempts is how many attempts a waiter may make in a second, and mostAlike how
// many commands of a kind an attempt may take.
const (
	mostAttempts = 50
	mostAlike    = 4
)

var _ = in(Waiting, "prompt_answers", Scenario{
	Summary: "A's TryLock of a free lock, B's TryLock while A holds it, and A's" +
		" Unlock are answered within 0.5 s. B's Lock ends at its deadline, three" +
		" times, and makes at most 50 attempts a second until then. Also: nothing" +
		" that B sends is answered; its Lock ends no more than half a lease after its" +
		" deadline, and its Unlock a lease after it.",
	Invariants: []string{Hangs, BusyWaiting},
	exact: "how long an answer takes there says more about the machine than" +
		" about the lock",
}, func(s *S) {
	s.callsAreTimed()
	s.World(s.nothingIsAnswered)
})

func (s *S) callsAreTimed() {
	a, b := s.actor("A"), s.actor("B")
	asked, waiting := 0, 0 // the entries of the timeline before B's TryLock, and its Locks
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
		b.Step("tries", func() { asked = len(s.Timeline()) })
		b.mustAnswer("TryLock of a held lock", prompt, func() { b.try() })
		b.at(2 * second)
		b.Step("waits", func() { waiting = len(s.Timeline()) })
		for _, patience := range deadlines {
			what := fmt.Sprintf("Lock with a deadline of %v", patience)
			if !b.mustAnswer(what, patience+prompt, func() { b.acquire(patience) }) {
				return
			}
		}
		b.Step("looks", func() {
			b.judgeAttempts(s.Timeline()[asked:waiting], s.Timeline()[waiting:])
		})
	})
	s.judge(true, Hangs, BusyWaiting)
}

// deadlines are such that a lock which sleeps on after one of them is late for it,
// whatever its pause is: hardly a pause of 0.6 s or more ends near all of them.
var deadlines = []time.Duration{1450 * time.Millisecond, 950 * time.Millisecond, 3 * second}

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

// judgeAttempts judges how many attempts the actor has made in a second. An attempt takes
// as many commands of a kind as its TryLock took.
func (a *actor) judgeAttempts(tried, waited []*lab.Entry) {
	alike := map[string]int{}
	for _, e := range a.sentIn(tried) {
		alike[kindOf(e)] = min(alike[kindOf(e)]+1, mostAlike)
	}
	newest := map[string][]time.Duration{} // by kind: when the newest commands came
	for _, e := range a.sentIn(waited) {
		most := mostAttempts * max(alike[kindOf(e)], 1)
		sent := append(newest[kindOf(e)], e.At)
		if len(sent) > most {
			sent = sent[1:]
			if took := e.At - sent[0]; took < second {
				a.run.Report(BusyWaiting, "%s waits, and makes %d attempts within"+
					" %.3f s", a.Name, mostAttempts, took.Seconds())
				return
			}
		}
		newest[kindOf(e)] = sent
	}
}

func (s *S) nothingIsAnswered() {
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
	s.judge(true, Hangs)
}
