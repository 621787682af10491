package locktest

import (
	"slices"
	"testing"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/scenarios"
)

// SameVerdicts compares the verdicts on real servers with those in virtual time.
// A scenario that can't be run on a real server is not compared. Again runs one
// scenario once more.
//
// A scenario whose situation did not arise says nothing about the lock: on a
// busy machine a waiter that asks in the few milliseconds in which another is
// to take the lock comes first. Such a scenario is run up to twice more. A
// verdict that differs otherwise is never asked for again.
func SameVerdicts(t *testing.T, real, virtual scenarios.Report,
	again func(scenario string) scenarios.Report) {
	t.Helper()
	for _, r := range real {
		want := virtual.Verdict(r.Scenario, r.Invariant)
		for n := 0; n < 2 && r.Verdict == scenarios.DoesNotArise &&
			want != scenarios.DoesNotArise; n++ {
			t.Logf("%s: %s did not arise, and is run again", r.Scenario,
				r.Invariant)
			for _, second := range again(r.Scenario) {
				if second.Invariant == r.Invariant {
					r = second
				}
			}
		}
		if r.Verdict != want && r.Verdict != scenarios.CannotRun {
			t.Errorf("%s: %s: on real servers it %s, in virtual time it %s\n\n%s",
				r.Scenario, r.Invariant, r.Verdict, want, r.Timeline)
		}
	}
}

// OnServers runs scenarios against every rung on the servers that it gets, and in
// virtual time: the verdicts must be the same. A worker, which is this test once more,
// comes no further than to Work and needs no servers.
func OnServers(t *testing.T, of func(ladder.Rung) scenarios.RealServers,
	options ...scenarios.Option) {
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			scenarios.Work(t, rung.Build)
			t.Parallel()
			var virtual scenarios.Report
			t.Run("in virtual time", func(t *testing.T) {
				virtual = Scenarios(t, rung.Name)
			})
			servers := of(rung)
			run := func(more ...scenarios.Option) scenarios.Report {
				return scenarios.Run(t, rung.Build, slices.Concat(options,
					Options(rung), more,
					[]scenarios.Option{scenarios.OnServersOf(servers)})...)
			}
			real := run()
			if virtual != nil { // else -run names other scenarios
				SameVerdicts(t, real, virtual, func(name string) scenarios.Report {
					return run(scenarios.Only(name))
				})
			}
		})
	}
}
