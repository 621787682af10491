package bench

import (
	"cmp"
	"fmt"
	"strings"
)

// Compare is a table of the rows that an earlier run and this one have in common, with
// what has changed and what is noise.
func Compare(file string, before, after Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Compared with %s", file)
	if commit := before.Env.Commit; commit != nil {
		fmt.Fprintf(&b, " of commit %s", *commit)
	}
	fmt.Fprintf(&b, ", by the ratios to the serial limit:%s\n", otherwise(before.Env, after.Env))
	lines := 0
	for _, now := range after.Rows {
		for _, then := range before.Rows {
			if alike(then, now) {
				b.WriteString(difference(then, now))
				lines++
			}
		}
	}
	if lines == 0 {
		b.WriteString("No row was measured in both with the same settings.\n")
	}
	return b.String()
}

// otherwise says which part of the environment is another one, as its figures are then
// another machine's.
func otherwise(a, b Env) string {
	text := ""
	for _, of := range []struct{ name, then, now string }{
		{"processor", shown(a.CPU), shown(b.CPU)},
		{"number of CPUs", fmt.Sprint(a.CPUs), fmt.Sprint(b.CPUs)},
		{"server", a.Server + " " + shown(a.ServerVersion), b.Server + " " + shown(b.ServerVersion)},
		{"Go", a.Go, b.Go},
		{"pinning", shown(a.Pinned), shown(b.Pinned)},
		{"pool", Plural(a.Pool, "connection"), Plural(b.Pool, "connection")},
		{"lease", fmt.Sprint(a.TTLms, " ms"), fmt.Sprint(b.TTLms, " ms")},
		{"round-trip time", fmt.Sprint(a.RTTms, " ms"), fmt.Sprint(b.RTTms, " ms")},
	} {
		if of.then != of.now {
			text += fmt.Sprintf(" (another %s: %s)", of.name, strings.TrimSpace(of.then))
		}
	}
	return text
}

func shown[T any](value *T) string {
	if value == nil {
		return "none"
	}
	return fmt.Sprint(*value)
}

// alike says whether two rows measure the same.
func alike(a, b Row) bool {
	for _, figure := range []string{"rung", "table_clients", "stock", "loop_seconds", "poll_ms",
		"fixed_poll", "turns"} {
		if a.Value(figure) != b.Value(figure) {
			return false
		}
	}
	return a.Ratio() != nil && b.Ratio() != nil && b.Name() != serialLimit.Name
}

// difference is a line about one row.
func difference(then, now Row) string {
	percent := 100 * (*now.Ratio()/(*then.Ratio()) - 1)
	return fmt.Sprintf("  %-*s %5d clients  %6.3f ± %2.0f %%  %6.3f ± %2.0f %%  %+6.1f %%  %s\n",
		nameWidth, now.Name(), now.Count("table_clients"), *then.Ratio(), then.spread(),
		*now.Ratio(), now.spread(), percent, verdict(then, now))
}

// spread is 0 where there is none.
func (r Row) spread() float64 { return *cmp.Or(r.Number("spread"), new(0.0)) }

// interval has the ends of the range in which the median of many more rounds would be.
func (r Row) interval() (lo, hi float64) {
	half := *r.Ratio() * r.spread() / 100
	return *r.Ratio() - half, *r.Ratio() + half
}

// drift is by which part the same program differs between two runs, whatever its rounds
// say: memory lies elsewhere, and the machine has other neighbors. Of 20 pairs of runs of
// one program on a busy machine, 8 had a row that was called different with 0.05, 2 with 0.2
// and none with 0.25 (three rows, 50 clients, embedded servers).
const drift = 0.25

// verdict says whether a difference is one. It is noise while the intervals of the medians
// touch, or could with what two runs differ by anyway.
func verdict(then, now Row) string {
	least, most := then.interval()
	lo, hi := now.interval()
	switch {
	case min(len(then.Rounds), len(now.Rounds)) < fewest:
		return "too few rounds to say"
	case lo > most*(1+drift):
		return "faster"
	case hi < least*(1-drift):
		return "slower"
	}
	return "noise"
}
