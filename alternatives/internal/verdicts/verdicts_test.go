package verdicts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/scenarios"
)

func report(verdicts map[string]scenarios.Verdict) scenarios.Report {
	var r scenarios.Report
	for _, scenario := range scenarios.Catalogue {
		for _, invariant := range scenario.Invariants {
			result := scenarios.Result{Scenario: scenario.Name,
				Invariant: invariant, Verdict: scenarios.NotOffered}
			if v, ok := verdicts[scenario.Name]; ok {
				result.Verdict = v
			}
			if result.Verdict == scenarios.CannotTell {
				result.Event = "nobody can"
			}
			r = append(r, result)
		}
	}
	return r
}

func TestEveryVerdictHasASignAndEveryInvariantARow(t *testing.T) {
	text := table([]string{"mine"}, map[string]scenarios.Report{
		"mine": report(map[string]scenarios.Verdict{
			"crash_holding": scenarios.Breaks, "slow_get": scenarios.Holds,
			"hung_worker":     scenarios.DoesNotArise,
			"lost_wakeup":     scenarios.CannotTell,
			"paused_holder":   scenarios.NotOffered,
			"overrun_overlap": scenarios.Holds})})
	for _, row := range []string{"| crash_holding | orphaned | **✗** |",
		"| slow_get | foreign release | ✓ |", "| hung_worker | orphaned | · |",
		"| lost_wakeup | orphaned | ? |", "| paused_holder | stale write | – |"} {
		assert.Contains(t, text, row+"\n")
	}
	invariants := 0
	for _, scenario := range scenarios.Catalogue {
		invariants += len(scenario.Invariants)
	}
	assert.Equal(t, invariants+2, strings.Count(text, "\n"))
}

func TestAStoryThatCantBeToldIsNamedOnceWithTheReason(t *testing.T) {
	told := report(map[string]scenarios.Verdict{
		"failover": scenarios.CannotTell, "lost_wakeup": scenarios.CannotTell})
	assert.Equal(t, "- `failover`: nobody can.\n- `lost_wakeup`: nobody can.\n",
		untold([]string{"a", "b"},
			map[string]scenarios.Report{"a": told, "b": told}))
}

func TestAPageIsStaleByAllButWhetherAStoryArose(t *testing.T) {
	page := "<!-- generated: mine -->\n| x | ✓ | · |\n| y | **✗** | – |\n" +
		"<!-- end of mine -->\n"
	same := "| x | ✓ | · |\n| y | **✗** | – |\n"
	assert.Equal(t, same, settled("| x | · | ✓ |\n| y | **✗** | – |\n", page,
		"mine"))
	assert.Equal(t, same, settled("| x | ✓ |  |\n| y |  |  |\n", page, "mine"),
		"-run names a few scenarios")
	for _, other := range []string{"| x | **✗** | · |\n| y | **✗** | – |\n",
		"| x | ✓ | · |\n| y | ✓ | – |\n", "| x | ✓ | · |\n| y | **✗** | · |\n",
		"| x | ✓ | ? |\n| y | **✗** | – |\n", "| x | ✓ | · |\n"} {
		assert.Equal(t, other, settled(other, page, "mine"))
	}
}
