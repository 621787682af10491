package site_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/site/choosing"
	"github.com/lockladder/lockladder/scenarios"
)

func TestWhatAJobNeedsIsInTheCatalogue(t *testing.T) {
	for _, job := range choosing.Jobs {
		for _, need := range slices.Concat(job.Needs, job.Arise) {
			name, invariant, one := strings.Cut(need, ": ")
			assert.True(t, slices.ContainsFunc(scenarios.Catalogue,
				func(s scenarios.Scenario) bool {
					return s.Name == name &&
						(!one || slices.Contains(s.Invariants, invariant))
				}), "%s: %s", job.Name, need)
		}
	}
}

func TestALockThatBreaksWhatAJobNeedsIsNotChosenForIt(t *testing.T) {
	lock := choosing.Candidate{Verdicts: map[string]scenarios.Verdict{
		"nested: self-deadlock":     scenarios.NotOffered,
		"slow_get: foreign release": scenarios.Breaks,
		"failover: two holders":     scenarios.Holds,
		"failover: stale write":     scenarios.Breaks,
		"oversell: lost update":     scenarios.DoesNotArise}}
	for need, want := range map[string]bool{"failover: two holders": true,
		"oversell": true, "failover": false, "slow_get": false, "nested": false,
		"clock_jump": false} {
		assert.Equal(t, want, lock.Fits(choosing.Job{Needs: []string{need}}), need)
	}
}

func TestWhatSellsWithoutALockIsShownWithItsRetries(t *testing.T) {
	c := &choosing.Choice{Run: bench.Report{Rows: []bench.Row{
		bench.RowOf(map[string]any{"rung": "gold"}),
		bench.RowOf(map[string]any{"rung": "mysql/optimistic",
			"ratio_to_serial": 0.25, "sold": 9, "left": 1, "retries": 17}),
		bench.RowOf(map[string]any{"rung": "lua-decrement", "ratio_to_serial": 4.0,
			"sold": 10})}}}
	_, rows, _ := strings.Cut(c.Without(), "--:|\n")
	assert.Equal(t, "| lua-decrement | 4.000 | 10 | – | – |\n"+
		"| mysql/optimistic | 0.250 | 9 | 1 | 17 |\n", rows)
}

func TestALockWithoutATokenIsNotChosenWhereTheStorageChecksIt(t *testing.T) {
	for verdict, want := range map[scenarios.Verdict]bool{scenarios.Holds: true,
		scenarios.DoesNotArise: false, scenarios.NotOffered: false,
		scenarios.Breaks: false} {
		lock := choosing.Candidate{Verdicts: map[string]scenarios.Verdict{choosing.Token: verdict}}
		assert.Equal(t, want, lock.Fits(choosing.Job{Arise: []string{choosing.Token}}), verdict)
	}
	assert.False(t, choosing.Candidate{}.Fits(choosing.Job{Arise: []string{choosing.Token}}))
}

// ratio is a row, or a round, with this ratio to the serial limit.
func ratio(x float64) bench.Row {
	return bench.RowOf(map[string]any{"ratio_to_serial": x})
}

func TestTheFastestLockThatFitsIsChosen(t *testing.T) {
	fits := map[string]scenarios.Verdict{}
	for _, job := range choosing.Jobs {
		for _, need := range slices.Concat(job.Needs, job.Arise) {
			fits[need] = scenarios.Holds
			fits[need+": x"] = scenarios.Holds
		}
	}
	etcd := func(name string, verdicts map[string]scenarios.Verdict,
		cost *bench.Row) choosing.Candidate {
		return choosing.Candidate{Name: name, Family: "etcd", Verdicts: verdicts,
			Cost: cost}
	}
	c := &choosing.Choice{Candidates: []choosing.Candidate{
		etcd("slow", fits, new(ratio(0.1))),
		etcd("fast", fits, new(ratio(0.2))),
		etcd("wrong", nil, new(ratio(0.3))),
		etcd("not measured", fits, nil)}}
	assert.Contains(t, c.Table(), "| none | none | none | none | fast, 0.20; 1 other |")
}

func TestOfLocksThatTheRunCantTellApartTheOneWithFewerServersIsChosen(t *testing.T) {
	measured := func(name string, nodes int, rounds ...float64) choosing.Candidate {
		row := ratio(rounds[1])
		row.Set("nodes", nodes)
		for _, x := range rounds {
			row.Rounds = append(row.Rounds, ratio(x))
		}
		return choosing.Candidate{Name: name, Cost: &row}
	}
	five := measured("five servers", 5, 0.05, 0.07, 0.09)
	for name, one := range map[string]choosing.Candidate{
		"five servers": measured("slower", 1, 0.03, 0.04, 0.049),
		"as fast":      measured("as fast", 1, 0.04, 0.06, 0.06),
	} {
		assert.Equal(t, name, choosing.First([]choosing.Candidate{one, five}).Name)
	}
	faster := measured("faster", 1, 0.06, 0.08, 0.09)
	assert.Equal(t, "faster", choosing.First([]choosing.Candidate{five, faster}).Name)
}
