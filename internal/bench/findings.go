package bench

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

// Findings are what the rows say, a sentence each: where there are several tables, about
// that with the most clients.
func Findings(rows []Row) []string {
	rows, _ = greatest(rows)
	return slices.DeleteFunc([]string{fastest(rows), fastAndWrong(rows),
		tooNoisy(rows)}, func(text string) bool { return text == "" })
}

// fastest says which locks are: where that doesn't depend on how they wait, which is.
func fastest(rows []Row) string {
	text, all := wokenOrPolling(rows), locks(rows)
	if text != "" || len(all) == 0 {
		return text
	}
	least, most := extremes(all, Row.speed)
	if most.Name() == least.Name() || !most.faster(least) {
		return ""
	}
	return fmt.Sprintf("%s took the lock at least %s times as often as %s, the slowest.",
		names(rows, most), digits3(most.atLeast(least)), names(rows, least))
}

// speed is how fast a row is: compared with the serial limit if that was measured.
func (r Row) speed() float64 {
	return *cmp.Or(r.Ratio(), r.Number("acquisitions_per_second"), new(0.0))
}

// locks are the rows of locks that did what a lock should.
func locks(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r.Kind() == Baseline || r.Wrong() || !r.Finished() || r.speed() == 0
	})
}

// clearly is how many times as fast something is at least where a sentence says so, and
// unknown is the spread of a row that was measured once, in percent.
const (
	clearly = 1.2
	unknown = 50
)

// faster says whether a row is clearly faster than another, whatever their spreads hide.
func (r Row) faster(than Row) bool {
	return r.speed() > clearly*than.speed() && r.atLeast(than) > 1
}

// atLeast is how many times as fast as another a row is, if the spreads hide the most.
func (r Row) atLeast(than Row) float64 {
	hidden := func(r Row) float64 { return *cmp.Or(r.Number("spread"), new(unknown+0.0)) / 100 }
	return r.speed() * (1 - hidden(r)) / (than.speed() * (1 + hidden(than)))
}

// wokenOrPolling compares the locks whose waiters are woken with those that poll. It is
// "" when there are not both, or when neither kind is clearly faster.
func wokenOrPolling(rows []Row) string {
	polling := slices.DeleteFunc(locks(rows), Row.Woken)
	woken := slices.DeleteFunc(locks(rows), func(r Row) bool { return !r.Woken() })
	if len(woken) == 0 || len(polling) == 0 {
		return ""
	}
	_, best := extremes(polling, Row.speed)
	if times := apart(woken, polling); times > 0 {
		return fmt.Sprintf("%s, whose waiters are woken by a message, took the lock at least"+
			" %s times as often as any lock that polls.", names(rows, woken...), digits3(times))
	}
	if times := apart([]Row{best}, woken); times > 0 {
		return fmt.Sprintf("%s, which polls, took the lock at least %s times as often as any"+
			" whose waiters are woken by a message.", names(rows, best), digits3(times))
	}
	return ""
}

// apart is how many times as fast as every slow row each fast one is at least. It is 0
// when one of them isn't clearly faster.
func apart(fast, slow []Row) float64 {
	times := math.Inf(1)
	for _, f := range fast {
		for _, s := range slow {
			if !f.faster(s) {
				return 0
			}
			times = min(times, f.atLeast(s))
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

// tooNoisy names the rows that say little about a lock, however often they were measured.
func tooNoisy(rows []Row) string {
	noise := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.noisy() })
	quiet := slices.DeleteFunc(slices.Clone(rows), Row.noisy)
	which := ""
	switch {
	case len(noise) == 0:
		return ""
	case len(quiet) == 0:
		which = "all rows"
	case len(noise) > len(quiet):
		which = "all but " + names(rows, quiet...)
	default:
		which = names(rows, noise...)
	}
	return fmt.Sprintf("Too noisy to compare closely (± %d %% or more, or fewer than %d rounds):"+
		" %s. A computer that does nothing else helps, and so do more -rounds.", noisy, fewest, which)
}

// fewest is how many rounds can be compared with others.
const fewest = 3

func (r Row) noisy() bool {
	spread := r.Number("spread")
	return len(r.Rounds) > 0 && (spread == nil || len(r.Rounds) < fewest || *spread >= noisy)
}

// extremes are the rows with the least and the greatest of something.
func extremes(rows []Row, of func(Row) float64) (least, most Row) {
	by := func(a, b Row) int { return cmp.Compare(of(a), of(b)) }
	return slices.MinFunc(rows, by), slices.MaxFunc(rows, by)
}

// names lists some of the rows, by the last part of a name where no other row has it.
func names(all []Row, some ...Row) string {
	var words []string
	for _, row := range some {
		words = append(words, row.short(all))
	}
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

// digits3 is a number with three digits, and a space before the last three of more.
func digits3(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.3g", v)
	case v < 999.5:
		return Decimal(&v, Brief)
	}
	text := fmt.Sprintf("%.3g", v)
	fmt.Sscan(text, &v)
	text = fmt.Sprintf("%.0f", v)
	n := len(text) - 3
	if n == 1 {
		return text
	}
	return text[:n] + "\u202f" + text[n:]
}

// changes says of which lock a figure grew most from the first of what was varied to the
// last, and of which least. It is "" where nothing was varied.
func changes(rows []Row, figure, sentence string) string {
	s := swept(rows)
	n := len(s.values)
	if n < 2 {
		return ""
	}
	before := map[string]float64{}
	var after []Row
	for _, row := range locks(rows) {
		switch x := row.Number(figure); {
		case x == nil || *x == 0 || row.noisy():
		case s.of(row) == s.values[0]:
			before[row.Name()] = *x
		case s.of(row) == s.values[n-1] && before[row.Name()] > 0:
			after = append(after, row)
		}
	}
	if len(after) < 2 {
		return ""
	}
	growth := func(r Row) float64 { return *r.Number(figure) / before[r.Name()] }
	least, most := extremes(after, growth)
	return fmt.Sprintf(sentence, s.values[n-1], s.values[0],
		names(rows, most), digits3(growth(most)), names(rows, least), digits3(growth(least)))
}

// longestWaits compares the longest waits with the median ones.
func longestWaits(rows []Row) string {
	rows = slices.DeleteFunc(locks(rows), func(r Row) bool {
		p50 := r.Number("wait_ms.p50")
		return p50 == nil || *p50 == 0
	})
	if len(rows) < 2 {
		return ""
	}
	times := func(r Row) float64 { return *r.Number("wait_ms.max") / *r.Number("wait_ms.p50") }
	least, most := extremes(rows, times)
	return fmt.Sprintf("With %s the longest wait was %s times the median one, and with %s"+
		" %s times.", names(rows, most), digits3(times(most)), names(rows, least),
		digits3(times(least)))
}
