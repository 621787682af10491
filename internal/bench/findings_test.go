package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// lockRow is a lock's row with this ratio in each of so many rounds.
func lockRow(name string, ratio float64, values map[string]any) Row {
	var done []Row
	for range trusted {
		done = append(done, oneRound(with(map[string]any{"rung": name, "ratio_to_serial": ratio,
			"acquisitions_per_second": 1000 * ratio})))
	}
	row := Median(done, len(done))
	for figure, value := range values {
		row.Set(figure, value)
	}
	return row
}

func oneRound(row Row) Row {
	row.Rounds = nil
	return row
}

func TestALockIsFasterIfItWasSoRoundByRound(t *testing.T) {
	fair, gold, bronze := lockRow("reentrant/fair", 0.5, nil), lockRow("gold", 0.12, nil), lockRow("bronze", 0.05, nil)
	of := func(rows ...Row) string { return append(Layout{}.Choices(rows), "")[0] }
	const fastest = "The best with 1000 clients, in acquisitions a second:\n  clearly fastest across processes reentrant/fair         500  1.02–10.2 × gold\n"
	for i, slow := range fair.Rounds[:3] { // the computer was slower, for both
		slow.Set("acquisitions_per_second", 50.0)
		gold.Rounds[i].Set("acquisitions_per_second", 49.0)
	}
	fair.Rounds[0].Set("acquisitions_per_second", 500.0)
	assert.Equal(t, fastest+"  safe in 4 of 6 situations        reentrant/fair         500", of(gold, fair))
	assert.Contains(t, wakes([]Row{fair, gold, bronze}), "waking is not clearly faster", "bronze was as fast in two")
	assert.Contains(t, wakes([]Row{fair, gold}), "waking is clearly faster than polling with pauses of up to 1s (flag -poll). Woken waiters have 5.9 × the speed of polling. ")
	gold.Rounds[5].Set("acquisitions_per_second", 510.0)
	assert.Contains(t, of(gold, fair), "  fastest across processes         reentrant/fair         500  0.980–10.2 × gold", "a chance of 7 in 64")
	one := func(r float64) Row { return oneRound(lockRow("gold", r, nil)) }
	assert.Contains(t, of(one(0.9), fair), "  fastest across", "one round may have been a chance")
	assert.Contains(t, of(one(1.1), fair), "clearly", "it was twice as fast")
	assert.Empty(t, of(gold, lockRow("gold", 0.6, nil)), "the same lock, with two pauses")
	assert.Empty(t, of(lockRow("reentrant/notify", 0.6, map[string]any{"finished": false}), gold), "it was cut off")
}

func TestTheFindingsSayWhatLocksCostAndHowSureItIs(t *testing.T) {
	cohort, fair, gold := lockRow("reentrant/cohort", 2, map[string]any{"commands_per_section": 1}), lockRow("reentrant/fair", 0.5, nil), lockRow("gold", 0.1, nil)
	for _, round := range fair.Rounds {
		round.Set("in_order", 1)
	}
	gold.Rounds[0].Set("acquisitions_per_second", 50.0) // the serial limit was 500/s
	few := lockRow("gold/script", 0.1, map[string]any{"table_clients": 10})
	few.Rounds = few.Rounds[:2]
	wrong := lockRow("no-lock", 1.9, map[string]any{"lost_updates": 3})
	all := []Row{few, wrong, gold, cohort, fair, lockRow("reentrant/notify", 0.6, nil), lockRow("bronze", 0.05, nil)}
	assert.Equal(t, []Choice{{"clearly fastest across processes", "reentrant/notify", "600", "1.20 × reentrant/fair"},
		{"in order of arrival", "reentrant/fair", "500", ""},
		{"safe in 4 of 6 situations", "reentrant/cohort", "2000", ""},
		{"in one process", "reentrant/cohort", "2000", "if all clients are in it"}}, Choices(all))
	assert.Equal(t, []string{
		"To wake or to poll: with 1000 clients waking is clearly faster than polling with pauses of up to 1s (flag -poll). Woken waiters have 5 to 12 × the speed of polling. A polling lock is as fast as its pauses let it be: the more clients sleep, the sooner one wakes up after a release. Of those that poll one server, the fastest, gold, has 1.00–2.00 × the speed of the slowest, bronze.",
		"How sure: the locks take turns, round by round. One is clearly faster if it won so many rounds that luck alone would do it less than once in 20 times;" +
			" with fewer than 6 rounds it must have been twice as fast in each. The margins of the locks' times serial are 0 to 0\u00a0%, the widest gold/script's with 10 clients."},
		Findings(all))
}

func TestADotIsTheMedianOfAllRoundsAndItsLineHasTheMiddleHalf(t *testing.T) {
	row := lockRow("gold", 0.12, nil)
	for i, round := range row.Rounds { // the one with the median ratio isn't in the middle
		round.Set("acquisitions_per_second", float64(100*(1+(i+4)%6)))
		round.Set("wait_ms.max", float64(10*(1+(i+4)%6)))
	}
	for i, p := range []picture{Pictures[0].of([]Row{row}), waitDots([]Row{row})} {
		assert.Equal(t, []dot{{350, 200, 500, 6}, {35, 20, 50, 6}}[i], p.rows[0].dots[len(p.rows[0].dots)-1])
	}
}

func TestAFailedTurnIsMarkedAsLostUpdatesAre(t *testing.T) {
	row := lockRow("redlock", 0.1, map[string]any{"failures": 1, "first_failure": "release: deadline"})
	assert.Equal(t, "✗ redlock: 1 acquisition failed, the first: release: deadline.", failures([]Row{row}))
	assert.Equal(t, "wrong", class(row))
	assert.Contains(t, notes([]dotsRow{{row: row}}), "✗ redlock: 1 acquisition failed")
}

func TestTheMoreRoundsThereAreTheBetterTheMedianIsKnown(t *testing.T) {
	ratios := []float64{0.5, 1.0, 1.0, 1.0, 2.0}
	least, most := around(ratios)
	assert.Equal(t, []float64{0.5, 2}, []float64{least, most}, "five may all be above it")
	for range 20 {
		ratios = append(ratios, 1)
	}
	least, most = around(ratios)
	assert.Equal(t, []float64{1, 1}, []float64{least, most})
	// Of nine, one on each side can be left out: with a chance of 3.9 %, no more
	// than one of them is above the median, or below.
	least, most = around([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	assert.Equal(t, []float64{2, 8}, []float64{least, most})
}

func TestARowIsMeasuredUntilItsRatioIsKnownOrItsTimeIsOver(t *testing.T) {
	rounds := func(n int, noise float64, took time.Duration) *series {
		var done []Row
		for i := range n {
			done = append(done, RowOf(map[string]any{"finished": true, "ratio_to_serial": 1 + noise*float64(i%2)}))
		}
		return &series{rounds: done, took: took}
	}
	r := &Runner{Settings: Settings{Rounds: 5, Patience: time.Second}}
	assert.True(t, r.another(rounds(4, 0, time.Hour)), "five at least")
	assert.True(t, r.another(rounds(5, 0, 0)), "of five the median says little")
	assert.False(t, r.another(rounds(6, 0.04, 0)))
	assert.True(t, r.another(rounds(6, 0.1, 0)))
	assert.False(t, r.another(rounds(6, 0.1, time.Second)))
	assert.False(t, r.another(rounds(25, 0.1, 0)))
	r.Patience = 0
	assert.False(t, r.another(rounds(5, 0.1, 0)), "no more than were asked for")
}

func TestADifferenceIsNoiseUntilTheEndsOfTheIntervalsAreApart(t *testing.T) {
	for _, of := range []struct {
		then, thenSpread, now, nowSpread float64
		verdict                          string
	}{
		{0.100, 4, 0.135, 4, "noise"},  // 0.104 and 0.1296: within a drift of 25 %
		{0.100, 4, 0.136, 4, "faster"}, // 0.104 and 0.1306
		{0.100, 4, 0.070, 4, "noise"},  // 0.096 and 0.0728
		{0.100, 4, 0.069, 4, "slower"}, // 0.096 and 0.0718
		{1.0, 40, 0.16, 40, "slower"},  // 0.6 and 0.22: far apart, however noisy
		{1.0, 40, 1.95, 40, "noise"},   // 1.4 and 1.17
		{0.16, 40, 1.0, 40, "faster"},
		{1.95, 40, 1.0, 40, "noise"},
	} {
		row := func(ratio, spread float64) Row {
			return Median(rounds(ratio*(1-spread/100), ratio, ratio, ratio, ratio, ratio*(1+spread/100)), 6)
		}
		assert.Equal(t, of.verdict, verdict(row(of.then, of.thenSpread), row(of.now, of.nowSpread)), "%+v", of)
	}
}

func TestAComparisonSaysWhatIsNotAsItWas(t *testing.T) {
	run := func(ratio float64, env Env) Report {
		return Report{Env: env, Rows: []Row{lockRow("gold", ratio, nil)}}
	}
	before := run(0.1, Env{Go: "go1.26", Commit: new("abc"), Pool: 1008, TTLms: 10_000, CPUs: 2})
	after := before.Env
	assert.NotContains(t, Compare("old.json", before, run(0.1, after)), "another")
	after.Go, after.Pool, after.TTLms, after.CPUs = "go1.27", 8, 500, 1
	assert.Contains(t, Compare("old.json", before, run(0.08, after)), "Compared with old.json"+
		" of commit abc, by times serial and its range with 95 % confidence: (another number of CPUs: 2)"+
		" (another Go: go1.26) (another pool: 1008 connections) (another lease: 10000 ms)\n  rung ")
	assert.Contains(t, Compare("old.json", before, run(0.06, after)),
		"  gold                 1000 0.100       0.100  0.060       0.060  -40 %  slower\n")
	other := Report{Rows: []Row{lockRow("gold", 0.1, map[string]any{"stock": 7})}}
	assert.Contains(t, Compare("old.json", before, other), "No row was measured in both")
	few := run(0.2, before.Env)
	few.Rows[0].Rounds = few.Rows[0].Rounds[:1]
	assert.Contains(t, Compare("old.json", before, few), "too few: with fewer than 3 rounds")
	few.Rows[0].Set("ratio_to_serial", nil)
	assert.Contains(t, Compare("old.json", before, few), "This run has no ratios: ")
}
