package scenarios_test

import (
	"flag"
	"os"
	"os/exec"
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

// badRun is one of a lock, with options, of which its author is told one line.
type badRun struct {
	build   scenarios.Build
	options []scenarios.Option
	says    string
	hides   string // what it does not say, if anything
}

// badRuns are those in which something is wrong with what is declared, and those of mutants.
var badRuns = map[string]badRun{
	"breaks more and less than it declares": {
		build: wrong.Rung("diamond"),
		options: []scenarios.Option{scenarios.WithoutFeatures(scenarios.Reentry,
			scenarios.Renewal, scenarios.LossNotices), scenarios.Flaws(
			lock.Flaws("slow_get: foreign release", "overrun_overlap: two holders")...)},
		says:  "\t\"oversell: lost update\",\n    ",
		hides: "hung_worker", // where the same lease ends under its holder
	},
	"breaks a lot, of which the first is shown whole": {build: wrong.Rung("gold"),
		says: "\n            All of it: go test -v -run 'TestABadLock/^oversell$'\n", hides: "Twelve clients"},
	"shows what it breaks, and what holds only with -v": {
		build: wrong.Rung("reentrant/notify"),
		options: []scenarios.Option{scenarios.Only("failover"),
			scenarios.Red(true)},
		says:  "failover: two holders\n",
		hides: "failover: stale write",
	},
	"renews only if it is asked for": {build: wrong.Rung("gold"),
		options: []scenarios.Option{scenarios.Only("renewal_fails_once")},
		says:    "scenarios.WithoutFeatures(scenarios.Renewal)."},
	"has no build": {says: "build is nil, it must make an owner of the lock"},
}

func init() {
	for _, m := range wrong.All {
		if m.Says != "" {
			options := []scenarios.Option{scenarios.Most(20_000)}
			if m.In != "" {
				options = append(options, scenarios.Only(m.In))
			}
			badRuns[m.Name] = badRun{build: m.Build(), options: options, says: m.Says}
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
			out, err := exec.Command(self, "-test.run=^TestABadLock$",
				"-test.timeout=10m", "-bad-lock="+name).CombinedOutput()
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

func TestOptionsThatNoRunCouldMeetAreRefused(t *testing.T) {
	for says, options := range map[string][]scenarios.Option{
		"option 2 of 2 is nil":                              {scenarios.Red(false), nil},
		"0 nodes, a lock needs at least one":                {scenarios.Nodes(0)},
		"only some scenarios are to run, and none is named": {scenarios.Only([]string{}...)},
		"the runs can't be recorded: ":                      {scenarios.Record(os.Args[0] + "/runs")},
		`only some scenarios are to run: there is no scenario "crash", did you mean` +
			" crash_holding, ": {scenarios.Only("crash_holding", "crash")},
		`the lock is declared to be without "reentry", the features are ["re-entry"` +
			` "renewal" "lost" "fixed lease"]`: {scenarios.WithoutFeatures("reentry")},
		`a flaw is declared: there is no scenario "oversleep", did you mean oversell?`: {
			scenarios.Flaws(lock.Flaws("oversleep: lost update")...)},
		`a flaw is declared: the invariants of oversell are lost update, `: {
			scenarios.Sometimes(lock.Flaws("oversell: last update")...)},
	} {
		assert.ErrorContains(t, scenarios.Refusal(wrong.Rung("gold"), options...), says)
	}
}

func TestAFileOfFlawsSaysWhatBreaksAlwaysAndWhatSometimes(t *testing.T) {
	always, sometimes, err := scenarios.ReadFlaws("# of mine\nfailover: two holders\n\n" +
		"sometimes oversell: lost update # depends on a timer\n")
	require.NoError(t, err)
	assert.Equal(t, lock.Flaws("failover: two holders"), always)
	assert.Equal(t, lock.Flaws("oversell: lost update"), sometimes)
}
