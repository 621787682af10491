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

func TestTheFindingSaysWhichKindOfLockIsFasterAndIsSilentWhereNeitherIs(t *testing.T) {
	notify, fair := lockRow("reentrant/notify", 0.6, nil), lockRow("reentrant/fair", 0.5, nil)
	gold, bronze := lockRow("gold", 0.12, nil), lockRow("bronze", 0.05, nil)
	const woken = "Locks whose waiters are woken by a message (notify and fair) were taken at least" +
		" 4.1 times as often as any that polls and pauses."
	assert.Equal(t, []string{"Fastest of the safe locks, which renew their lease: notify, taken at" +
		" least 1.2 times as often as any other.", woken}, Findings([]Row{bronze, gold, notify, fair}))
	assert.Equal(t, []string{"Fastest: gold, taken at least 1.5 times as often as any other."},
		Findings([]Row{lockRow("gold", 0.9, nil), notify}))
	gold.Rounds[1].Set("ratio_to_serial", 0.51)
	gold.Rounds[1].Set("acquisitions_per_second", 510.0)
	assert.Empty(t, Findings([]Row{gold, fair}), "one round was as fast")
	gold = lockRow("gold", 0.12, nil)
	once := map[string]any{"spread": nil}
	assert.Empty(t, Findings([]Row{oneRound(lockRow("gold", 0.9, once)), notify}),
		"one round may have been a chance")
	assert.NotEmpty(t, Findings([]Row{oneRound(lockRow("gold", 0.1, once)), notify}))
	assert.Empty(t, Findings([]Row{gold, lockRow("gold", 0.6, nil)}), "the same lock, with two pauses")
	slow := lockRow("reentrant/notify", 0.6, map[string]any{"finished": false})
	assert.Empty(t, Findings([]Row{slow, gold}), "it was cut off")
	for i, ratio := range []float64{0.1, 0.5} { // the serial limit was 1000/s and 200/s
		gold.Rounds[i].Set("ratio_to_serial", ratio)
		gold.Rounds[i].Set("acquisitions_per_second", 100.0)
	}
	assert.Regexp(t, `^No lock is compared: .* 5.0 times as fast `, Findings([]Row{gold, bronze, notify})[0])
	assert.Equal(t, "There are no two locks to compare.", unclear([]Row{gold, notify}))
}

func TestTheFindingsNameWhatIsWrongOrTooNoisyToCompare(t *testing.T) {
	wrong := lockRow("no-lock", 1.9, map[string]any{"lost_updates": 3})
	noise := lockRow("gold", 0.1, map[string]any{"spread": 12.0})
	few := lockRow("gold/script", 0.1, map[string]any{"spread": nil})
	const tooNoisy = "Too noisy to compare closely (± 10 % or more, or fewer than 3 rounds): "
	const help = " A computer that does nothing else helps, and so do more -rounds."
	assert.Equal(t, []string{"no-lock lost updates, so speed doesn't count there.",
		tooNoisy + "all but no-lock." + help}, Findings([]Row{wrong, noise, few}))
	assert.Equal(t, []string{tooNoisy + "all rows." + help}, Findings([]Row{noise, few}))
	fair, cohort := lockRow("reentrant/fair", 0.1, nil), lockRow("reentrant/cohort", 0.1, nil)
	assert.Equal(t, []string{tooNoisy + "gold and script." + help},
		Findings([]Row{fair, cohort, noise, few}))
	few.Rounds = nil
	assert.Empty(t, Findings([]Row{few}), "nobody asked for more than one round")
}

func TestLocksWithTheSameLastNameAreNamedInFull(t *testing.T) {
	a, b := lockRow("diamond/fenced", 0.1, nil), lockRow("reentrant/fenced", 0.1, nil)
	assert.Equal(t, "diamond/fenced and reentrant/fenced", names([]Row{a, b}, a, b))
	assert.Equal(t, "fenced", names([]Row{b}, b))
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for want, x := range map[string]float64{"0.123": 0.1234, "0.0230": 0.02304, "9.99": 9.994, "12.3": 12.34,
		"999": 999.4, "1000": 999.6, "28\u202f000": 27950.848} {
		assert.Equal(t, want, digits3(x))
	}
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
			done = append(done, RowOf(map[string]any{"finished": true,
				"ratio_to_serial": 1 + noise*float64(i%2)}))
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
			return lockRow("gold", ratio, map[string]any{"spread": spread})
		}
		assert.Equal(t, of.verdict,
			verdict(row(of.then, of.thenSpread), row(of.now, of.nowSpread)), "%+v", of)
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
		" (another Go: go1.26) (another pool: 1008 connections) (another lease: 10000 ms)\n  gold ")
	assert.Contains(t, Compare("old.json", before, run(0.06, after)), "-40.0 %  slower\n")
	other := Report{Rows: []Row{lockRow("gold", 0.1, map[string]any{"stock": 7})}}
	assert.Contains(t, Compare("old.json", before, other), "No row was measured in both")
	few := run(0.2, before.Env)
	few.Rows[0].Rounds = few.Rows[0].Rounds[:1]
	assert.Contains(t, Compare("old.json", before, few), "too few rounds to say")
}
