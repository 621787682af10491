package pages

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios"
)

func TestWhatAJobNeedsIsInTheCatalogue(t *testing.T) {
	for _, job := range Jobs {
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

func did(verdicts map[string]scenarios.Verdict) Candidate {
	return Candidate{Lock: generated.Lock{Verdicts: verdicts}}
}

func TestALockThatBreaksWhatAJobNeedsIsNotChosenForIt(t *testing.T) {
	lock := did(map[string]scenarios.Verdict{
		"nested: self-deadlock":     scenarios.NotOffered,
		"slow_get: foreign release": scenarios.Breaks,
		"failover: two holders":     scenarios.Holds,
		"failover: stale write":     scenarios.Breaks,
		"oversell: lost update":     scenarios.DoesNotArise})
	for need, want := range map[string]bool{"failover: two holders": true,
		"oversell": true, "failover": false, "slow_get": false, "nested": false,
		"clock_jump": false} {
		assert.Equal(t, want, lock.Fits(Job{Needs: []string{need}}), need)
	}
}

func TestWhatSellsWithoutALockIsShownWithItsRetries(t *testing.T) {
	g := &Generator{Measured: Measured{Rows: []Cost{{Lock: "gold"},
		{Lock: "mysql/optimistic", Ratio: 0.25, Sold: 9,
			Left: new(int64(1)), Retries: new(int64(17))},
		{Lock: "lua-decrement", Ratio: 4, Sold: 10}}}}
	_, rows, _ := strings.Cut(g.without(), "--:|\n")
	assert.Equal(t, "| lua-decrement | 4.000 | 10 | – | – |\n"+
		"| mysql/optimistic | 0.250 | 9 | 1 | 17 |\n", rows)
}

func TestALockWithoutATokenIsNotChosenWhereTheStorageChecksIt(t *testing.T) {
	for verdict, want := range map[scenarios.Verdict]bool{scenarios.Holds: true,
		scenarios.DoesNotArise: false, scenarios.NotOffered: false,
		scenarios.Breaks: false} {
		lock := did(map[string]scenarios.Verdict{Token: verdict})
		assert.Equal(t, want, lock.Fits(Job{Arise: []string{Token}}), verdict)
	}
	assert.False(t, Candidate{}.Fits(Job{Arise: []string{Token}}))
}

func TestTheFastestLockThatFitsIsChosen(t *testing.T) {
	fits := map[string]scenarios.Verdict{}
	for _, job := range Jobs {
		for _, need := range slices.Concat(job.Needs, job.Arise) {
			fits[need] = scenarios.Holds
			fits[need+": x"] = scenarios.Holds
		}
	}
	etcd := func(name string, verdicts map[string]scenarios.Verdict, cost *Cost) Candidate {
		return Candidate{Store: "etcd", Cost: cost,
			Lock: generated.Lock{Name: name, Verdicts: verdicts}}
	}
	g := &Generator{Candidates: []Candidate{etcd("slow", fits, &Cost{Ratio: 0.1}),
		etcd("fast", fits, &Cost{Ratio: 0.2}), etcd("wrong", nil, &Cost{Ratio: 0.3}),
		etcd("not measured", fits, nil)}}
	assert.Contains(t, g.choices(), "| none | none | none | none | fast, 0.20; 1 other |")
}

func TestOfLocksThatTheRunCantTellApartTheOneWithFewerServersIsChosen(t *testing.T) {
	measured := func(name string, nodes int, rounds ...float64) Candidate {
		cost := &Cost{Nodes: nodes, Ratio: rounds[1]}
		for _, ratio := range rounds {
			cost.Rounds = append(cost.Rounds, Ratio{ratio})
		}
		return Candidate{Lock: generated.Lock{Name: name}, Cost: cost}
	}
	five := measured("five servers", 5, 0.05, 0.07, 0.09)
	for name, one := range map[string]Candidate{
		"five servers": measured("slower", 1, 0.03, 0.04, 0.049),
		"as fast":      measured("as fast", 1, 0.04, 0.06, 0.06),
	} {
		assert.Regexp(t, "^"+name+", ", First([]Candidate{one, five}))
	}
	faster := measured("faster", 1, 0.06, 0.08, 0.09)
	assert.Regexp(t, "^faster, ", First([]Candidate{five, faster}))
}
