package benchmark

import (
	"fmt"
	"slices"
	"strings"
)

// Table renders rows as text, one after the other, so that a row can be shown as
// soon as it is measured. Numbers stand under their heads.
type Table struct {
	// Width is how many columns the reader's terminal has, 0 when unknown. In
	// a narrow one every row takes two lines.
	Width int
}

// nameWidth fits "mutex-per-service" and "redlock (3 nodes)".
const nameWidth = 17

// column is a figure with the two lines of its head.
type column struct {
	top, head string
	width     int // with the space before it
	cell      func(Row) string
}

// outcome is what became of the stock, cost is what that took.
var (
	outcome = []column{
		{"", "sold", 6, func(r Row) string { return fmt.Sprint(r.Sold) }},
		{"", "left", 6, func(r Row) string { return whole(r.Left) }},
		{"over-", "sold", 6, func(r Row) string {
			return fmt.Sprint(r.Oversold)
		}},
		{"most", "inside", 7, func(r Row) string { return whole(r.MaxHolders) }},
		{"", "failed", 7, func(r Row) string { return fmt.Sprint(r.Failures) }},
		{"", "retries", 8, func(r Row) string { return whole(r.Retries) }},
	}
	cost = []column{
		{"wall", "s", 7, func(r Row) string {
			return fmt.Sprintf("%.2f", r.Seconds)
		}},
		{"hand-", "overs/s", 8, func(r Row) string {
			return decimal(r.HandoversPerSecond, 0)
		}},
		{"wait", "p50 ms", 8, func(r Row) string {
			return wait(r, func(w *Wait) float64 { return w.P50 })
		}},
		{"wait", "p99 ms", 8, func(r Row) string {
			return wait(r, func(w *Wait) float64 { return w.P99 })
		}},
		{"wait", "max ms", 8, func(r Row) string {
			return wait(r, func(w *Wait) float64 { return w.Max })
		}},
		{"commands", "/section", 9, func(r Row) string {
			return decimal(r.CommandsPerSection, 1)
		}},
		{"trips", "/section", 9, func(r Row) string {
			return decimal(r.RoundTripsPerSection, 1)
		}},
	}
)

// Head is what stands above the rows.
func (t Table) Head() string {
	top := func(c column) string { return c.top }
	head := func(c column) string { return c.head }
	if t.narrow() {
		return line("", outcome, top) + line("rung", outcome, head) +
			line("", cost, top) + line("", cost, head)
	}
	return line("", all(), top) + line("rung", all(), head)
}

// Row is one row. Lines that say what went wrong follow it.
func (t Table) Row(r Row) string {
	name := r.Rung
	if r.Nodes < r.meant {
		name += fmt.Sprintf(" (%s)", plural(r.Nodes, "node"))
	}
	cell := func(c column) string { return c.cell(r) }
	text := line(name, all(), cell)
	if t.narrow() {
		text = line(name, outcome, cell) + line("", cost, cell)
	}
	if !r.Finished {
		text += note("cut off after %.1f s: %d of %d turns were completed",
			r.Seconds, r.Sections, r.Turns)
	}
	if r.Absent > 0 {
		text += note("%s did not return and had to be left behind",
			plural(r.Absent, "client"))
	}
	if r.FirstFailure != nil {
		text += note("%s failed, the first: %s", plural(int(r.Failures), "turn"),
			strings.ReplaceAll(*r.FirstFailure, "\n", "; "))
	}
	return text
}

// Legend explains the heads.
func (t Table) Legend() string {
	return `most inside: clients in the critical section at one time, at most
hand-overs/s: completed turns a second; wait: until the lock was granted
commands: as clients send them, without publish/subscribe; trips: round trips
retries: refused attempts; –: not measured
`
}

func (t Table) narrow() bool {
	width := nameWidth
	for _, c := range all() {
		width += c.width
	}
	return t.Width > 0 && t.Width < width
}

func all() []column { return slices.Concat(outcome, cost) }

// line is a name and its cells, or a head's.
func line(name string, columns []column, cell func(column) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", nameWidth, name)
	for _, c := range columns {
		fmt.Fprintf(&b, " %*s", c.width-1, cell(c))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

func note(format string, args ...any) string {
	return "  " + fmt.Sprintf(format, args...) + "\n"
}

// absent stands where a figure was not measured.
const absent = "–"

func whole(n *int64) string {
	if n == nil {
		return absent
	}
	return fmt.Sprint(*n)
}

func decimal(x *float64, digits int) string {
	if x == nil {
		return absent
	}
	return fmt.Sprintf("%.*f", digits, *x)
}

func wait(r Row, which func(*Wait) float64) string {
	if r.Wait == nil {
		return absent
	}
	if ms := which(r.Wait); ms < 10 {
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.1f", which(r.Wait))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
