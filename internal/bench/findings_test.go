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
		done = append(done, with(map[string]any{"rung": name, "ratio_to_serial": ratio}))
	}
	for i := range done {
		done[i].Rounds = nil
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
	assert.Equal(t, []string{"notify and fair, whose waiters are woken by a message, took the" +
		" lock 4.17 to 5.00 times as often as gold, the fastest that polls."},
		Findings([]Row{bronze, gold, notify, fair}))
	assert.Equal(t, []string{"gold, which polls, took the lock 1.50 times as often as notify," +
		" whose waiters are woken by a message."},
		Findings([]Row{lockRow("gold", 0.9, nil), notify}))
	assert.Empty(t, Findings([]Row{lockRow("gold", 0.55, nil), notify}), "about as fast")
	once := map[string]any{"spread": nil}
	assert.Empty(t, Findings([]Row{oneRound(lockRow("gold", 0.9, once)), notify}),
		"one round may have been a chance")
	assert.NotEmpty(t, Findings([]Row{oneRound(lockRow("gold", 0.1, once)), notify}))
	assert.Empty(t, Findings([]Row{gold, bronze}), "only one kind")
	slow := lockRow("reentrant/notify", 0.6, map[string]any{"finished": false})
	assert.Empty(t, Findings([]Row{slow, gold}), "it was cut off")
}

func TestTheFindingsNameWhatIsWrongOrTooNoisyToCompare(t *testing.T) {
	wrong := lockRow("no-lock", 1.9, map[string]any{"lost_updates": 3})
	noise := lockRow("gold", 0.1, map[string]any{"spread": 12.0})
	few := lockRow("gold/script", 0.1, map[string]any{"spread": nil})
	assert.Equal(t, []string{"no-lock lost updates, so speed doesn't count there.",
		"Too noisy to compare (± 10 % or more, or fewer than 3 rounds): gold and script."},
		Findings([]Row{wrong, noise, few}))
	few.Rounds = nil
	assert.Empty(t, Findings([]Row{few}), "nobody asked for more than one round")
}

func TestLocksWithTheSameLastNameAreNamedInFull(t *testing.T) {
	a, b := lockRow("diamond/fenced", 0.1, nil), lockRow("reentrant/fenced", 0.1, nil)
	assert.Equal(t, "diamond/fenced and reentrant/fenced", names([]Row{a, b}, a, b))
	assert.Equal(t, "fenced", names([]Row{b}, b))
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for want, x := range map[string]float64{"0.123": 0.1234, "0.023": 0.02304, "9.99": 9.994, "12.3": 12.34,
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

func TestADifferenceIsNoiseUntilItIsLargerThanBothSpreads(t *testing.T) {
	run := func(ratio, spread float64, env Env) Report {
		return Report{Env: env, Rows: []Row{lockRow("gold", ratio,
			map[string]any{"spread": spread})}}
	}
	before := run(0.100, 4, Env{Go: "go1.26", Commit: new("abc")})
	for verdict, after := range map[string]Report{
		"+12.0 %  noise\n":  run(0.112, 4, before.Env),
		"+14.0 %  faster\n": run(0.114, 4, before.Env),
		"-20.0 %  slower\n": run(0.080, 4, before.Env),
		"-20.0 %  noise\n":  run(0.080, 12, before.Env),
	} {
		assert.Contains(t, Compare("old.json", before, after), verdict)
	}
	text := Compare("old.json", before, run(0.1, 4, Env{Go: "go1.27"}))
	assert.Contains(t, text, "Compared with old.json of commit abc, by the ratios to the serial"+
		" limit: (another Go: go1.26)\n  gold ")
	other := Report{Rows: []Row{lockRow("gold", 0.1, map[string]any{"stock": 7})}}
	assert.Contains(t, Compare("old.json", before, other), "No row was measured in both")
	few := before
	few.Rows = []Row{lockRow("gold", 0.2, nil)}
	few.Rows[0].Rounds = few.Rows[0].Rounds[:1]
	assert.Contains(t, Compare("old.json", before, few), "too few rounds to say")
}
