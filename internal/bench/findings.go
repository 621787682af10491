package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/lock"
)

// Findings are what the rows say, each after a word for what it is about, of locks with the most clients.
func Findings(all []Row) []string {
	rows, most := greatest(all)
	found := []string{unreliable(all), fastest(rows, most), safest(rows), wakes(rows), failures(rows), sure(all)}
	return slices.DeleteFunc(found, func(text string) bool { return text == "" })
}

// fastest is the lock with most acquisitions a second, and those that may be as fast.
func fastest(rows []Row, with string) string {
	all := slices.DeleteFunc(locks(rows), Row.Favored)
	if len(all) < 2 || len(each(all, Row.Name)) < len(all) {
		return "" // the same lock, with several pauses
	}
	slices.SortStableFunc(all, func(a, b Row) int { return slower(b, a) })
	first := all[0]
	rounds := func(a, b Row) string {
		times := a.over(b)
		won := len(slices.DeleteFunc(slices.Clone(times), func(x float64) bool { return x <= 1 }))
		return fmt.Sprintf("in %d of %s", won, Plural(len(times), "round"))
	}
	sure := fmt.Sprintf("clearly faster than all other locks (than %s, the next, %s)", all[1].Name(), rounds(first, all[1]))
	names := each(slices.DeleteFunc(slices.Clone(all[1:]), func(r Row) bool { return ahead(all[:1], []Row{r}) }), func(r Row) string {
		return fmt.Sprintf("%s (faster %s)", r.Name(), rounds(r, first))
	})
	if len(names) > 4 {
		sure = fmt.Sprintf("but not clearly faster than %s and %d others", strings.Join(names[:3], ", "), len(names)-3)
	} else if len(names) > 0 {
		sure = "but not clearly faster than " + strings.Join(names, ", ")
	}
	text := fmt.Sprintf("Fastest with %s: %s, %s acquisitions a second, %s.", with, first.Name(), figure(first.speed()), sure)
	if i := slices.IndexFunc(all, func(r Row) bool { return r.median(inTurn) > 0.95 }); i > 0 {
		text += " In order of arrival: " + all[i].withSpeed() + "."
	}
	for _, row := range rows {
		switch {
		case row.Name() == "lua-decrement":
			text += " Without a lock, one script does the work " + figure(row.speed()) + " times a second."
		case row.Favored():
			text += " Left out: " + row.withSpeed() + ", whose clients must be in one process (docs/choosing.md)."
		}
	}
	return text
}

// safest are the locks that hold in most of the situations.
func safest(rows []Row) string {
	rows = slices.DeleteFunc(locks(rows), func(r Row) bool { return r.Rung().Name == "" })
	if len(rows) < 2 {
		return ""
	}
	most := extreme(rows, 1, func(r Row) float64 { return float64(r.holds()) }).holds()
	best := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.holds() < most })
	slices.SortStableFunc(best, func(a, b Row) int { return slower(b, a) })
	text := fmt.Sprintf("Safest: %s, which hold in %d of %d situations (docs/matrix.md)", strings.Join(each(best, Row.withSpeed), " and "), most, len(situations))
	for _, situation := range situations {
		if !slices.ContainsFunc(best, func(r Row) bool { return !r.Breaks(situation) }) {
			hold := each(slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Breaks(situation) }), func(r Row) string {
				return fmt.Sprintf("%s (%d of %d)", r.Name(), r.holds(), len(situations))
			})
			text += "; safe when " + situation[0] + ": " + cmp.Or(strings.Join(hold, ", "), "none of these")
		}
	}
	return text + "."
}

// wakes compares the locks that wake their waiters with those that poll.
func wakes(rows []Row) string {
	woken, polling := kinds(rows)
	if len(woken) == 0 || len(polling) == 0 {
		return ""
	}
	text := fmt.Sprintf("To wake or to poll: locks that wake their waiters had %s acquisitions a second, and locks that poll one server, with pauses of up to %v, %s. ",
		middle(woken, rate, Brief), polling[0].Pause(), middle(polling, rate, Brief))
	if ahead(woken, polling) {
		return text + "Waking is clearly faster than polling with these pauses, which -poll sets."
	}
	return text + "No difference is clear."
}

// apart says, with each of some numbers of clients, what locks have that poll, and those that wake their waiters.
func apart(all []Row, of func(Row) *float64, unit string, s varied, values ...string) string {
	var poll, wake []string
	for _, value := range values {
		woken, polling := kinds(slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return s.of(r) != value }))
		if len(woken) == 0 || len(polling) == 0 {
			return ""
		}
		with := map[bool]string{true: " with " + value}[len(values) > 1]
		poll, wake = append(poll, middle(polling, of, Brief)+with), append(wake, middle(woken, of, Brief)+with)
	}
	return "Locks that poll one server: " + strings.Join(poll, ", ") + unit + ". Locks that wake their waiters: " + strings.Join(wake, ", ") + "."
}

// ahead says that each fast row was faster than each slow one, round by round.
func ahead(fast, slow []Row) bool {
	return !slices.ContainsFunc(fast, func(a Row) bool {
		return slices.ContainsFunc(slow, func(b Row) bool {
			times := a.over(b)
			if len(times) < trusted {
				return len(times) == 0 || slices.Min(times) <= 2
			}
			least, _ := around(times)
			return least <= 1
		})
	})
}

// over is how many times as fast a row was as another in each round that both have, which are measured in turns.
func (r Row) over(other Row) (times []float64) {
	a, b := r.all(rate), other.all(rate)
	for i := range min(len(a), len(b)) {
		times = append(times, a[i]/b[i])
	}
	return times
}

func (r Row) speed() float64    { return r.median(rate) }
func (r Row) withSpeed() string { return r.Name() + " with " + figure(r.speed()) }
func slower(a, b Row) int       { return cmp.Compare(a.speed(), b.speed()) }

// Favored says that a lock is fast because its clients are all in one process.
func (r Row) Favored() bool { return r.Name() == "reentrant/cohort" }

// locks are the rows of locks that did what a lock should.
func locks(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r.Kind() == Baseline || r.Wrong() || !r.Finished() || r.speed() == 0 || len(r.all(rate)) == 0
	})
}

// ends are the least and the most of something in the rounds of a row. Those of an older file may lack it.
func (r Row) ends(of func(Row) *float64) (least, most float64) {
	all := r.all(of)
	if x := of(r); len(all) == 0 && x != nil {
		all = append(all, *x)
	}
	return slices.Min(append(all, math.Inf(1))), slices.Max(append(all, 0))
}

func rate(r Row) *float64   { return r.Number("acquisitions_per_second") }
func inTurn(r Row) *float64 { return r.Number("in_order") }
func sends(r Row) *float64  { return r.Number("commands_per_section") }

// median is that of something in all rounds.
func (r Row) median(of func(Row) *float64) float64 {
	all := slices.Sorted(slices.Values(r.all(of)))
	if len(all) == 0 { // the rounds of an older file may lack it
		return *cmp.Or(of(r), new(0.0))
	}
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// extreme is the row with the most of something, or with the least where the sign is negative.
func extreme(rows []Row, sign float64, of func(Row) float64) Row {
	return slices.MaxFunc(rows, func(a, b Row) int { return cmp.Compare(sign*of(a), sign*of(b)) })
}

// figure is a number as the charts have it, so that a reader finds it there.
func figure(x float64) string { return Decimal(&x, Brief) }

// kinds are the locks whose waiters are woken, and those that poll, but for those that are favored or on several nodes.
func kinds(rows []Row) (woken, polling []Row) {
	all := slices.DeleteFunc(locks(rows), func(r Row) bool { return r.Favored() || r.Count("nodes") > 1 })
	return slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return !r.Woken() }), slices.DeleteFunc(all, Row.Woken)
}

// failures are the rows where turns failed, and why.
func failures(rows []Row) string {
	var all []string
	for _, r := range rows {
		if failed := r.failed(); failed != "" {
			all = append(all, "✗ "+r.Name()+": "+failed+".")
		}
	}
	return strings.Join(all, " ")
}

// sure is the rule by which rows are compared, and what makes them hard to compare.
func sure(all []Row) string {
	rows := locks(all)
	if len(rows) < 2 {
		return ""
	}
	text := "How sure: the locks take turns, round by round. One is clearly faster if it was so in so many rounds that chance would do that less than once in 20 times."
	if slices.ContainsFunc(rows, func(r Row) bool { return len(r.Rounds) < trusted }) {
		text += fmt.Sprintf(" With fewer than %d rounds, it must be twice as fast in each.", trusted)
	}
	widest := extreme(rows, 1, func(r Row) float64 { least, most := r.ends(rate); return most / least })
	least, most := widest.ends(rate)
	return text + fmt.Sprintf(" The widest range of a lock is %s's with %s, %s.", widest.Name(), swept(all).of(widest), between(least, most, Brief))
}

// unreliable says that the computer was so busy that no figure can be relied on.
func unreliable(all []Row) string {
	var limits []float64
	for _, row := range locks(all) {
		limits = append(limits, row.all(Row.serial)...)
	}
	slices.Sort(limits)
	few := len(limits) / 100 // at each end, which don't count
	if len(limits) == 0 || limits[len(limits)-1-few] <= 5*limits[few] {
		return ""
	}
	return "Unreliable: one client alone had " + span(limits[few], limits[len(limits)-1-few]) + " a second in nearly all rounds, because the computer was busy. Measure again on an idle one."
}

// situations are what may happen to a lock: what a reader calls it, and the scenarios that show whether it holds.
var situations = [][]string{
	{"a client crashes", "crash_holding", "crash_after_first_command"}, {"a release comes late", "overrun_release", "slow_get"},
	{"work outlasts the lease", "overrun_overlap"}, {"a paused holder writes late", "paused_holder"},
	{"the server fails over", "failover"}, {"an owner locks twice", "nested"},
}

// Breaks says that a rung breaks in a scenario of the situation.
func (r Row) Breaks(situation []string) bool {
	return slices.ContainsFunc(r.Rung().Flaws, func(flaw lock.Flaw) bool { return slices.Contains(situation[1:], flaw.Scenario) })
}

func (r Row) holds() int { return len(slices.DeleteFunc(slices.Clone(situations), r.Breaks)) }

// middle is the median of a row, or from the least to the most of those of several.
func middle(rows []Row, of func(Row) *float64, digits int) string {
	if slices.ContainsFunc(rows, func(r Row) bool { return of(r) == nil }) {
		return NotMeasured
	}
	median := func(r Row) float64 { return r.median(of) }
	return between(median(extreme(rows, -1, median)), median(extreme(rows, 1, median)), digits)
}
