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
	return slices.DeleteFunc([]string{noise(rows), fastest(rows), waking(rows) + polling(rows), unsound(rows)},
		func(text string) bool { return text == "" })
}

// steady is the serial limit that is less than so many times as fast in one round as in another. A
// ratio to it compares what was measured at one speed of the computer, if that changes slowly.
const steady = 4

// swing is how many times as fast the serial limit, which is measured beside each round, was
// in one round as in another; 0 where it wasn't measured.
func swing(rows []Row) float64 {
	rows, _ = greatest(rows)
	all := pooled(rows, Row.serial)
	return slices.Max(append(all, 0)) / slices.Min(append(all, math.Inf(1)))
}

// pooled are something of all rounds of the rows.
func pooled(rows []Row, of func(Row) *float64) (all []float64) {
	for _, row := range rows {
		all = append(all, row.all(of)...)
	}
	return all
}

// telling is how many times as much is worth a sentence: more where the computer's speed changed much.
func telling(rows []Row) float64 {
	if swing(rows) < steady {
		return tells
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
		if ahead := ahead(rows, all[:n], all[n:], "any other"); ahead != "" {
			text += ": " + names(rows, all[:n]...) + ", " + ahead
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
		return r.Kind() == Baseline || r.Wrong() || !r.Finished() || r.speed() == 0 || len(r.all(rate)) == 0
	})
}

// doubt is how many times as high or low a figure may be in rounds that were not measured.
func (r Row) doubt() float64 {
	if len(r.Rounds) < fewest {
		return 2
	}
	return 1
}

// over is the least and the most of something in the rounds of a row. Those of an older file may lack it.
func over(of func(Row) *float64) func(Row) (least, most float64) {
	return func(r Row) (least, most float64) {
		all := r.all(of)
		if x := of(r); len(all) == 0 && x != nil {
			all = append(all, *x)
		}
		return slices.Min(append(all, math.Inf(1))), slices.Max(append(all, 0))
	}
}

func rate(r Row) *float64 { return r.Number("acquisitions_per_second") }

// median is that of the acquisitions a second, perhaps not of the round with the median ratio.
func (r Row) median() float64 {
	all := slices.Sorted(slices.Values(r.all(rate)))
	return all[(len(all)-1)/2]
}

// known are the ends of the range.
func (r Row) known() (least, most float64) {
	return around(r.all(func(r Row) *float64 { return new(r.speed()) }))
}

// ahead says how many times as fast as the slow rows the fast ones are at least, if that is worth a
// sentence: in any two rounds, or else by the ranges.
func ahead(rows, fast, slow []Row, than string) string {
	for _, by := range []struct {
		between func(Row) (least, most float64)
		text    string
	}{
		{over(Row.Ratio), "times serial"},
		{over(rate), "acquisitions a second"},
		{Row.known, "times serial, by the ends of the ranges; some rounds are closer"},
	} {
		if times := apart(fast, slow, by.between); times >= telling(rows) {
			return fmt.Sprintf("at least %s times as fast as %s (%s).", bound(times, down), than, by.text)
		}
	}
	return ""
}

// waking compares the locks whose waiters are woken with those that poll. It is "" when there
// are not both.
func waking(rows []Row) string {
	polling := slices.DeleteFunc(locks(rows), Row.Woken)
	woken := slices.DeleteFunc(locks(rows), func(r Row) bool { return !r.Woken() })
	if len(woken) == 0 || len(polling) == 0 {
		return ""
	}
	text := "Locks whose waiters are woken by a message (" + names(rows, woken...) + ") were "
	if ahead := ahead(rows, woken, polling, "any that polls and pauses"); ahead != "" {
		return text + ahead
	}
	if ahead := ahead(rows, polling, woken, "any whose waiters are woken"); ahead != "" {
		return "Locks that poll and pause were " + ahead
	}
	all, best := pooled(woken, rate), slices.Max(pooled(polling, rate))
	faster := slices.DeleteFunc(slices.Clone(all), func(x float64) bool { return x <= best })
	byMedian := func(a, b Row) int { return cmp.Compare(a.median(), b.median()) }
	slow, fast := slices.MinFunc(woken, byMedian), slices.MaxFunc(polling, byMedian)
	return fmt.Sprintf("%d of %d rounds of locks whose waiters are woken by a message (%s) were faster than any of a lock that polls and"+
		" pauses: at worst %s acquisitions a second, against %s at best. A clear difference takes a factor of %s in this run. By the medians, it was"+
		" %s with the slowest that is woken (%s), and %s with the fastest that polls (%s).", len(faster), len(all), names(rows, woken...),
		Decimal(new(slices.Min(all)), Brief), Decimal(&best, Brief), bound(telling(rows), up),
		Decimal(new(slow.median()), Brief), names(rows, slow), Decimal(new(fast.median()), Brief), names(rows, fast))
}

// polling compares the locks that poll where the computer's speed changed much: they mostly sleep,
// so their ratios to the serial limit change with the serial limit, and their rates hardly do.
func polling(rows []Row) string {
	all := slices.DeleteFunc(locks(rows), Row.Woken)
	if len(all) < 2 || swing(rows) < steady {
		return ""
	}
	return " Locks that poll mostly sleep, so compare them by acquisitions a second: " + cmp.Or(
		contrast(rows, all, telling(rows), over(rate), "in every round, %s had at least %s, and %s at most %s."),
		"no two differ twofold in all rounds.")
}

// apart is how many times as fast as every slow row each fast one is at least.
func apart(fast, slow []Row, between func(Row) (least, most float64)) float64 {
	times := math.Inf(1)
	for _, row := range fast {
		for _, other := range slow {
			least, _ := between(row)
			_, most := between(other)
			times = min(times, least/most/row.doubt()/other.doubt())
		}
	}
	return times
}

// unsound names the rows that lost updates, and those where turns failed.
func unsound(rows []Row) string {
	var all []string
	if wrong := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.Wrong() }); len(wrong) > 0 {
		all = append(all, names(rows, wrong...)+" lost updates, so speed doesn't count there.")
	}
	for _, r := range rows {
		if failed := r.failed(); failed != "" {
			all = append(all, "✗ "+r.short(rows)+": "+failed+".")
		}
	}
	return strings.Join(all, " ")
}

// noisy is the spread from which on a row can't be compared, in percent.
const noisy = 10

// noise names the rows that say little about a lock, and what may have made them so.
func noise(rows []Row) string {
	noise := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.noisy() })
	quiet := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r.noisy() || r.Name() == serialLimit.Name // with which all are compared
	})
	few := slices.ContainsFunc(noise, func(r Row) bool { return r.doubt() > 1 })
	text, swing := "", swing(rows)
	if len(noise) > 0 {
		which := "all rows"
		if len(noise) <= len(quiet) {
			which = names(rows, noise...)
		} else if len(quiet) > 0 {
			which = "all but " + names(rows, quiet...)
		}
		text = fmt.Sprintf("Too noisy to compare closely (a range of %d %% of the median or more, or fewer than %d"+
			" rounds%s): %s. ", 2*noisy, fewest, map[bool]string{true: ", which count as half to twice as fast"}[few], which)
	}
	if swing < steady && text == "" {
		return ""
	} else if swing < tells {
		return text + "Measure more rounds."
	}
	text += fmt.Sprintf("The serial limit was %s times as fast in one round as in another, so the computer's speed"+
		" changed: leave it idle, or measure more rounds.", bound(swing, down))
	if swing >= steady {
		text += " Until then, only what differs at least twofold in any two rounds counts as a difference."
	}
	return text
}

// fewest is how many rounds can be compared with others.
const fewest = 3

func (r Row) noisy() bool { return len(r.Rounds) < fewest || r.spread() >= noisy }

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
	number := func(r Row) *float64 { return r.Number(figure) }
	of := func(r Row) float64 { return value[float64](r, figure) }
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
	need := map[bool]float64{true: tells, false: telling(rows)}[figure == "commands_per_section"] // the computer's speed hardly matters
	found := contrast(rows, after, need, func(r Row) (least, most float64) {
		least, most = over(number)(r)
		fewest, highest := over(number)(before[r.Name()])
		return least / highest, most / fewest
	}, fmt.Sprintf(sentence, s.values[last], s.values[0]))
	if found != "" || len(after) < 2 {
		return found
	}
	show := func(r Row) string {
		return fmt.Sprintf("%s (%s to %s)", names(rows, r), Decimal(new(of(before[r.Name()])), Brief), Decimal(new(of(r)), Brief))
	}
	by := func(a, b Row) int { return cmp.Compare(of(a)/of(before[a.Name()]), of(b)/of(before[b.Name()])) }
	return fmt.Sprintf("From %s to %s, by the figures shown: the most growth with %s, the least with %s. Some rounds differ.",
		s.values[0], s.values[last], show(slices.MaxFunc(after, by)), show(slices.MinFunc(after, by)))
}

// longestWaits compares the longest waits.
func longestWaits(rows []Row) string {
	return contrast(rows, slices.DeleteFunc(locks(rows), func(r Row) bool { return longest(r) == nil }), telling(rows), over(longest),
		"In every round, the longest wait with %s was at least %s ms, and with %s at most %s ms.")
}

// contrast names the rows with the most and the least of something, whichever of their rounds
// count, unless these overlap.
func contrast(all, rows []Row, need float64, between func(Row) (least, most float64), sentence string) string {
	if len(rows) < 2 {
		return ""
	}
	least := func(r Row) float64 { x, _ := between(r); return x }
	most := func(r Row) float64 { _, x := between(r); return x }
	low := slices.MinFunc(rows, func(a, b Row) int { return cmp.Compare(most(a), most(b)) })
	high := slices.MaxFunc(rows, func(a, b Row) int { return cmp.Compare(least(a), least(b)) })
	if least(high)/most(low) < need*high.doubt()*low.doubt() || high.Name() == low.Name() {
		return ""
	}
	is := float64(strings.Count(sentence, "at least")) // 0: these are no bounds
	return fmt.Sprintf(sentence, names(all, high), bound(least(high), is*down), names(all, low), bound(most(low), is*up))
}
