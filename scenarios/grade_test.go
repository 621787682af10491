package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/scenarios"
)

// A lock that breaks what a rung breaks, and one thing more, stands elsewhere. What the rungs
// really do is graded in the tests of the rungs.
func TestALockStandsWhereItHoldsWhatTheStepsHaveFixed(t *testing.T) {
	for name, c := range map[string]struct {
		like    string // a rung whose flaws it has
		but     string
		verdict scenarios.Verdict
		rung    string
		asks    string // for the next step
		besides []string
	}{
		"like gold": {like: "gold", rung: "gold",
			asks: "overrun_release (A deletes the lock of B), slow_release, lost_release_reply," +
				" unlock_not_held, two_owners_one_process"},
		"two in where nothing goes wrong": {like: "gold", but: "mutual_exclusion: two holders",
			verdict: scenarios.Breaks, asks: "mutual_exclusion (two clients hold the lock together)"},
		"nothing was judged": {like: "gold", but: "mutual_exclusion: two holders",
			asks: "mutual_exclusion (untested)"},
		"two in while it renews": {like: "diamond/watchdog", but: "renewal_hangs: two holders",
			verdict: scenarios.Breaks, rung: "diamond", asks: "renewal_hangs (two clients hold the lock together)",
			besides: []string{"hung_worker: orphaned"}},
		"a scenario that never ends": {like: "diamond", but: "crash_holding: orphaned",
			rung: "bronze", asks: "crash_holding (untested)",
			besides: []string{"clock_jump: two holders"}},
		"no notice of a loss": {like: "diamond/watchdog", but: "lost_lease_told: not told",
			verdict: scenarios.NotOffered, rung: "diamond",
			asks:    "lost_lease_told (not offered)",
			besides: []string{"hung_worker: orphaned"}},
		"no tokens": {like: "diamond/watchdog", but: "tokens_rise: wrong token",
			verdict: scenarios.DoesNotArise, rung: "diamond/watchdog",
			asks: "paused_holder"},
		"on real servers": {like: "gold", but: "nothing_left: left behind",
			verdict: scenarios.CannotRun, rung: "gold", asks: "overrun_release (A deletes"},
		"wakes late": {like: "diamond", but: "prompt_wake: late wake-up",
			verdict: scenarios.Breaks, rung: "diamond", asks: "overrun_overlap (two clients",
			besides: []string{"prompt_wake: late wake-up"}},
		"a majority": {like: "redlock", rung: "redlock"},
		"on one node": {like: "redlock", but: "nodes_down: unavailable",
			verdict: scenarios.DoesNotArise, rung: "diamond", asks: "overrun_overlap (two clients"},
	} {
		t.Run(name, func(t *testing.T) {
			verdicts := map[string]scenarios.Verdict{}
			for _, s := range scenarios.Catalogue {
				for _, invariant := range s.Invariants {
					verdicts[s.Name+": "+invariant] = scenarios.Holds
				}
			}
			if c.like != "redlock" {
				verdicts["nodes_down: unavailable"] = scenarios.DoesNotArise
			}
			for _, f := range flaws.Of(c.like) {
				verdicts[f.Scenario+": "+f.Invariant] = scenarios.Breaks
			}
			if c.but != "" {
				verdicts[c.but] = c.verdict
			}
			g := scenarios.GradeOf(verdicts)
			assert.Equal(t, c.rung, g.Rung)
			if c.asks != "" {
				assert.Contains(t, g.Next[0].Asks(), c.asks)
			}
			assert.Equal(t, c.besides, g.Besides)
			assert.Equal(t, c.verdict == scenarios.CannotRun, g.Unknown != nil)
		})
	}
}

// The hints that a learner needs are those of the first task that isn't done, on the way that
// leads to the one that was asked for: watchdog isn't on that to redlock.
func TestTheFirstChallengeThatIsOpenIsOnTheWay(t *testing.T) {
	for broken, want := range map[string]int{
		"crash_holding: orphaned": 2, "slow_get: foreign release": 5, "late_grant: two holders": 8, "": 0,
	} {
		redlock := scenarios.Challenges()[7]
		var report scenarios.Report
		for _, s := range scenarios.Catalogue {
			for _, invariant := range s.Invariants {
				verdict := scenarios.Holds
				if s.Name+": "+invariant == broken {
					verdict = scenarios.Breaks
				}
				report = append(report, scenarios.Result{Scenario: s.Name, Invariant: invariant, Verdict: verdict})
			}
		}
		assert.Equal(t, want, redlock.Open(report), broken)
	}
}

// Nobody tells the scenarios at first what a lock doesn't offer.
func TestALockThatDeclinesNothingStandsOnItsRung(t *testing.T) {
	for _, name := range []string{"silver", "gold", "diamond"} {
		rung := locktest.Find(t, name)
		var report scenarios.Report
		for _, s := range scenarios.Catalogue {
			results, _ := scenarios.RunOne(t, s.Name, rung.Build) // of one that can't run there are none
			report = append(report, results...)
		}
		assert.Equal(t, name, report.Grade().Rung, "%v", report.Grade())
	}
}
