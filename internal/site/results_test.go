package site_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/results"
	"github.com/lockladder/lockladder/scenarios"
)

// lock is what a lock did that did the same in all scenarios but some.
func lock(name string, others map[string]scenarios.Verdict) results.Lock {
	var report scenarios.Report
	for _, s := range scenarios.Catalogue {
		for _, invariant := range s.Invariants {
			r := scenarios.Result{Scenario: s.Name, Invariant: invariant,
				Verdict: scenarios.NotOffered}
			if v, ok := others[s.Name]; ok {
				r.Verdict = v
			}
			if r.Verdict == scenarios.CannotRun {
				r.Event = "nobody can"
			}
			report = append(report, r)
		}
	}
	return results.Of(name, report)
}

func TestEveryVerdictHasASignAndEveryInvariantARow(t *testing.T) {
	text := results.Table(1, []results.Lock{lock("mine", map[string]scenarios.Verdict{
		"crash_holding": scenarios.Breaks, "slow_get": scenarios.Holds,
		"hung_worker": scenarios.DoesNotArise,
		"lost_wakeup": scenarios.CannotRun})})
	for _, row := range []string{"| crash_holding | orphaned | **✗** |",
		"| slow_get | foreign release | ✓ |", "| hung_worker | orphaned | · |",
		"| lost_wakeup | orphaned | ? |", "| paused_holder | stale write | – |"} {
		assert.Contains(t, text, row+"\n")
	}
	invariants := 0
	for _, s := range scenarios.Catalogue {
		invariants += len(s.Invariants)
	}
	assert.Equal(t, invariants+2, strings.Count(text, "\n"))
}

func TestAScenarioThatCantBeRunIsNamedOnceWithTheReason(t *testing.T) {
	notRun := map[string]scenarios.Verdict{
		"failover": scenarios.CannotRun, "lost_wakeup": scenarios.CannotRun}
	assert.Equal(t, "- `failover`: nobody can.\n- `lost_wakeup`: nobody can.\n",
		results.NotRun([]results.Lock{lock("a", notRun), lock("b", notRun)}))
}

func TestResultsAreStaleByAllButWhetherAScenarioArose(t *testing.T) {
	kept := []results.Lock{lock("mine", map[string]scenarios.Verdict{
		"crash_holding": scenarios.Breaks, "slow_get": scenarios.Holds,
		"hung_worker": scenarios.DoesNotArise})}
	with := func(invariant string, verdict scenarios.Verdict) []results.Lock {
		l := kept[0]
		l.Verdicts = maps.Clone(l.Verdicts)
		l.Verdicts[invariant] = verdict
		return []results.Lock{l}
	}
	assert.Empty(t, results.Differences(kept, kept))
	assert.Empty(t, results.Differences(kept, with("slow_get: foreign release",
		scenarios.DoesNotArise)))
	assert.Empty(t, results.Differences(kept, with("hung_worker: orphaned",
		scenarios.Holds)))
	assert.Empty(t, results.Differences(kept, []results.Lock{{Name: "mine",
		Verdicts: map[string]scenarios.Verdict{
			"crash_holding: orphaned": scenarios.Breaks}}}), "-run names one")

	for invariant, verdict := range map[string]scenarios.Verdict{
		"slow_get: foreign release":  scenarios.Breaks,
		"crash_holding: orphaned":    scenarios.Holds,
		"hung_worker: orphaned":      scenarios.CannotRun,
		"no_such_scenario: orphaned": scenarios.Breaks,
	} {
		assert.NotEmpty(t, results.Differences(kept, with(invariant, verdict)), invariant)
	}
	other := with("hung_worker: orphaned", scenarios.Holds)
	other[0].NotRun = map[string]string{"failover": "why"}
	assert.NotEmpty(t, results.Differences(kept, other), "another reason")
	assert.NotEmpty(t, results.Differences(kept, nil), "another lock")
}

func TestResultsAreReadAsTheyAreWritten(t *testing.T) {
	locks := []results.Lock{lock("mine", map[string]scenarios.Verdict{
		"failover": scenarios.CannotRun})}
	text, err := results.Encode(locks)
	require.NoError(t, err)
	again, err := results.Decode([]byte(text))
	require.NoError(t, err)
	assert.Equal(t, locks, again)
}
