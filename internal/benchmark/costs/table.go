package costs

import (
	"fmt"
	"math"
	"strings"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// Table is a Markdown table of what was measured with one number of clients.
func Table(rows []benchmark.Row) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| row | commands | round trips | calls | woken |"+
		" makespan, s | ms a section | in order, % |")
	fmt.Fprintln(&b, "|---|--:|--:|--:|--:|--:|--:|--:|")
	for _, row := range rows {
		order := "–"
		if row.InOrder != nil {
			order = fmt.Sprintf("%.1f", 100**row.InOrder)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.4f | %.3f | %s |\n",
			row.Rung, figure(row.CommandsPerSection),
			figure(row.RoundTripsPerSection), figure(row.CallsPerSection),
			figure(woken(row)), row.Seconds, perSection(row), order)
	}
	return b.String()
}

func figure(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *x)
}

// woken is how many clients were woken for every hand-over: how often one that
// was refused asked again.
func woken(row benchmark.Row) *float64 {
	if row.Retries == nil || row.Sections == 0 {
		return nil
	}
	return new(float64(*row.Retries) / float64(row.Sections))
}

// perSection is the makespan of a section in milliseconds.
func perSection(row benchmark.Row) float64 {
	return 1000 * row.Seconds / float64(row.Sections)
}

// Growth is a Markdown table that names how the figures of each row grow with
// the number of clients. The rows of a run are those of one number of clients,
// in the same order, and later runs may have fewer.
func Growth(runs [][]benchmark.Row) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| row | commands | round trips | calls | woken |"+
		" ms a section | makespan | in order, % |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|---|---|")
	for _, first := range runs[0] {
		var rows []benchmark.Row
		for _, run := range runs {
			for _, row := range run {
				if row.Rung == first.Rung {
					rows = append(rows, row)
				}
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", first.Rung,
			grows(rows, func(r benchmark.Row) *float64 {
				return r.CommandsPerSection
			}),
			grows(rows, func(r benchmark.Row) *float64 {
				return r.RoundTripsPerSection
			}),
			grows(rows, func(r benchmark.Row) *float64 {
				return r.CallsPerSection
			}),
			grows(rows, woken),
			grows(rows, func(r benchmark.Row) *float64 {
				return new(perSection(r))
			}),
			grows(rows, func(r benchmark.Row) *float64 { return &r.Seconds }),
			grows(rows, func(r benchmark.Row) *float64 { return r.InOrder }))
	}
	return b.String()
}

// Constant says whether a row's cost of a section does not grow from one run to
// the next.
func Constant(before, after benchmark.Row) bool {
	b, a := before.CallsPerSection, after.CallsPerSection
	return b != nil && a != nil &&
		growth(*b, *a, before.Turns, after.Turns) < 0.1
}

// grows names the growth between the last two runs.
func grows(rows []benchmark.Row, of func(benchmark.Row) *float64) string {
	if len(rows) < 2 {
		return "–"
	}
	before, after := rows[len(rows)-2], rows[len(rows)-1]
	b, a := of(before), of(after)
	if b == nil || a == nil {
		return "–"
	}
	if *a == 0 {
		return "none"
	}
	switch power := growth(*b, *a, before.Turns, after.Turns); {
	case power < -0.1:
		return "falls"
	case power < 0.1:
		return "constant"
	case power > 0.9 && power < 1.1:
		return "linear"
	default:
		return fmt.Sprintf("n^%.1f", power)
	}
}

// growth is the power of the number of clients that a figure grows with.
func growth(before, after float64, clientsBefore, clientsAfter int) float64 {
	if before <= 0 || after <= 0 {
		return 0
	}
	return math.Log(after/before) /
		math.Log(float64(clientsAfter)/float64(clientsBefore))
}
