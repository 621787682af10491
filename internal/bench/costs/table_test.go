package costs_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// costTable is a Markdown table of what was measured with one number of clients.
func costTable(rows []bench.Row) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| row | commands | round trips | calls | woken |"+
		" makespan, s | ms a section | in order, % |")
	fmt.Fprintln(&b, "|---|--:|--:|--:|--:|--:|--:|--:|")
	for _, row := range rows {
		digits, ofSeconds := 3, 4
		if row.Count("turns") > 1000 {
			// Of so many clients, some act at the same instant, and the Go
			// scheduler decides which goes first: in fair the last but one digit
			// of these figures differs from one run to the next.
			digits, ofSeconds = 1, 2
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.*f | %s | %s |\n", row.Name(),
			row.Show("commands_per_section", digits),
			row.Show("round_trips_per_section", digits),
			row.Show("calls_per_section", digits),
			bench.Decimal(woken(row), digits), ofSeconds, *row.Number("seconds"),
			bench.Decimal(perSection(row), 3),
			bench.Decimal(bench.Percent(row.Number("in_order")), 1))
	}
	return b.String()
}

// woken is how many clients were woken for every hand-over: how often one that
// was refused asked again.
func woken(row bench.Row) *float64 {
	if row.Number("retries") == nil || row.Count("sections") == 0 {
		return nil
	}
	return new(float64(*row.Number("retries")) / float64(row.Count("sections")))
}

// perSection is the makespan of a section in milliseconds.
func perSection(row bench.Row) *float64 {
	return new(1000 * *row.Number("seconds") / float64(row.Count("sections")))
}

// growthTable is a Markdown table that names how the figures of each row grow with
// the number of clients. The rows of a run are those of one number of clients,
// in the same order, and later runs may have fewer.
func growthTable(runs [][]bench.Row) string {
	head := []string{"row", "commands", "round trips", "calls", "woken",
		"ms a section", "makespan", "in order, %"}
	figures := []func(bench.Row) *float64{
		func(r bench.Row) *float64 { return r.Number("commands_per_section") },
		func(r bench.Row) *float64 { return r.Number("round_trips_per_section") },
		func(r bench.Row) *float64 { return r.Number("calls_per_section") },
		woken,
		perSection,
		func(r bench.Row) *float64 { return r.Number("seconds") },
		func(r bench.Row) *float64 { return bench.Percent(r.Number("in_order")) },
	}
	var lines [][]string
	for _, first := range runs[0] {
		var rows []bench.Row
		for _, run := range runs {
			for _, row := range run {
				if row.Name() == first.Name() {
					rows = append(rows, row)
				}
			}
		}
		line := []string{first.Name()}
		for _, figure := range figures {
			line = append(line, grows(rows, figure))
		}
		lines = append(lines, line)
	}
	return generated.Table(len(head), head, lines)
}

// constant says whether a row's cost of a section does not grow from one run to
// the next.
func constant(before, after bench.Row) bool {
	b, a := before.Number("calls_per_section"), after.Number("calls_per_section")
	return b != nil && a != nil &&
		growth(*b, *a, before.Count("turns"), after.Count("turns")) < 0.1
}

// grows names the growth between the last two runs.
func grows(rows []bench.Row, of func(bench.Row) *float64) string {
	if len(rows) < 2 {
		return bench.NotMeasured
	}
	before, after := rows[len(rows)-2], rows[len(rows)-1]
	b, a := of(before), of(after)
	if b == nil || a == nil {
		return bench.NotMeasured
	}
	if *a == 0 {
		return "none"
	}
	switch power := growth(*b, *a, before.Count("turns"), after.Count("turns")); {
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
