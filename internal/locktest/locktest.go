// Package locktest is the harness of the tests of locks. Rung runs a rung through the
// scenarios, as a user would run a lock of his own:
//
//	var red = locktest.RedFlag("^TestScenarios$")
//
//	func TestScenarios(t *testing.T) { locktest.Rung(t, "gold", red) }
//
// Run has several owners of a lock act in the lab, in one process or in several. A test
// says in one line what an owner does and when. A1 is the first owner in the process A.
// Nothing happens before Play, or Serves, which starts all scripts:
//
//	s.Owner("A1").Section(3 * time.Second)
//	s.Owner("B1").At(time.Second).Tries(false)
//	s.Owner("C1").At(2 * time.Second).Locks().Since(3*time.Second + tie).Unlocks()
//	s.Serves("A1", "C1")
//
// A lock that has a queue is also run by RunScripts, which looks at the keys that its
// scripts leave at the server, and by Processes.
package locktest

import (
	"flag"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// CollectLess has a test's process collect garbage less often. A script on the
// virtual server takes an interpreter of its own, and a quarter of the time went
// into collecting them. A user who sets GOGC has decided otherwise.
func CollectLess() {
	process.CollectLater(1000, 0)
}

// OneProcessor has a test's process keep to one processor: in a scenario one
// thing happens at a time, and a second processor is busy with looking for
// work, which takes a quarter of the time from the tests of another package.
// A user who sets GOMAXPROCS or -cpu has decided otherwise, and the race detector
// is to see what happens at the same time.
func OneProcessor() {
	if cpu := flag.Lookup("test.cpu"); os.Getenv("GOMAXPROCS") == "" && !Race &&
		(cpu == nil || cpu.Value.String() == "") {
		runtime.GOMAXPROCS(1)
	}
}

// Main is what a TestMain calls whose tests take little of the machine.
func Main(m *testing.M) {
	CollectLess()
	OneProcessor()
	os.Exit(m.Run())
}

// WhenNamed skips a test that looks at all rungs once more, and that a step of .ci/run
// names, unless -run names tests. How says what it takes and how it is run.
func WhenNamed(t *testing.T, how string) {
	t.Helper()
	if named() == "" {
		t.Skip(how)
	}
}

// Long skips a test in a short run: why says what takes so long.
func Long(t *testing.T, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why)
	}
}

// named is what -run names.
func named() string { return flag.Lookup("test.run").Value.String() }

// Rung is Scenarios in a process that takes little of the machine: the test of a rung.
func Rung(t *testing.T, name string, red *Red) {
	t.Helper()
	CollectLess()
	OneProcessor()
	report := Scenarios(t, name, red.Options(t, Find(t, name).Flaws)...)
	if flaws.IsStep(name) && named() == "" {
		assert.Equal(t, name, report.Grade().Rung, "its own grade")
	}
}

// Scenarios runs every scenario against a rung, with its flaws as the ladder
// declares them.
func Scenarios(t *testing.T, name string, more ...scenarios.Option) scenarios.Report {
	t.Helper()
	rung := Find(t, name)
	return scenarios.Run(t, rung.Build, append(Options(rung), more...)...)
}

// Find is the rung of that name. Without one the test ends.
func Find(t testing.TB, name string) ladder.Rung {
	t.Helper()
	rung, err := ladder.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return rung
}

// Options is what the scenarios must know of a rung.
func Options(rung ladder.Rung) []scenarios.Option {
	options := []scenarios.Option{
		scenarios.Nodes(rung.Nodes),
		scenarios.Flaws(rung.Flaws...),
	}
	if !rung.Renews {
		options = append(options, scenarios.WithoutFeatures(scenarios.Renewal))
	}
	switch rung.Name {
	case "silver/timestamp":
		options = append(options, scenarios.LeaseInValue(Deadline))
	case "diamond/fenced", "reentrant/fenced":
		options = append(options, scenarios.CountedTokens(),
			scenarios.Keeps(counter))
	case "reentrant/readwrite":
		options = append(options, scenarios.CountedTokens(),
			scenarios.Keeps(counter), scenarios.Readers(Readers))
	case "reentrant/cohort":
		options = append(options, scenarios.Keeps(counter))
	}
	return options
}

// counter is the key of a lock's fencing tokens.
func counter(key string) []string { return []string{lock.SecondKey(key, "token")} }

// Readers is the key of a read-write lock's readers.
func Readers(key string) string { return lock.SecondKey(key, "readers") }

// Deadline reads the value of a timestamp lock.
func Deadline(value string) (time.Time, bool) {
	ms, err := strconv.ParseInt(value, 10, 64)
	return time.UnixMilli(ms), err == nil
}

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
