package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Layout renders rows of the inventory as text, one after the other, so that a row can be shown as
// soon as it is measured. Numbers stand under their heads.
type Layout struct {
	// Width is how many columns the reader's terminal has, 0 when unknown. In
	// a narrow one every row takes several lines.
	Width int

	// Name is how many columns the longest name has; 0 is for the ladder's.
	Name int

	// Paired adds what a run on real servers in several rounds has measured.
	Paired bool

	// Loop explains what a closed loop adds.
	Loop bool
}

// wide is how many columns are used when it is unknown how many there are.
const wide = 120

// NameWidth is how many columns a name has: it fits "mutex-per-service" and "redlock (3 nodes)".
const NameWidth = 17

// name is how wide the first column is.
func (t Layout) name() int { return max(NameWidth, t.Name) }

// Column is a figure of rows, with the two lines of its head.
type Column[R any] struct {
	top, head string
	width     int // with the space before it
	digits    int // after the point of a fraction
	figure    func(R) any
}

// NewColumn makes a column that is so wide, with the space before it. A fraction is
// shown with so many digits after the point.
func NewColumn[R any](top, head string, width, digits int,
	figure func(R) any) Column[R] {
	return Column[R]{top, head, width, digits, figure}
}

// Columns are those of one line, which begins with a name.
type Columns[R any] []Column[R]

// Heads are the two lines above rows whose names have so many columns.
func (c Columns[R]) Heads(name string, width int) string {
	return c.line("", width, func(c Column[R]) string { return c.top }) +
		c.line(name, width, func(c Column[R]) string { return c.head })
}

// Line is the line of a row.
func (c Columns[R]) Line(name string, width int, row R) string {
	return c.line(name, width, func(c Column[R]) string {
		return show(c.figure(row), c.digits)
	})
}

func (c Columns[R]) line(name string, width int,
	cell func(Column[R]) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", width, name)
	for _, column := range c {
		fmt.Fprintf(&b, " %*s", column.width-1, cell(column))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// outcome is what became of the stock, cost is what that took.
var (
	outcome = Columns[Row]{
		{"", "sold", 6, 0, func(r Row) any { return r.Sold }},
		{"", "left", 6, 0, func(r Row) any { return r.Left }},
		{"over-", "sold", 6, 0, func(r Row) any { return r.Oversold }},
		{"lost", "updates", 8, 0, func(r Row) any { return r.LostUpdates }},
		{"most", "inside", 7, 0, func(r Row) any { return r.MaxHolders }},
		{"", "failed", 7, 0, func(r Row) any { return r.Failures }},
		{"", "retries", 8, 0, func(r Row) any { return r.Retries }},
	}
	cost = Columns[Row]{
		{"wall", "s", 6, 2, func(r Row) any { return r.Seconds }},
		{"locks", "taken/s", 8, 0, func(r Row) any { return r.AcquisitionsPerSecond }},
		{"wait", "p50 ms", 7, 0, func(r Row) any {
			return wait(r, func(w *Wait) float64 { return w.P50 })
		}},
		{"wait", "p99 ms", 7, 0, func(r Row) any {
			return wait(r, func(w *Wait) float64 { return w.P99 })
		}},
		{"wait", "max ms", 7, 0, func(r Row) any {
			return wait(r, func(w *Wait) float64 { return w.Max })
		}},
		{"commands", "/section", 9, 1, func(r Row) any { return r.CommandsPerSection }},
		{"trips", "/section", 9, 1, func(r Row) any { return r.RoundTripsPerSection }},
	}
)

// paired is what rounds on real servers tell.
var (
	paired = Columns[Row]{
		{"times", "serial", 8, 3, func(r Row) any { return r.RatioToSerial }},
		{"spread", "±%", 7, 1, func(r Row) any { return Percent(r.Spread()) }},
		{"", "jain", 7, 3, func(r Row) any { return r.Jain }},
		{"in", "order%", 7, 0, func(r Row) any { return Percent(r.InOrder) }},
		{"calls", "/section", 9, 1, func(r Row) any { return r.CallsPerSection }},
		{"clients'", "CPU µs", 9, 0, func(r Row) any {
			if r.CPU == nil {
				return NotMeasured
			}
			return r.CPU.Clients
		}},
		{"server's", "CPU µs", 9, 0, func(r Row) any {
			if r.CPU == nil {
				return NotMeasured
			}
			return r.CPU.Server
		}},
	}
)

// lines are the columns of each line of a row: a group stands on one line.
func (t Layout) lines() []Columns[Row] {
	groups := []Columns[Row]{outcome}
	groups = append(groups, cost)
	if t.Paired {
		groups = append(groups, paired)
	}
	room := t.Width
	if room == 0 {
		room = wide
	}
	var lines []Columns[Row]
	used := room
	for _, group := range groups {
		width := 0
		for _, c := range group {
			width += c.width
		}
		if used+width > room {
			lines, used = append(lines, nil), t.name()
		}
		last := len(lines) - 1
		lines[last] = append(lines[last], group...)
		used += width
	}
	return lines
}

// Head is what stands above the rows.
func (t Layout) Head() string {
	text, name := "", "rung"
	for _, columns := range t.lines() {
		text += columns.Heads(name, t.name())
		name = ""
	}
	return text
}

// Row is one row. Lines that say what went wrong follow it.
func (t Layout) Row(r Row) string {
	name := r.Rung
	if r.Nodes < r.meant {
		name += fmt.Sprintf(" (%s)", Plural(r.Nodes, "node"))
	}
	text := ""
	for _, columns := range t.lines() {
		text += columns.Line(name, t.name(), r)
		name = ""
	}
	if !r.Finished {
		text += Note("cut off after %.1f s: %d of %d turns were completed",
			r.Seconds, r.Sections, r.Turns)
	}
	if len(r.Rounds) < r.rounds {
		text += Note("%d of %d rounds were measured", len(r.Rounds), r.rounds)
	}
	text += unequal(r)
	if r.Absent > 0 {
		text += Note("%s did not return and had to be left behind",
			Plural(r.Absent, "client"))
	}
	return text + FirstFailure(Plural(int(r.Failures), "turn")+" failed",
		r.FirstFailure)
}

// FirstFailure is a line about failures, the first of which is not nil.
func FirstFailure(count string, first *string) string {
	if first == nil {
		return ""
	}
	return Note("%s, the first: %s", count,
		strings.ReplaceAll(*first, "\n", "; "))
}

// unequal says how far the longest wait of a closed loop is from the median one,
// and how far it would be without a queue.
func unequal(r Row) string {
	if r.SerialMaxOverP50 == nil || r.Wait == nil {
		return ""
	}
	var waits, serial []float64
	for _, round := range r.Rounds {
		if x := maxOverP50(round.WaitP50, round.WaitMax); x != nil {
			waits = append(waits, *x)
		}
		if x := round.SerialMaxOverP50; x != nil {
			serial = append(serial, *x)
		}
	}
	own := maxOverP50(&r.Wait.P50, &r.Wait.Max)
	if own == nil || len(serial) == 0 {
		return ""
	}
	return Note("longest wait, in median ones: %.2f, in all rounds %.2f to %.2f",
		*own, slices.Min(waits), slices.Max(waits)) +
		Note("the serial limit, in as many sections: %.2f, in all rounds %.2f to"+
			" %.2f", *r.SerialMaxOverP50, slices.Min(serial), slices.Max(serial))
}

// Legend explains the heads.
func (t Layout) Legend() string {
	text := `lost updates: sections in which another client changed the stock between the
reading and the taking: without a lock that excludes, also where nothing is oversold
most inside: the most clients in the critical section at one time
locks taken/s: completed turns a second; wait: until the lock was granted
commands: as clients send them, without publish/subscribe; trips: round trips
`
	if t.Paired {
		text += `times serial: completed turns a second, compared with the serial limit in the
same round: the median of the rounds; spread: half of their range. The other
figures are those of the round with the median.
jain: 1 when all clients had as many turns; in order: pairs of clients that were
served in the order in which they came (50: chance)
calls: commands that the servers report to have executed, inside scripts too
CPU: processor time of a section
`
	}
	if t.Paired && t.Loop {
		text += `longest wait, in median ones: the line below it is the same for the serial limit,
where no client queues: the longest time of as many sections as fit into a median
wait, divided by the median such time. Near 1 the machine ran evenly; the closer it
is to the line above, the more of that wait is the machine's doing.
`
	}
	return text + "retries: refused attempts; –: not measured\n"
}

// Note is a line below a row.
func Note(format string, args ...any) string {
	return "  " + fmt.Sprintf(format, args...) + "\n"
}

// NotMeasured stands where a figure was not measured.
const NotMeasured = "–"

// show is a figure, or what stands in its place. Of a figure that may be nil it is
// NotMeasured then.
func show(figure any, digits int) string {
	switch x := figure.(type) {
	case *int64:
		if x == nil {
			return NotMeasured
		}
		return fmt.Sprint(*x)
	case *float64:
		return Decimal(x, digits)
	case float64:
		return Decimal(&x, digits)
	}
	return fmt.Sprint(figure)
}

// Decimal is a figure with so many digits after the point.
func Decimal(x *float64, digits int) string {
	if x == nil {
		return NotMeasured
	}
	return fmt.Sprintf("%.*f", digits, *x)
}

func wait(r Row, which func(*Wait) float64) string {
	if r.Wait == nil {
		return NotMeasured
	}
	if ms := which(r.Wait); ms < 10 {
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.1f", which(r.Wait))
}

// Plural is a number of things.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
