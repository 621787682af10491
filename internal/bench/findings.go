package bench

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

// Findings are what the rows say: first how noisy they are. Where there are several tables,
// they are about that with the most clients.
func Findings(rows []Row) []string {
	rows, _ = greatest(rows)
	return slices.DeleteFunc([]string{noise(rows), cmp.Or(fastest(rows), furthest(rows)), waking(rows), fastAndWrong(rows)},
		func(text string) bool { return text == "" })
}

// steady is the serial limit that is less than so many times as fast in one round as in another. A
// ratio to it compares what was measured at one speed of the computer, if that changes slowly.
const steady = 4

// swing is how many times as fast the serial limit, which is measured beside each round, was
// in one round as in another; 0 where it wasn't measured.
func swing(rows []Row) float64 {
	var all []float64
	rows, _ = greatest(rows)
	for _, row := range rows {
		all = append(all, row.all(Row.serial)...)
	}
	if len(all) == 0 {
		return 0
	}
	return slices.Max(all) / slices.Min(all)
}

// telling is how many times as much is worth a sentence. Where the computer's speed changed much,
// ratios to the serial limit must differ plainly, and times by more than the speed did.
func telling(rows []Row, times bool) float64 {
	switch swing := swing(rows); {
	case swing < steady:
		return tells
	case times:
		return swing
	}
	return 2
}

const tells = 1.2

// fastest says which of the locks that renew their lease are, or of all where there aren't two.
func fastest(rows []Row) string {
	all, text := locks(rows), "Fastest"
	renew := slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return !r.Rung().Renews })
	if len(renew) > 1 {
		all, text = renew, "Fastest of the locks that renew their lease"
	}
	if len(each(all, Row.Name)) < len(all) {
		return "" // the same lock, with several pauses
	}
	slices.SortFunc(all, func(a, b Row) int { return slower(b, a) })
	for n := 1; n < len(all); n++ {
		if times := apart(all[:n], all[n:], Row.speeds); times >= telling(rows, false) {
			text = fmt.Sprintf("%s: %s, taken at least %s times as often as any other.", text,
				names(rows, all[:n]...), bound(times, down))
			if slices.ContainsFunc(all[:n], Row.favored) {
				text += " All clients are in one process, which is the best case for cohort: it passes the lock on" +
					" there, and gives up the order of arrival between processes (docs/cohort.md)."
			}
			return text
		}
	}
	return ""
}

// speed is how fast a row is: compared with the serial limit if that was measured.
func (r Row) speed() float64 {
	return *cmp.Or(r.Ratio(), r.Number("acquisitions_per_second"), new(0.0))
}

func slower(a, b Row) int { return cmp.Compare(a.speed(), b.speed()) }

// favored says that a lock is fast because its clients are all in one process.
func (r Row) favored() bool { return r.Name() == "reentrant/cohort" }

// locks are the rows of locks that did what a lock should.
func locks(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r.Kind() == Baseline || r.Wrong() || !r.Finished() || r.speed() == 0
	})
}

// unknown is by which part of it a figure may differ in rounds that were not measured.
const unknown = 0.5

// between are the least and the most of something in the rounds of a row, and further
// apart where there are too few of them.
func (r Row) between(of func(Row) float64) (least, most float64) {
	least, most = of(r), of(r)
	for _, round := range r.Rounds {
		if x := of(round); x > 0 { // it was measured
			least, most = min(least, x), max(most, x)
		}
	}
	if len(r.Rounds) < fewest {
		return least * (1 - unknown), most * (1 + unknown)
	}
	return least, most
}

func (r Row) speeds() (least, most float64) { return r.between(Row.speed) }

// known are the ends of the range that is shown, or of speeds where it says too little.
func (r Row) known() (least, most float64) {
	if ratios := r.Ratios(); len(ratios) >= fewest {
		return around(ratios)
	}
	return r.speeds()
}

// waking compares the locks whose waiters are woken with those that poll. It is "" when there
// are not both, or when those that poll are faster.
func waking(rows []Row) string {
	polling := slices.DeleteFunc(locks(rows), Row.Woken)
	woken := slices.DeleteFunc(locks(rows), func(r Row) bool { return !r.Woken() })
	if len(woken) == 0 || len(polling) == 0 {
		return ""
	}
	text := "Locks whose waiters are woken by a message (" + names(rows, woken...) + ") were taken at least %s times as" +
		" often as any that polls and pauses"
	for i, between := range []func(Row) (least, most float64){Row.speeds, Row.known} {
		if times := apart(woken, polling, between); times >= telling(rows, false) {
			return fmt.Sprintf(text+[]string{".", ", by the ends of the ranges; some rounds are closer."}[i], bound(times, down))
		}
	}
	if apart(polling, woken, Row.speeds) >= telling(rows, false) {
		return ""
	}
	slow, fast := slices.MinFunc(woken, slower), slices.MaxFunc(polling, slower)
	return fmt.Sprintf("Woken or polling: neither was clearly faster in all rounds. By the medians, the slowest lock whose"+
		" waiters are woken (%s) was taken %s times as often as the fastest that polls and pauses (%s).",
		names(rows, slow), Decimal(new(slow.speed()/fast.speed()), Brief), names(rows, fast))
}

// apart is how many times as fast as every slow row each fast one is at least.
func apart(fast, slow []Row, between func(Row) (least, most float64)) float64 {
	times := math.Inf(1)
	for _, row := range fast {
		for _, other := range slow {
			least, _ := between(row)
			_, most := between(other)
			times = min(times, least/most)
		}
	}
	return times
}

// fastAndWrong names the rows that lost updates.
func fastAndWrong(rows []Row) string {
	wrong := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.Wrong() })
	if len(wrong) == 0 {
		return ""
	}
	return names(rows, wrong...) + " lost updates, so speed doesn't count there."
}

// noisy is the spread from which on a row can't be compared, in percent.
const noisy = 10

// noise names the rows that say little about a lock, and what may have made them so.
func noise(rows []Row) string {
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(r Row) bool { return len(r.Rounds) > 0 }) {
		return fmt.Sprintf("Each row was measured once, so its noise isn't known: comparisons allow for figures that are"+
			" %.0f %% lower or higher. Six rounds or more give each a range.", 100*unknown)
	}
	noise := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.noisy() })
	quiet := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r.noisy() || r.Name() == serialLimit.Name // with which all are compared
	})
	text, swing := "", swing(rows)
	if len(noise) > 0 {
		which := "all rows"
		if len(noise) <= len(quiet) {
			which = names(rows, noise...)
		} else if len(quiet) > 0 {
			which = "all but " + names(rows, quiet...)
		}
		text = fmt.Sprintf("Too noisy to compare closely (a range of %d %% of the median or more, or fewer than %d"+
			" rounds): %s. ", 2*noisy, fewest, which)
	}
	if swing < steady && text == "" {
		return ""
	} else if swing < tells {
		return text + "The computer was steady, so measure more rounds."
	}
	text += fmt.Sprintf("The serial limit was %s times as fast in one round as in another, so the computer's speed"+
		" changed: leave it idle, or measure more rounds.", bound(swing, down))
	if swing >= steady {
		text += " Until then, ratios are compared where any two rounds differ at least twofold, and times where they differ" +
			" by more than the computer's speed did."
	}
	return text
}

// fewest is how many rounds can be compared with others.
const fewest = 3

func (r Row) noisy() bool {
	return len(r.Rounds) > 0 && (len(r.Rounds) < fewest || r.spread() >= noisy)
}

// names lists some of the rows, by the last part of a name where no other row has it.
func names(all []Row, some ...Row) string {
	words := each(some, func(r Row) string { return r.short(all) })
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return words[0]
}

// short is the last part of a name, or all of it where another row has the same.
func (r Row) short(all []Row) string {
	for _, other := range all {
		if other.Name() != r.Name() && path.Base(other.Name()) == path.Base(r.Name()) {
			return r.Name()
		}
	}
	return path.Base(r.Name())
}

const down, up = -0.4999, 0.4999

// bound rounds a number down, which is at least so much, or up to two digits.
func bound(v, way float64) string {
	digit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.*f", max(0, int(0.5-math.Log10(digit))), math.Round(v/digit+way)*digit)
}

// changes says of which lock a figure grew most from the first of what was varied to the
// last, and of which least. It is "" where the rounds don't tell.
func changes(rows []Row, figure, sentence string) string {
	s := swept(rows)
	last := len(s.values) - 1
	of := func(r Row) float64 { return *cmp.Or(r.Number(figure), new(0.0)) }
	before, after := map[string]Row{}, []Row(nil)
	for _, row := range locks(rows) {
		switch {
		case of(row) == 0 || last == 0:
		case s.of(row) == s.values[0]:
			before[row.Name()] = row
		case s.of(row) == s.values[last] && before[row.Name()].figures != nil:
			after = append(after, row)
		}
	}
	if slices.ContainsFunc(after, func(r Row) bool { return len(r.Rounds) > 0 && of(r.Rounds[0]) == 0 }) {
		// The rounds of an older file lack the figure.
		sentence = strings.NewReplacer(" at least", "", " at most", "").Replace(sentence)
	}
	return contrast(rows, after, figure == "acquisitions_per_second", func(r Row) (least, most float64) {
		least, most = r.between(of)
		fewest, highest := before[r.Name()].between(of)
		return least / highest, most / fewest
	}, fmt.Sprintf(sentence, s.values[last], s.values[0]))
}

// longestWaits and furthest compare the longest waits, and the ratios.
func longestWaits(rows []Row) string {
	return ends(rows, true, longest, "In every round, the longest wait with %s was at least %s ms, and with %s at most %s ms.")
}

func furthest(rows []Row) string {
	return ends(rows, false, Row.Ratio, "In every round, %s was at least %s times as fast as the serial limit, and %s at most %s times.")
}

func ends(rows []Row, times bool, figure func(Row) *float64, sentence string) string {
	of := func(r Row) float64 { return *cmp.Or(figure(r), new(0.0)) }
	measured := slices.DeleteFunc(locks(rows), func(r Row) bool { return of(r) == 0 })
	return contrast(rows, measured, times, func(r Row) (float64, float64) { return r.between(of) }, sentence)
}

// contrast names the rows with the most and the least of something, whichever of their rounds
// count, unless these overlap.
func contrast(all, rows []Row, times bool, between func(Row) (least, most float64), sentence string) string {
	if len(rows) < 2 {
		return ""
	}
	least := func(r Row) float64 { x, _ := between(r); return x }
	most := func(r Row) float64 { _, x := between(r); return x }
	low := slices.MinFunc(rows, func(a, b Row) int { return cmp.Compare(most(a), most(b)) })
	high := slices.MaxFunc(rows, func(a, b Row) int { return cmp.Compare(least(a), least(b)) })
	if least(high)/most(low) < telling(all, times) || high.Name() == low.Name() {
		return ""
	}
	is := float64(strings.Count(sentence, "at least")) // 0: these are no bounds
	return fmt.Sprintf(sentence, names(all, high), bound(least(high), is*down), names(all, low), bound(most(low), is*up))
}

// unclear says why there is nothing to say about some rows, or their times.
func unclear(rows []Row, times bool) string {
	if len(locks(rows)) < 2 {
		return "There are no two locks to compare."
	}
	return fmt.Sprintf("No lock stands out: no two differ by %s times or more in all rounds.", bound(telling(rows, times), up))
}
