package locktest

import (
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

const (
	ttl    = Lease
	second = time.Second
	milli  = time.Millisecond
	turn   = ttl / 20
)

// Processes tests what the waiters of one process do for each other when the network
// fails them. The second owner of a process has a fixed lease, which no other owner
// shares.
func Processes(t *testing.T, build lock.Build) {
	for name, script := range ofProcesses {
		t.Run(name, func(t *testing.T) {
			Run(t, Config{Build: build,
				Processes: []string{"A", "B", "C"}}, script)
		})
	}
}

// dies has B1 wait from 1 s on. Its process dies at 2 s, and so it has the next turn
// in vain.
func dies(s *Scenario) {
	s.Owner("B1").At(second).Locks()
	s.Process("B").CrashesAt(2 * second)
}

// follows has C1 wait behind it from 2.7 s on, and get the lock a turn after all were
// told.
func follows(s *Scenario, told time.Duration) {
	s.Owner("C1").At(2700 * milli).Section(second).
		SinceAtMost(told + turn + 10*milli)
	s.Serves("A1", "C1")
}

// slow has a process's commands answered late for a time.
func slow(s *Scenario, process string, from, to, by time.Duration) {
	p := s.Process(process)
	p.Go(func() {
		p.Sleep(from)
		p.Step("slows", func() { p.Always(lab.Fault{AnswerAfter: by}) })
		p.Sleep(to - from)
		p.Step("mends", func() { p.Always(lab.Fault{}) })
	})
}

// ofProcesses are what the waiters of one process do for each other.
var ofProcesses = map[string]func(*Scenario){
	// B1's question hangs. B2 waits in the same process, and has a connection of its own.
	"a question that hangs holds nobody else up": func(s *Scenario) {
		s.Owner("A1").Section(3 * second)
		s.Owner("B1").At(2*second).Fails(lab.Acquire, 1, lab.Fault{Deliver: 40 * second}).
			LocksWithin(60 * second).Unlocks()
		s.Owner("B2", lock.FixedLease()).At(2500 * milli).Section(second).
			SinceAtMost(3*second + turn)
		s.Play()
	},
	// C1's question is answered late: meanwhile it has heard of B's turn, and B is dead.
	"a turn that is told during a question is watched": func(s *Scenario) {
		s.Owner("A1").Section(10500 * milli)
		dies(s)
		slow(s, "C", 6*second, 10600*milli, second)
		s.Owner("C1").At(1500 * milli).Section(second).
			SinceAtMost(10500*milli + turn + 10*milli)
		s.Serves("A1", "C1")
	},
	// C1's turn comes, and the answer to its question takes longer than the lease. Nobody
	// has the lock then.
	"a grant that came too late is asked for anew": func(s *Scenario) {
		s.Owner("A1").Section(3 * second)
		slow(s, "C", 2500*milli, 3500*milli, 11*second)
		s.Owner("C1").At(second).Section(second).SinceAtMost(14*second + 100*milli)
		s.Serves("A1", "C1")
	},
	"a release whose reply is lost wakes its neighbor": func(s *Scenario) {
		s.Owner("A1").Tries(true).At(3*second).
			Fails(lab.Release, 1, lab.Fault{LoseReply: true}).Unlocks(ErrUnknown)
		s.Owner("A2", lock.FixedLease()).At(2 * second).Section(second).
			SinceAtMost(7 * second)
		s.Serves("A1", "A2")
	},
	// B1 is dead, and has the turn.
	"those that are told of a turn look after it": func(s *Scenario) {
		s.Owner("A1").Section(3 * second)
		dies(s)
		s.Owner("A2", lock.FixedLease()).At(2500 * milli).Section(second).
			SinceAtMost(3*second + turn + 10*milli)
		s.Owner("C1").At(2700 * milli).Section(second).
			SinceAtMost(4*second + turn + 20*milli)
		s.Serves("A1", "A2", "C1")
	},
	"who does so and gives up leaves it to the others": func(s *Scenario) {
		s.Owner("A1").Section(3 * second)
		dies(s)
		s.Owner("A2", lock.FixedLease()).At(2500 * milli).GivesUp(700 * milli)
		follows(s, 3200*milli)
	},
	// A1's release is on its way when A2 gives up.
	"who gives up before it begins does so as well": func(s *Scenario) {
		s.Owner("A1").Locks().At(3*second).
			Fails(lab.Release, 1, lab.Fault{Deliver: 3010 * milli}).Unlocks()
		dies(s)
		s.Owner("A2", lock.FixedLease()).At(2500 * milli).GivesUp(505 * milli)
		follows(s, 3010*milli)
	},
	// A2's context ends before its first question is answered.
	"who has not been answered looks after no turn": func(s *Scenario) {
		s.Owner("A1").Section(3 * second)
		dies(s)
		s.Owner("A2", lock.FixedLease()).At(2990*milli).
			Fails(lab.Acquire, 1, lab.Fault{AnswerAfter: 50 * milli}).
			LocksWithin(30*milli, ErrUnknown)
		follows(s, 3*second)
	},
	// A2's lease, and so its turns, are ten times as long as those of B1, which is dead.
	"a turn is looked after for as long as it lasts": func(s *Scenario) {
		s.Owner("A1").Section(3 * second)
		dies(s)
		s.Owner("A2").WithLease(10 * ttl).At(2500 * milli).Section(second).
			SinceAtMost(3*second + turn + 10*milli)
		s.Serves("A1", "A2")
	},
}
