package bench

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
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
}

// wide is how many columns are used when it is unknown how many there are.
const wide = 120

// NameWidth is how many columns a name has: it fits "mutex-per-service" and "redlock (3 nodes)".
const NameWidth = 17

// name is how wide the first column is.
func (t Layout) name() int { return max(NameWidth, t.Name) }

// Column is a figure of a row, with the two lines of its head.
type Column struct {
	top, head string
	width     int // with the space before it
	digits    int // after the point of a fraction
	figure    any
}

// NewColumn makes a column that is so wide, with the space before it. A fraction is
// shown with so many digits after the point.
func NewColumn(top, head string, width, digits int, figure any) Column {
	return Column{top, head, width, digits, figure}
}

// Columns are those of one line, which begins with a name.
type Columns []Column

// Heads are the two lines above rows whose names have so many columns.
func (c Columns) Heads(name string, width int) string {
	return c.line("", width, func(c Column) string { return c.top }) +
		c.line(name, width, func(c Column) string { return c.head })
}

// Line is the line of a row.
func (c Columns) Line(name string, width int) string {
	return c.line(name, width, func(c Column) string { return show(c.figure, c.digits) })
}

func (c Columns) line(name string, width int, cell func(Column) string) string {
	text := fmt.Sprintf("%-*s", width, name)
	for _, column := range c {
		text += fmt.Sprintf(" %*s", column.width-1, cell(column))
	}
	return strings.TrimRight(text, " ") + "\n"
}

// columns are those of a group, with a row's figures.
func columns(of group, r Row) (all Columns) {
	for _, f := range figures {
		if f.group == of {
			f.Column.figure = f.shown(r)
			all = append(all, f.Column)
		}
	}
	return all
}

// groups are those that are shown.
func (t Layout) groups() []group {
	if t.Paired {
		return []group{outcome, cost, paired}
	}
	return []group{outcome, cost}
}

// lines are the columns of each line of a row: a group stands on one line.
func (t Layout) lines(r Row) (lines []Columns) {
	room := cmp.Or(t.Width, wide)
	used := room
	for _, group := range t.groups() {
		columns, width := columns(group, r), 0
		for _, c := range columns {
			width += c.width
		}
		if used+width > room {
			lines, used = append(lines, nil), t.name()
		}
		last := len(lines) - 1
		lines[last] = append(lines[last], columns...)
		used += width
	}
	return lines
}

// Head is what stands above the rows.
func (t Layout) Head() string {
	text, name := "", "rung"
	for _, columns := range t.lines(Row{}) {
		text += columns.Heads(name, t.name())
		name = ""
	}
	return text
}

// Row is one row. Lines that say what went wrong follow it.
func (t Layout) Row(r Row) string {
	name := r.Name()
	if nodes := r.Count("nodes"); nodes < r.meant {
		name += fmt.Sprintf(" (%s)", Plural(nodes, "node"))
	}
	text := ""
	for _, columns := range t.lines(r) {
		text += columns.Line(name, t.name())
		name = ""
	}
	if !r.Finished() {
		text += Note("cut off after %.1f s: %d of %d turns were completed",
			*r.Number("seconds"), r.Count("sections"), r.Count("turns"))
	}
	if len(r.Rounds) < r.rounds {
		text += Note("%d of %d rounds were measured", len(r.Rounds), r.rounds)
	}
	if absent := r.Count("absent"); absent > 0 {
		text += Note("%s did not return and had to be left behind",
			Plural(absent, "client"))
	}
	first, failed := r.Value("first_failure").(string)
	if !failed {
		return text
	}
	return text + FirstFailure(Plural(r.Count("failures"), "turn")+" failed", &first)
}

// FirstFailure is a line about failures, the first of which is not nil.
func FirstFailure(count string, first *string) string {
	if first == nil {
		return ""
	}
	return Note("%s, the first: %s", count,
		strings.ReplaceAll(*first, "\n", "; "))
}

// Legend explains the heads.
func (t Layout) Legend() string {
	var text strings.Builder
	for _, group := range t.groups() {
		for _, f := range figures {
			if f.group == group && f.Legend != "" {
				text.WriteString(wrapped(f.Legend))
			}
		}
	}
	return text.String() + NotMeasured + ": not measured\n"
}

// wrapped is a text in lines that fit on any terminal.
func wrapped(text string) string {
	return strings.Join(Wrap(text, 79), "\n") + "\n"
}

// Wrap is a text in lines of so many characters at most.
func Wrap(text string, length int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > length {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
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
	case nil:
		return NotMeasured
	case *float64:
		return Decimal(x, digits)
	case float64:
		return Decimal(&x, digits)
	}
	return fmt.Sprint(figure)
}

// Decimal is a figure with so many digits after the point.
func Decimal(x *float64, digits int) string {
	switch {
	case x == nil:
		return NotMeasured
	case digits == brief && *x < 10:
		digits = 2
	case digits == brief:
		digits = 1
	}
	return fmt.Sprintf("%.*f", digits, *x)
}

// Plural is a number of things.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
