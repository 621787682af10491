package bench

import (
	"fmt"
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

func TestTheFindingSaysWhichKindOfLockIsFasterAndIsSilentWhereNeitherIs(t *testing.T) {
	notify, fair := lockRow("reentrant/notify", 0.6, nil), lockRow("reentrant/fair", 0.5, nil)
	gold, bronze := lockRow("gold", 0.12, nil), lockRow("bronze", 0.05, nil)
	const apart = " by the medians, with no overlap of rounds: "
	assert.Equal(t, []string{"Fastest of the locks that renew their lease: notify, 1.2 times as fast as any other" + apart + "0.600" +
		" times serial, against 0.500.", "Locks whose waiters are woken (notify and fair) were 4.1 times as fast as any that polls and pauses" +
		apart + "500 acquisitions a second (fair), against 120 (gold).", processor([]Row{gold, fair})}, Findings([]Row{bronze, gold, notify, fair}))
	assert.Equal(t, []string{"Locks that poll and pause were 1.5 times as fast as any whose waiters are woken" + apart + "900 acquisitions a second, against 600 (notify)."},
		Findings([]Row{lockRow("gold", 0.9, nil), fair, notify})[1:2])
	gold.Rounds[1].Set("ratio_to_serial", 0.51)
	gold.Rounds[1].Set("acquisitions_per_second", 510.0)
	const unclear = "Locks whose waiters are woken (%s) had %s acquisitions a second or more by the medians, and those that poll and pause %s" +
		" at most. That isn't clear: in single rounds, it was %[2]s at worst, against %[4]s at best, and a clear difference takes a factor of %[5]s."
	assert.Equal(t, fmt.Sprintf(unclear, "fair", "500", "120", "510", "1.2"), waking([]Row{gold, fair}), "one round was as fast")
	gold = lockRow("gold", 0.12, nil)
	assert.Equal(t, fmt.Sprintf(unclear, "notify", "600", "900", "900", "2.4"),
		waking([]Row{oneRound(lockRow("gold", 0.9, nil)), notify}), "one round may have been a chance")
	assert.Equal(t, fmt.Sprintf(unclear, "notify", "600", "550", "550", "1.2"), waking([]Row{lockRow("gold", 0.55, nil), notify}))
	assert.Empty(t, Findings([]Row{gold, lockRow("gold", 0.6, nil)}), "the same lock, with two pauses")
	slow := lockRow("reentrant/notify", 0.6, map[string]any{"finished": false})
	assert.Empty(t, Findings([]Row{slow, gold}), "it was cut off")
	for i, ratio := range []float64{0.1, 0.5} { // the serial limit was 1000/s and 200/s
		gold.Rounds[i].Set("ratio_to_serial", ratio)
		gold.Rounds[i].Set("acquisitions_per_second", 100.0)
	}
	found := Findings([]Row{gold, bronze, notify})
	assert.Regexp(t, ` 200–1000 acquisitions a second.* differs at least twofold in any two rounds`, found[0])
	assert.Regexp(t, `notify, 5.0 times as fast as any other lock by .*: 600 acquisitions a second`, found[1], "not by times serial")
	cohort := lockRow("reentrant/cohort", 2, nil)
	for _, round := range fair.Rounds {
		round.Set("in_order", 1)
	}
	assert.Regexp(t, `cohort \(at its best, .* wasn't measured.* many processes: notify and fair; in the order of asking: fair\.$`, Findings([]Row{notify, fair, cohort})[0])
	gold.Rounds[0].Set("ratio_to_serial", 0.01)
	assert.Empty(t, chance([]Row{gold}), "most clients were refused")
	gold.Set("retries", 9)
	assert.Regexp(t, `^With 1000 clients, chance decides about gold: `, chance([]Row{gold, notify, bronze}))
}

func TestADotIsTheMedianOfAllRoundsAndItsLineHasThemAll(t *testing.T) {
	row := lockRow("gold", 0.12, nil)
	for i, round := range row.Rounds { // the one with the median ratio isn't in the middle
		round.Set("acquisitions_per_second", float64(100*(1+(i+4)%6)))
		round.Set("wait_ms.max", float64(10*(1+(i+4)%6)))
		round.Set("calls_per_section", nil) // as in a file
	}
	assert.Equal(t, "5.20", serialDots([]Row{row}).rows[0].more[3], "the row's calls, not its rounds' commands")
	for i, p := range []picture{serialDots([]Row{row}), against([]Row{row}, byRate), waitDots([]Row{row})} {
		assert.Equal(t, []dot{{0.12, 0.12, 0.12, 6}, {300, 100, 600, 6}, {30, 10, 60, 6}}[i], p.rows[0].dots[len(p.rows[0].dots)-1])
	}
}

func TestTheFindingsNameWhatIsWrongOrTooNoisyToCompare(t *testing.T) {
	wrong := lockRow("no-lock", 1.9, map[string]any{"lost_updates": 3})
	noise, few := lockRow("gold", 0.1, nil), lockRow("gold/script", 0.1, nil)
	noise.Rounds[0].Set("ratio_to_serial", 0.13)
	noise.Rounds[0].Set("acquisitions_per_second", 130.0)
	few.Rounds = few.Rounds[:2]
	const tooNoisy = " range (95 % confidence; under 6 rounds, lowest to highest) is 20 % of the median or more, or they have fewer than 3 rounds, which count as half to twice as fast," +
		" so they differ only where ranges don't overlap. "
	assert.Equal(t, []string{"Compare all rows only roughly: their" + tooNoisy + "Measure more rounds.",
		"no-lock lost updates, so speed doesn't count there."}, Findings([]Row{wrong, noise, few}))
	assert.Regexp(t, "^Compare all rows only roughly: but for fair, their range ", Findings([]Row{noise, few, lockRow("reentrant/fair", 0.1, nil)})[0])
	noise.Rounds[0].Set("acquisitions_per_second", 182.0)
	fair, cohort := lockRow("reentrant/fair", 0.1, nil), lockRow("reentrant/cohort", 0.1, nil)
	assert.Equal(t, []string{"Compare closely only fair and cohort: the others'" + tooNoisy + "The serial limit beside the rounds was" +
		" 1000–1400 acquisitions a second: leave the computer idle, or measure more rounds."},
		Findings([]Row{fair, cohort, noise, few})[:1])
	assert.NotContains(t, Findings([]Row{noise})[0], "half", "it has six rounds")
	few.Rounds = nil
	assert.Equal(t, "Compare all rows only roughly: their"+tooNoisy+"Measure more rounds.", Findings([]Row{few})[0])
}

func TestAFailedTurnIsMarkedAsLostUpdatesAre(t *testing.T) {
	row := lockRow("redlock", 0.1, map[string]any{"failures": 1, "first_failure": "release: deadline"})
	assert.Equal(t, "✗ redlock: 1 acquisition failed, the first: release: deadline.", unsound([]Row{row}))
	assert.Equal(t, "wrong", class(row))
	assert.Contains(t, notes([]dotsRow{{row: row}}), "✗ redlock: 1 acquisition failed")
}

func TestLocksWithTheSameLastNameAreNamedInFull(t *testing.T) {
	a, b := lockRow("diamond/fenced", 0.1, nil), lockRow("reentrant/fenced", 0.1, nil)
	assert.Equal(t, "diamond/fenced and reentrant/fenced", names([]Row{a, b}, a, b))
	assert.Equal(t, "fenced", names([]Row{b}, b))
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
	rounds := func(n int, noise float64) (done []Row) {
		for i := range n {
			done = append(done, RowOf(map[string]any{"finished": true, "ratio_to_serial": 1 + noise*float64(i%2)}))
		}
		return done
	}
	r := &Runner{Settings: Settings{Rounds: 5, Patience: time.Second}}
	assert.True(t, r.another(rounds(4, 0), time.Hour), "five at least")
	assert.True(t, r.another(rounds(5, 0), 0), "of five the median says little")
	assert.False(t, r.another(rounds(6, 0.04), 0))
	assert.True(t, r.another(rounds(6, 0.1), 0))
	assert.False(t, r.another(rounds(6, 0.1), time.Second))
	assert.False(t, r.another(rounds(25, 0.1), 0))
	r.Patience = 0
	assert.False(t, r.another(rounds(5, 0.1), 0), "no more than were asked for")
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
		" of commit abc, by the ratios to the serial limit: (another number of CPUs: 2)"+
		" (another Go: go1.26) (another pool: 1008 connections) (another lease: 10000 ms)\n  rung ")
	assert.Contains(t, Compare("old.json", before, run(0.06, after)),
		"  gold                 1000 0.100 0.100–0.100  0.060 0.060–0.060  -40 %  slower\n")
	other := Report{Rows: []Row{lockRow("gold", 0.1, map[string]any{"stock": 7})}}
	assert.Contains(t, Compare("old.json", before, other), "No row was measured in both")
	few := run(0.2, before.Env)
	few.Rows[0].Rounds = few.Rows[0].Rounds[:1]
	assert.Contains(t, Compare("old.json", before, few), "too few: with fewer than 3 rounds")
	few.Rows[0].Set("ratio_to_serial", nil)
	assert.Contains(t, Compare("old.json", before, few), "This run has no ratios: ")
}
