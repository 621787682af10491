package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockladder/lockladder/lock"
)

// Findings are what the rows say beside Choices, each after a word for what it is about.
func Findings(all []Row) []string {
	rows, _ := greatest(all)
	return slices.DeleteFunc([]string{wakes(all), failures(rows), sure(all)}, func(text string) bool { return text == "" })
}

// Choice is the fastest lock of those that fit a need.
type Choice struct{ Need, Lock, Speed, Note string }

// Choices are of the locks with the most clients. There must be two, each with one pause.
func Choices(all []Row) (best []Choice) {
	rows, _ := greatest(all)
	known := locks(rows)
	slices.SortStableFunc(known, func(a, b Row) int { return slower(b, a) })
	fast := slices.DeleteFunc(slices.Clone(known), Row.Favored)
	if len(fast) < 2 || len(each(fast, Row.Name)) < len(fast) {
		return nil
	}
	choose := func(need string, r Row, note string, args ...any) {
		best = append(best, Choice{need, r.Name(), figure(r.speed()), fmt.Sprintf(note, args...)})
	}
	choose(map[bool]string{true: "clearly "}[ahead(fast[:1], fast[1:])]+"fastest across processes", fast[0], "%s × %s", span(around(fast[0].over(fast[1]))), fast[1].Name())
	if i := slices.IndexFunc(fast, func(r Row) bool { return r.median(inTurn) > 0.95 }); i > 0 {
		choose("in order of arrival", fast[i], "")
	}
	if known = slices.DeleteFunc(known, func(r Row) bool { return r.Rung().Name == "" || r.Name() == "bronze" }); len(known) > 0 {
		safe := func(r Row) int { return len(letters) - strings.Count(r.survives(), "·") }
		safest := slices.MaxFunc(known, func(a, b Row) int { return safe(a) - safe(b) })
		breaks := slices.DeleteFunc(slices.Clone(situations), func(s []string) bool { return !safest.Breaks(s) })
		choose(fmt.Sprintf("safe in %d of %d situations", safe(safest), len(letters)), safest, "%s",
			map[bool]string{true: "not when " + append(breaks, []string{""})[0][0] + "; the storage must check its token"}[len(breaks) == 1])
		for _, situation := range breaks {
			if i := slices.IndexFunc(known, func(r Row) bool { return !r.Breaks(situation) }); i >= 0 {
				choose("safe when "+situation[0], known[i], "safe in %d of %d%s", safe(known[i]), len(letters),
					map[bool]string{true: "; pauses up to " + known[i].Pause().String()}[pausesOtherwise(known[i])])
			}
		}
	}
	for _, row := range rows {
		if row.Name() == "lua-decrement" {
			choose("without a lock", row, "one script does the work")
		} else if row.Favored() {
			choose("in one process", row, "if all clients are in it")
		}
	}
	return best
}

// wakes compares the locks that wake their waiters with those that poll.
func wakes(all []Row) string {
	rows, most := greatest(all)
	woken, polling := kinds(rows)
	s := swept(all)
	text := cmp.Or(apart(all, rate, speed, s, s.values...), apart(all, rate, speed, s, most))
	if text == "" {
		return ""
	}
	fast, slow := extreme(polling, 1, Row.speed), extreme(polling, -1, Row.speed)
	rungs := map[bool]string{true: fmt.Sprintf(" Of those that poll one server, the fastest, %s, has %s × the speed of the slowest, %s.", fast.Name(), span(around(fast.over(slow))), slow.Name())}[len(polling) > 1]
	return fmt.Sprintf("To wake or to poll: with %s waking is %sclearly faster than polling with pauses of up to %v (flag -poll). %s A polling lock is as fast as its pauses let it be: the more clients sleep, the sooner one wakes up after a release.%s",
		Plural(rows[0].Count("table_clients"), "client"), map[bool]string{false: "not "}[ahead(woken, polling)], polling[0].Pause(), text, rungs)
}

// apart says from how much to how much of something locks have that wake their waiters, next to those that poll, with each of some numbers of clients.
func apart(all []Row, of func(Row) *float64, what string, s varied, values ...string) string {
	var times []string
	for _, value := range values {
		woken, polling := kinds(slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return s.of(r) != value || r.median(of) == 0 }))
		if len(woken) == 0 || len(polling) == 0 {
			return ""
		}
		end := func(rows []Row, sign float64) float64 {
			return extreme(rows, sign, func(r Row) float64 { return r.median(of) }).median(of)
		}
		times = append(times, strings.Join(slices.Compact([]string{rough(end(woken, -1) / end(polling, 1)), rough(end(woken, 1) / end(polling, -1))}), " to ")+" × "+what+map[bool]string{true: "with " + value}[len(values) > 1])
		what = "" // once is enough
	}
	return "Woken waiters have " + strings.TrimSpace(strings.Join(times, ", ")) + "."
}

// rough is a number with two digits.
func rough(x float64) string {
	x, _ = strconv.ParseFloat(fmt.Sprintf("%.1e", x), 64)
	return fmt.Sprint(x)
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

// step is how many times as fast as its parent a rung is, among rows, with 95 % confidence.
func (r Row) step(rows []Row) string {
	i := slices.IndexFunc(rows, func(parent Row) bool { return parent.Name() == r.Rung().Parent && len(r.over(parent)) >= trusted })
	if i < 0 {
		return ""
	}
	least, most := around(r.over(rows[i]))
	return map[bool]string{false: span(least, most) + " ×", true: "≈"}[least <= 1 && 1 <= most] + " " + rows[i].Name()
}

func (r Row) speed() float64 { return r.median(rate) }
func slower(a, b Row) int    { return cmp.Compare(a.speed(), b.speed()) }

// Favored says that a lock is fast because its clients are all in one process.
func (r Row) Favored() bool { return r.Name() == "reentrant/cohort" }

// locks are the rows of locks that did what a lock should.
func locks(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r.Kind() == Baseline || r.Wrong() || !r.Finished() || r.speed() == 0 || len(r.all(rate)) == 0
	})
}

// middleHalf is from where to where half of some numbers are, with as many below as above; of three or fewer, all.
func middleHalf(all []float64) (least, most float64) {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/4], all[len(all)-1-len(all)/4]
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
	few := slices.ContainsFunc(rows, func(r Row) bool { return len(r.all(rate)) < trusted })
	text := "How sure: the locks take turns, round by round. One is clearly faster if it won so many rounds that luck alone would do it less than once in 20 times" +
		map[bool]string{true: fmt.Sprintf("; with fewer than %d rounds it must have been twice as fast in each", trusted)}[few] + "."
	rows = slices.DeleteFunc(rows, func(r Row) bool { return math.IsInf(r.spread(), 1) })
	if len(rows) > 0 {
		widest := extreme(rows, 1, Row.spread)
		text += fmt.Sprintf(" The margins of the locks' times serial are %.0f to %.0f\u00a0%%, the widest %s's with %s.",
			extreme(rows, -1, Row.spread).spread(), widest.spread(), widest.Name(), swept(all).of(widest))
	}
	return text
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

const letters = "CRLWFT" // of the situations

// survives are the letters of the situations that a rung holds in, each in its place.
func (r Row) survives() string {
	return strings.Map(func(letter rune) rune {
		if r.Breaks(situations[strings.IndexRune(letters, letter)]) {
			return '·'
		}
		return map[bool]rune{true: '–', false: letter}[r.Name() == "bronze"] // it has no lease
	}, letters)
}
