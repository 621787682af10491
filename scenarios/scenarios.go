// Package scenarios runs the shared scenarios against any lock. Each of them is a short
// script of a few clients, with invariants of its own: a crash while the lock is held,
// work that takes longer than the lease, a slow reply, a failover.
//
// It takes a function that makes one owner of your lock, and needs no server: time is
// virtual and the network is simulated, so that all scenarios take a second or two.
//
//	func TestMyLock(t *testing.T) {
//		scenarios.Run(t, func(env scenarios.Env) (scenarios.Lock, error) {
//			return mylock.New(env.Nodes[0], env.Key, env.TTL), nil
//		})
//	}
//
// It gives a verdict for each scenario and each of its invariants, the timeline of what breaks,
// with the line of the lock's code that was under way, and the Grade. The test fails until all
// that breaks is declared with Known, and what the lock doesn't offer with WithoutFeatures. A
// library that returns a handle or a context, or takes a callback, becomes a Lock by Handle, Held
// or Using. With Record a browser plays the runs. Try runs one scenario with a change, such as
// another lease or a lost reply, and OnServersOf runs them on real servers.
//
// The catalogue has the scenarios, a file for each failure family; an actor is a client in
// them, S is a scenario under way. The file own_lock_test.go is a test to copy.
package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The types that a lock of your own needs. Its other errors and a rung's options are in
// package lock.
type (
	Lock         = lock.Lock         // what a lock must offer
	Fenced       = lock.Fenced       // what it may offer: Token
	LossNotifier = lock.LossNotifier // what it may offer: Lost
	ReadWrite    = lock.ReadWrite    // what it may offer: RLock, RUnlock
	Env          = lock.Env          // what it is built from
	Build        = lock.Build        // how it is built
	Flaw         = lock.Flaw         // what it is known to break

	Entry       = lab.Entry  // one line of a timeline
	RealServer  = lab.Server // one that scenarios may run on, see OnServersOf
	RealServers = lab.Pool   // lends them to scenarios that run at the same time
	Frames      = lab.Frames // cuts the protocol of a server that isn't Redis
)

// Run runs every scenario of the catalogue against the locks that build makes, a subtest each,
// named like the scenario. Then it runs some of them a second time, with another lease and name
// and with readers, and then random worlds. It fails the test when the lock breaks an invariant
// that is not declared as a flaw, holds one that is, or fails in any other way. A lock that can't
// be built, that does not work where nothing goes wrong, that is stuck, never returns or leaks
// connections, or whose keys are not known, is reported once: the scenarios that follow are
// skipped. When what broke is not what was declared, Run prints a list to declare it by. At the
// end it logs the lock's Grade, unless only some scenarios were run.
func Run(t *testing.T, build Build, opts ...Option) Report {
	t.Helper()
	s, err := configure(build, opts)
	if err != nil {
		t.Fatal(err)
	}
	s.lock = t.Name()
	defer s.recorded(t)
	if s.pool != nil {
		report := runReal(t, build, *s)
		if s.ranAll() {
			t.Logf("\n%s", report.Grade())
		}
		return report
	}
	var left []string
	s.left = &left
	report, whole := runVirtual(t, build, *s)
	if len(left) > 0 && !s.declares("nothing_left", LeftBehind) &&
		report.Verdict("nothing_left", LeftBehind) == Holds {
		t.Errorf("keys without a TTL are left three leases after the last owner"+
			" has died; declare with scenarios.Keeps what stays on purpose: %s",
			strings.Join(left, ", "))
	}
	grade := report.Grade().String()
	if whole && !s.red && s.only == nil {
		broken := report.with(Breaks)
		lines := "broken, but not declared; to declare it, put these lines into\nscenarios.Known(...):"
		for _, f := range without(broken, s.flaws) {
			lines += fmt.Sprintf("\n\t%q,", f.Scenario+": "+f.Invariant)
		}
		if strings.Contains(lines, "\t") {
			t.Log(lines)
		}
		if !s.runAgain(t, build, report) {
			grade += "\nIn the second pass it breaks more, which this doesn't count."
		}
		if !s.runWorlds(t, build, broken) {
			grade += "\nIn a random world it breaks more, which this doesn't count."
		}
	}
	if next := report.Grade().Next; t.Failed() && len(next) > 0 && len(next[0].Missing) > 0 {
		grade += fmt.Sprintf("\nBegin with the first, in the package's directory:\n  "+alone, s.lock, scenariosOf(next[0].Missing)[0])
	}
	if s.ranAll() {
		t.Logf("\n%s", grade)
	}
	return report
}
