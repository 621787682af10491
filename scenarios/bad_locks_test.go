package scenarios_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// A bad lock may leave goroutines behind that nothing can stop, and a test of
// Run must see Run fail. So this test binary starts itself: each bad lock has a
// process of its own, in which TestABadLock runs it as its author would.

var badLock = flag.String("bad-lock", "", "run this bad lock in TestABadLock")

// A bad run is one of a lock, with options, of which its author is told one line.
type badRun struct {
	build   scenarios.Build
	options []scenarios.Option
	says    string
	hides   string // what it does not say, if anything
	slow    bool
}

// badRuns are those that are declared wrongly, and those of mutants.
var badRuns = map[string]badRun{
	"has no build": {says: "build is nil, it must make an owner of the lock"},
	"has a nil option": {
		build:   wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Red(false), nil},
		says:    "option 2 of 2 is nil",
	},
	"declines what nobody asks for": {
		build:   wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.WithoutFeatures("reentry")},
		says: `the lock is declared to be without "reentry", the features are` +
			` "re-entry", "renewal", "lost" and "fixed lease"`,
	},
	"declares an unknown scenario": {
		build: wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Flaws(scenarios.Flaw{
			Scenario: "oversleep", Invariant: scenarios.LostUpdate})},
		says: `a flaw is declared: there is no scenario "oversleep"; the` +
			" nearest are oversell",
	},
	"runs only an unknown scenario": {
		build:   wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Only("crash_holding", "crash")},
		says: `only some scenarios are to run: there is no scenario "crash"; the` +
			" nearest are crash_holding, ",
	},
	"runs only an empty list": {
		build:   wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Only([]string{}...)},
		says:    "only some scenarios are to run, and none is named",
	},
	"declares an unknown scenario as one that breaks sometimes": {
		build: wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Only("oversell"),
			scenarios.Sometimes(scenarios.Flaw{
				Scenario: "oversleep", Invariant: scenarios.LostUpdate}),
			scenarios.Flaws(lock.Flaws("oversell: lost update")...)},
		says: `a flaw is declared: there is no scenario "oversleep"; the` +
			" nearest are oversell",
	},
	"declares an unknown invariant as one that breaks sometimes": {
		build: wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Only("oversell"),
			scenarios.Sometimes(scenarios.Flaw{
				Scenario: "oversell", Invariant: "last update"}),
			scenarios.Flaws(lock.Flaws("oversell: lost update")...)},
		says: `a flaw is declared of invariant "last update" in oversell, its` +
			" invariants are lost update",
	},
	"declares an unknown invariant": {
		build: wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Flaws(scenarios.Flaw{
			Scenario: "oversell", Invariant: "last update"})},
		says: `a flaw is declared of invariant "last update" in oversell, its` +
			" invariants are lost update",
	},
	"breaks what it does not declare": {
		build: wrong.Rung("diamond"),
		options: []scenarios.Option{scenarios.WithoutFeatures(scenarios.Reentry,
			scenarios.Renewal, scenarios.LossNotices)},
		says: "this run broke the following; to declare it:\n" +
			"        \tscenarios.Flaws(\n" +
			"        \t\tscenarios.Flaw{Scenario: \"overrun_overlap\"," +
			" Invariant: \"two holders\"},\n",
		hides: "hung_worker", // where the same lease ends under its holder
	},
	"breaks more and less than it declares": {
		build: wrong.Rung("diamond"),
		options: []scenarios.Option{scenarios.WithoutFeatures(scenarios.Reentry,
			scenarios.Renewal, scenarios.LossNotices), scenarios.Flaws(
			lock.Flaws("slow_get: foreign release", "overrun_overlap: two holders")...)},
		says: "\t\"oversell: lost update\",\n        declared, but not broken:\n" +
			"        \t\"slow_get: foreign release\",\n",
	},
	"shows what it breaks, and what holds only with -v": {
		build: wrong.Rung("reentrant/notify"),
		options: []scenarios.Option{scenarios.Only("failover"),
			scenarios.Red(true)},
		says:  "failover: two holders\n",
		hides: "failover: stale write",
	},
	"records below a file": {
		build: wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Only("failover"),
			scenarios.Record(filepath.Join(os.Args[0], "runs"))},
		says:  "the runs can't be recorded: ",
		hides: "the runs are in",
	},
	"has no node": {
		build:   wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Nodes(0)},
		says:    "0 nodes, a lock needs at least one",
	},
}

func init() {
	for _, m := range wrong.All {
		if m.Says != "" {
			options := []scenarios.Option{scenarios.Most(20_000)}
			if m.In != "" {
				options = append(options, scenarios.Only(m.In))
			}
			badRuns[m.Name] = badRun{build: m.Build(), options: options,
				says: m.Says, slow: m.Slow}
		}
	}
}

func TestABadLock(t *testing.T) {
	bad, ok := badRuns[*badLock]
	if !ok {
		t.Skip("only started by TestBadLocksAreToldInOneLine")
	}
	scenarios.Run(t, bad.build, bad.options...)
}

func TestBadLocksAreToldInOneLine(t *testing.T) {
	locktest.Long(t, "it starts a process for each bad lock")
	t.Parallel() // some processes wait
	self, err := os.Executable()
	require.NoError(t, err)
	for name, bad := range badRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if bad.slow && os.Getenv("SLOW") == "" {
				t.Skip("takes ten seconds of real time: set SLOW=1")
			}
			out, err := exec.Command(self, "-test.run=^TestABadLock$",
				"-test.timeout=2m", "-bad-lock="+name).CombinedOutput()
			exit := new(exec.ExitError)
			require.ErrorAs(t, err, &exit, "the process ends with:\n%s", out)
			assert.Equal(t, 1, exit.ExitCode(), "it fails, and does not crash")
			assert.NotContains(t, string(out), "panic: ")
			assert.Equal(t, 1, strings.Count(string(out), bad.says), "it is said once")
			if t.Failed() {
				t.Logf("%s says\n%s", name, out)
			}
			if bad.hides != "" {
				assert.NotContains(t, string(out), bad.hides)
			}
		})
	}
}

func TestAFileOfFlawsSaysWhatBreaksAlwaysAndWhatSometimes(t *testing.T) {
	always, sometimes, err := scenarios.ReadFlaws("# of mine\nfailover: two holders\n\n" +
		"sometimes oversell: lost update # depends on a timer\n")
	require.NoError(t, err)
	assert.Equal(t, []lock.Flaw{{Scenario: "failover",
		Invariant: scenarios.TwoHolders}}, always)
	assert.Equal(t, []lock.Flaw{{Scenario: "oversell",
		Invariant: scenarios.LostUpdate}}, sometimes)
}
