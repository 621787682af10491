package generated

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/scenarios"
)

func TestWhatAJobNeedsIsInTheCatalogue(t *testing.T) {
	for _, job := range Jobs {
		for _, need := range append(job.Needs, token) {
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
	lock := Candidate{Lock: Lock{Verdicts: map[string]scenarios.Verdict{
		"nested: self-deadlock":     scenarios.NotOffered,
		"slow_get: foreign release": scenarios.Breaks,
		"failover: two holders":     scenarios.Holds,
		"failover: stale write":     scenarios.Breaks,
		"oversell: lost update":     scenarios.DoesNotArise}}}
	for need, want := range map[string]bool{"failover: two holders": true,
		"oversell": true, "failover": false, "slow_get": false, "nested": false,
		"clock_jump": false} {
		assert.Equal(t, want, lock.Fits(Job{Needs: []string{need}}), need)
	}
}

func TestOfLocksThatTheRunCantTellApartTheOneWithFewerServersIsChosen(t *testing.T) {
	measured := func(name string, nodes int, rounds ...float64) Candidate {
		cost := bench.RowOf(map[string]any{"nodes": nodes, "ratio_to_serial": rounds[1]})
		for _, ratio := range rounds {
			cost.Rounds = append(cost.Rounds, bench.RowOf(map[string]any{
				"ratio_to_serial": ratio}))
		}
		return Candidate{Lock: Lock{Name: name}, Cost: &cost}
	}
	five := measured("five servers", 5, 0.05, 0.07, 0.09)
	for name, one := range map[string]Candidate{
		"five servers": measured("slower", 1, 0.03, 0.04, 0.049),
		"as fast":      measured("as fast", 1, 0.04, 0.06, 0.06),
	} {
		assert.Contains(t, choice([]Candidate{five, one}), name+", ")
	}
}
