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
	first := fastest(rows, byRatio, byRate)
	if strings.Contains(first, "cohort") && slices.ContainsFunc(locks(rows), Row.Favored) {
		first += " Cohort is at its best, with all clients in one process, and gives up the order between processes (docs/cohort.md)."
	}
	return slices.DeleteFunc([]string{noise(rows), first, sentences(waking(rows, byRatio, byRate), polling(rows)), unsound(rows)},
		func(text string) bool { return text == "" })
}

func sentences(all ...string) string { return strings.TrimSpace(strings.Join(all, " ")) }

// measure is a figure that locks are compared by.
type measure struct {
	of   func(Row) *float64
	unit string
}

var byRatio, byRate = measure{Row.Ratio, "times serial"}, measure{rate, "acquisitions a second"}
var byCommands = measure{func(r Row) *float64 { return r.Number("commands_per_section") }, "commands for each acquisition and release"}

// steady is the serial limit that is less than so many times as fast in one round as in another. A
// ratio to it compares what was measured at one speed of the computer, if that changes slowly.
const steady = 4

// swing is how many times as fast the serial limit, which is measured beside each round, was
// in one round as in another; 0 where it wasn't measured.
func swing(rows []Row) float64 {
	rows, _ = greatest(rows)
	var all []float64
	for _, row := range rows {
		all = append(all, row.all(Row.serial)...)
	}
	return slices.Max(append(all, 0)) / slices.Min(append(all, math.Inf(1)))
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
func fastest(rows []Row, by ...measure) string {
	all, text, than := locks(rows), "Fastest", "any other lock"
	renew := slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return !r.Rung().Renews })
	if len(renew) > 1 {
		all, text, than = renew, "Fastest of the locks that renew their lease", "any other of them"
	}
	if len(each(all, Row.Name)) < len(all) {
		return "" // the same lock, with several pauses
	}
	slices.SortFunc(all, func(a, b Row) int { return slower(b, a) })
	for n := 1; n < len(all); n++ {
		if ahead := ahead(rows, all[:n], all[n:], than, by...); ahead != "" {
			return text + ": " + names(rows, all[:n]...) + ", " + ahead
		}
	}
	return ""
}

// speed is how fast a row is: compared with the serial limit if that was measured.
func (r Row) speed() float64 {
	return *cmp.Or(r.Ratio(), r.Number("acquisitions_per_second"), new(0.0))
}

func slower(a, b Row) int { return cmp.Compare(a.speed(), b.speed()) }

// Favored says that a lock is fast because its clients are all in one process.
func (r Row) Favored() bool { return r.Name() == "reentrant/cohort" }

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

func rate(r Row) *float64   { return r.Number("acquisitions_per_second") }
func inTurn(r Row) *float64 { return r.Number("in_order") }

// median is that of something in all rounds, of an even number of them the lower one in the middle.
func (r Row) median(of func(Row) *float64) float64 {
	all := slices.Sorted(slices.Values(r.all(of)))
	if len(all) == 0 { // the rounds of an older file may lack it
		return *cmp.Or(of(r), new(0.0))
	}
	return all[(len(all)-1)/2]
}

// ahead says how many times as fast as the slow rows the fast ones are at least, if that is worth a
// sentence.
func ahead(rows, fast, slow []Row, than string, by ...measure) string {
	for _, m := range by {
		if apart(fast, slow, over(m.of)) >= telling(rows) {
			least, at := namely(rows, fast, -1, m.least)
			most, best := namely(rows, slow, 1, m.most)
			return fmt.Sprintf("at least %s times as fast as %s: %s %s or more in every round%s, against %s at most%s.",
				bound(least/most, down), than, figure(least), m.unit, at, figure(most), best)
		}
	}
	return ""
}

func (m measure) least(r Row) float64  { x, _ := over(m.of)(r); return x }
func (m measure) middle(r Row) float64 { return r.median(m.of) }
func (m measure) most(r Row) float64   { _, x := over(m.of)(r); return x }

// extreme is the row with the most of something, or with the least where the sign is negative.
func extreme(rows []Row, sign float64, of func(Row) float64) Row {
	return slices.MaxFunc(rows, func(a, b Row) int { return cmp.Compare(sign*of(a), sign*of(b)) })
}

// namely is that most or least, and which row has it where there are several.
func namely(all, rows []Row, sign float64, of func(Row) float64) (x float64, name string) {
	row := extreme(rows, sign, of)
	if len(rows) > 1 {
		name = " (" + names(all, row) + ")"
	}
	return of(row), name
}

// figure is a number as the charts have it, so that a reader finds it there.
func figure(x float64) string { return Decimal(&x, Brief) }

// kinds are the locks whose waiters are woken, and those that poll.
func kinds(rows []Row) (woken, polling []Row) {
	all := locks(rows)
	return slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return !r.Woken() }), slices.DeleteFunc(all, Row.Woken)
}

// waking compares the locks whose waiters are woken with those that poll. It is "" when there
// are not both, or the fastest is all that there is to say.
func waking(rows []Row, by ...measure) string {
	woken, polling := kinds(rows)
	if len(woken) == 0 || len(polling) == 0 || len(woken)+len(polling) == 2 && fastest(rows, by...) != "" {
		return ""
	}
	text, than, m := "Locks whose waiters are woken by a message ("+names(rows, woken...)+")", "any that polls and pauses", by[len(by)-1]
	if ahead := ahead(rows, woken, polling, than, by...); ahead != "" {
		return text + " were " + ahead
	}
	if ahead := ahead(rows, polling, woken, "any whose waiters are woken", by...); ahead != "" {
		return "Locks that poll and pause were " + ahead
	}
	slow, slowest := namely(rows, woken, -1, m.middle)
	fast, fastest := namely(rows, polling, 1, m.middle)
	least, at := namely(rows, woken, -1, m.least)
	most, best := namely(rows, polling, 1, m.most)
	return fmt.Sprintf("%s, compared with %s, had %s %s or more by the medians%s, against %s at most%s. In single rounds, it was %s at"+
		" worst%s, against %s at best%s. A clear difference takes a factor of %s in this run.", text, than, figure(slow), m.unit, slowest,
		figure(fast), fastest, figure(least), at, figure(most), best, bound(telling(rows)*extreme(woken, 1, Row.doubt).doubt()*extreme(polling, 1, Row.doubt).doubt(), up))
}

// polling compares the locks that poll where the computer's speed changed much: they mostly sleep,
// so their ratios to the serial limit change with the serial limit, and their rates hardly do.
func polling(rows []Row) string {
	_, all := kinds(rows)
	if len(all) < 2 || swing(rows) < steady {
		return ""
	}
	return "Locks that poll mostly sleep, so compare them by acquisitions a second. " +
		strings.Replace(extremes(rows, all, telling(rows), rate, "%s had at least %s, and %s at most %s."), "these locks", "them", 1)
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
	text, swing := "", swing(rows)
	if len(noise) > 0 {
		which := "all rows"
		if len(noise) <= len(quiet) {
			which = names(rows, noise...)
		} else if len(quiet) > 0 {
			which = "all but " + names(rows, quiet...)
		}
		text = fmt.Sprintf("Too noisy to compare closely (a 95 %% range of %d %% of the median or more, or fewer than %d"+
			" rounds%s): %s. ", 2*noisy, fewest, map[bool]string{true: ", which count as half to twice as fast"}[extreme(noise, 1, Row.doubt).doubt() > 1], which)
	}
	if swing < steady && text == "" {
		return ""
	} else if swing < tells {
		return text + "Measure more rounds."
	}
	text += fmt.Sprintf("The serial limit was %s times as fast beside one round as beside another, so the"+
		" computer's speed changed: leave it idle, or measure more rounds.", bound(swing, down))
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

// extremes names the locks with the most and the least of something, whichever of their rounds count,
// or says that there are none.
func extremes(all, rows []Row, need float64, of func(Row) *float64, sentence string) string {
	rows = slices.DeleteFunc(locks(rows), func(r Row) bool { return of(r) == nil })
	if m := (measure{of, ""}); len(rows) > 1 {
		low := extreme(rows, -1, func(r Row) float64 { return m.most(r) * r.doubt() })
		high := extreme(rows, 1, func(r Row) float64 { return m.least(r) / r.doubt() })
		if m.least(high)/m.most(low) >= need*high.doubt()*low.doubt() {
			rounds := map[bool]string{true: "In every round, ", false: "In the rounds with the median ratio, "}[len(high.all(of)) > 0] // of an older file
			return fmt.Sprintf(rounds+sentence, names(all, high), figure(m.least(high)), names(all, low), figure(m.most(low)))
		}
		few := map[bool]string{true: fmt.Sprintf(" (fewer than %d rounds count as half to twice as much)", fewest)}
		return "No two of these locks differ by a factor of " + bound(need, up) + " or more in all rounds" +
			few[slices.ContainsFunc(rows, func(r Row) bool { return r.doubt() > 1 })] + "."
	}
	return ""
}

// choice is some locks, what one gets with them and what one pays, by the medians of all rounds. It
// compares only what differs in all rounds.
type choice struct {
	Rows                                []Row
	Group, Speed, Unit, Order, Commands string
	Ahead, Best, Times                  string // of what it is ahead in speed, and what is ahead of it, "" for none
	Ordered, Fewest                     bool
}

// choices are those between locks that did what a lock should: of those that poll one server, and do
// the same with their leases, the ones that follow each other are one.
func choices(rows []Row) (all []choice) {
	rows = locks(rows)
	slices.SortStableFunc(rows, rank)
	own := func(r Row) bool { return r.Woken() || r.Count("nodes") > 1 }
	for i, row := range rows {
		same := i > 0 && row.group() == rows[i-1].group()
		if !same || own(row) || own(rows[i-1]) {
			all = append(all, choice{Group: map[bool]string{false: groups[row.group()]}[same]})
		}
		all[len(all)-1].Rows = append(all[len(all)-1].Rows, row)
	}
	_, polling := kinds(rows)
	for i := range all {
		c, need := &all[i], telling(rows)
		m := map[bool]measure{false: byRatio, true: byRate}[c.Rows[0].Ratio() == nil]
		c.Speed, c.Unit, c.Commands = middle(c.Rows, m.of, Brief), m.unit, middle(c.Rows, byCommands.of, Brief)
		c.Order, c.Ordered = middle(c.Rows, inTurn, percent), !slices.ContainsFunc(c.Rows, func(r Row) bool { return r.median(inTurn) < 0.9 })
		others := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return slices.Contains(each(c.Rows, Row.Name), r.Name()) })
		for than, slow := range map[string][]Row{"any other lock": others, "any that polls": polling} {
			if len(slow) > 0 && own(c.Rows[0]) && c.Ahead != "any other lock" && apart(c.Rows, slow, over(m.of)) >= need {
				c.Ahead = than
			}
		}
		c.Fewest = len(others) > 0 && apart(others, c.Rows, over(byCommands.of)) >= tells
		if best := extreme(rows, 1, m.middle); apart([]Row{best}, c.Rows, over(m.of)) >= need {
			c.Best, c.Times = names(rows, best), bound(m.least(best)/m.most(extreme(c.Rows, 1, m.most)), down)
		}
	}
	return all
}

// middle is the median of a row, or from the least to the most of those of several.
func middle(rows []Row, of func(Row) *float64, digits int) string {
	if slices.ContainsFunc(rows, func(r Row) bool { return of(r) == nil }) {
		return NotMeasured
	}
	m := measure{of, ""}
	return between(m.middle(extreme(rows, -1, m.middle)), m.middle(extreme(rows, 1, m.middle)), digits)
}
