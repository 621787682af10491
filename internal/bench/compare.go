package bench

import (
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
	fmt.Fprintf(&b, ", by times serial and its range with 95 %% confidence:%s\n", otherwise(before.Env, after.Env))
	lines, without := "", "No row was measured in both with the same settings.\n"
	for _, now := range after.Rows {
		for _, then := range before.Rows {
			switch {
			case !alike(then, now):
			case then.Ratio() == nil || now.Ratio() == nil:
				without = fmt.Sprintf("%s has no ratios: each row was measured once, and serial-limit wasn't"+
					" a row. Use -rounds %d or more.\n", map[bool]string{true: file, false: "This run"}[then.Ratio() == nil], fewest)
			default:
				lines += difference(then, now)
			}
		}
	}
	if lines == "" {
		return b.String() + without
	}
	fmt.Fprintf(&b, "  %-17s %7s %5s %11s  %5s %11s change\n", "rung", "clients", "old", "range", "new", "range")
	if b.WriteString(lines); strings.Contains(lines, tooFew) {
		fmt.Fprintf(&b, "%s: with fewer than %d rounds in one of the runs, chance can't be told.\n", tooFew, fewest)
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
	return b.Name() != serialLimit.Name
}

// difference is a line about one row.
func difference(then, now Row) string {
	percent := 100 * (*now.Ratio()/(*then.Ratio()) - 1)
	return fmt.Sprintf("  %-19s %5d %5s %11s  %5s %11s %+4.0f %%  %s\n", now.Name(), now.Count("table_clients"),
		Decimal(then.Ratio(), Brief), span(around(then.Ratios())), Decimal(now.Ratio(), Brief), span(around(now.Ratios())), percent, verdict(then, now))
}

const tooFew, fewest = "too few", 3 // rounds, to be compared with those of another run

// drift is by which part the same program differs between two runs, whatever its rounds
// say: memory lies elsewhere, and the machine has other neighbors. Of 20 pairs of runs of
// one program on a busy machine, 8 had a row that was called different with 0.05, 2 with 0.2
// and none with 0.25 (three rows, 50 clients, embedded servers).
const drift = 0.25

// verdict says whether a difference is one. It is noise while the intervals of the medians
// touch, or could with what two runs differ by anyway.
func verdict(then, now Row) string {
	if min(len(then.Ratios()), len(now.Ratios())) < fewest {
		return tooFew
	}
	least, most := around(then.Ratios())
	lo, hi := around(now.Ratios())
	switch {
	case lo > most*(1+drift):
		return "faster"
	case hi < least*(1-drift):
		return "slower"
	}
	return "noise"
}
