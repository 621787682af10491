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
// they are about that with the most clients, and what chance decides about all.
func Findings(all []Row) []string {
	rows, _ := greatest(all)
	return slices.DeleteFunc([]string{noise(rows), fastest(rows), waking(rows), processor(rows), chance(all),
		unsound(rows)}, func(text string) bool { return text == "" })
}

// measure is a figure that locks are compared by.
type measure struct {
	of   func(Row) *float64
	unit string
}

var byRatio, byRate = measure{Row.Ratio, "times serial"}, measure{rate, "acquisitions a second"}
var byCommands = measure{func(r Row) *float64 { return r.Number("commands_per_section") }, "commands for each acquisition and release"}
var byCalls = measure{func(r Row) *float64 {
	if calls := r.Number("calls_per_section"); calls != nil || r.isRound {
		return calls
	}
	return byCommands.of(r) // embedded servers don't count calls
}, "calls"}

// steady is the serial limit that is less than so many times as fast in one round as in another. A
// ratio to it compares what was measured at one speed of the computer, if that changes slowly.
const steady = 4

// swing is how many times as fast the serial limit, which is measured beside each round, was
// in one round as in another; 0 where it wasn't measured.
func swing(rows []Row) float64 { least, most := serials(rows); return most / least }

func serials(rows []Row) (least, most float64) {
	rows, _ = greatest(rows)
	for least = math.Inf(1); len(rows) > 0; rows = rows[1:] {
		from, to := over(Row.serial)(rows[0])
		least, most = min(least, from), max(most, to)
	}
	return least, most
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
	all, text, than := locks(rows), "Fastest", "any other lock"
	renew := slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return !r.Rung().Renews })
	if len(renew) > 1 {
		all, text, than = renew, "Fastest of the locks that renew their lease", "any other"
	}
	if len(each(all, Row.Name)) < len(all) {
		return "" // the same lock, with several pauses
	}
	slices.SortFunc(all, func(a, b Row) int { return slower(b, a) })
	for n := 1; n < len(all); n++ {
		if ahead := ahead(rows, all[:n], all[n:], than, byRatio, byRate); ahead != "" {
			text += ": " + names(rows, all[:n]...) + ", " + ahead
			if slices.ContainsFunc(all[:n], Row.Favored) {
				text = strings.Replace(text, "cohort", "cohort (at its best, with all clients in one process; no order between processes)", 1) +
					" Cohort in several processes wasn't measured: with one client in each, it is no faster than notify (docs/choosing.md)."
				woken := slices.DeleteFunc(slices.Clone(all[n:]), func(r Row) bool { return !r.Woken() })
				if next := slices.IndexFunc(woken, ordered); next >= 0 {
					text += " For clients in many processes: " + names(rows, woken...) + "; in the order of asking: " + names(rows, woken[next]) + "."
				}
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
			least, at := namely(rows, fast, -1, m.middle)
			most, best := namely(rows, slow, 1, m.middle)
			return fmt.Sprintf("%s times as fast as %s by the medians, with no overlap of rounds: %s %s%s, against %s%s.",
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
func waking(rows []Row) string {
	woken, polling := kinds(rows)
	if len(woken) == 0 || len(polling) == 0 || len(woken)+len(polling) == 2 && fastest(rows) != "" {
		return ""
	}
	text, than, m := "Locks whose waiters are woken ("+names(rows, woken...)+")", "any that polls and pauses", byRate // they sleep however fast the serial limit is
	if ahead := ahead(rows, woken, polling, than, m); ahead != "" {
		return text + " were " + ahead
	}
	if ahead := ahead(rows, polling, woken, "any whose waiters are woken", m); ahead != "" {
		return "Locks that poll and pause were " + ahead
	}
	slow, slowest := namely(rows, woken, -1, m.middle)
	fast, fastest := namely(rows, polling, 1, m.middle)
	least, at := namely(rows, woken, -1, m.least)
	most, best := namely(rows, polling, 1, m.most)
	return fmt.Sprintf("%s had %s %s or more by the medians%s, and those that poll and pause %s at most%s. That isn't clear: in single"+
		" rounds, it was %s at worst%s, against %s at best%s, and a clear difference takes a factor of %s.", text, figure(slow), m.unit, slowest,
		figure(fast), fastest, figure(least), at, figure(most), best, bound(telling(rows)*extreme(woken, 1, Row.doubt).doubt()*extreme(polling, 1, Row.doubt).doubt(), up))
}

// processor compares what an acquisition costs with the locks that wake their waiters and with those that poll.
func processor(rows []Row) string {
	woken, polling := kinds(slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Work() == nil }))
	if len(woken) == 0 || len(polling) == 0 {
		return ""
	}
	typical := func(rows []Row) string {
		slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(*a.Work(), *b.Work()) })
		row := rows[len(rows)/2]
		return middle([]Row{row}, Row.Work, Brief) + " µs with " + names(rows, row)
	}
	return "The processor time of an acquisition was " + typical(woken) + ", the median of the locks that wake their waiters, and " +
		typical(polling) + ", the median of those that poll."
}

// ordered says that all clients got the lock in the order in which they asked.
func ordered(r Row) bool { return r.median(inTurn) >= 0.995 }

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

// noise names the locks that can be compared closely, or that can't, and what may have made them so.
func noise(rows []Row) string {
	sound := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Wrong() || r.Name() == serialLimit.Name })
	noise := slices.DeleteFunc(slices.Clone(sound), func(r Row) bool { return !r.noisy() })
	quiet := slices.DeleteFunc(sound, Row.noisy)
	text, swing := "", swing(rows)
	if len(noise) > 0 {
		which, whose := "all rows only roughly", "their"
		if len(quiet) > 1 {
			which, whose = "closely only "+names(rows, quiet...), "the others'"
		} else if len(quiet) == 1 {
			whose = "but for " + names(rows, quiet...) + ", their"
		}
		text = fmt.Sprintf("Compare %s: %s range (95 %% confidence; under %d rounds, lowest to highest) is %d %% of the median or more%s,"+
			" so they differ only where ranges don't overlap. ", which, whose, trusted, 2*noisy,
			map[bool]string{true: fmt.Sprintf(", or they have fewer than %d rounds, which count as half to twice as fast", fewest)}[extreme(noise, 1, Row.doubt).doubt() > 1])
	}
	if swing < steady && text == "" {
		return ""
	} else if swing < tells {
		return text + "Measure more rounds."
	}
	text += "The serial limit beside the rounds was " + span(serials(rows)) + " acquisitions a second: leave the computer idle, or measure more rounds."
	if swing >= steady {
		text += " Until then, only what differs at least twofold in any two rounds counts as a difference."
	}
	return text
}

// chance names the locks whose rounds differ most where there are fewest clients, which hardly collide.
func chance(rows []Row) string {
	s := swept(rows)
	some := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		least, most := over(Row.Ratio)(r)
		return s.of(r) != s.values[0] || r.Woken() || r.Number("retries") == nil || r.Count("retries") > r.Count("clients") || most <= 5*least
	})
	if len(some) == 0 {
		return ""
	}
	return fmt.Sprintf("With %s, chance decides about %s: their rounds differ more than fivefold, because clients pause"+
		" only if refused, and in some rounds hardly any is.", s.values[0], names(rows, some...))
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
		return "No two of these locks differ by a factor of " + bound(need, up) + " or more in all rounds."
	}
	return ""
}

// choice is some locks, what one gets with them and what one pays, by the medians of all rounds. It
// compares only what differs in all rounds.
type choice struct {
	Rows                                  []Row
	Group, Speed, Unit, Order, Cost, Work string
	Best, Times                           string // what is ahead of it in speed, "" for none
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
	for i := range all {
		c, need := &all[i], telling(rows)
		m := map[bool]measure{false: byRatio, true: byRate}[c.Rows[0].Ratio() == nil]
		c.Speed, c.Unit, c.Cost = middle(c.Rows, m.of, Brief), m.unit, middle(c.Rows, byCalls.of, Brief)
		c.Order, c.Work = middle(c.Rows, inTurn, percent), middle(c.Rows, Row.Work, Brief)
		if best := extreme(rows, 1, m.middle); apart([]Row{best}, c.Rows, over(m.of)) >= need {
			c.Best, c.Times = names(rows, best), bound(m.middle(best)/m.middle(extreme(c.Rows, 1, m.middle)), down)
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
