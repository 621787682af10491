package bench

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// Layout renders rows as text, one after the other, so that a row can be shown as soon as
// it is measured. Numbers stand under their heads.
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

// nameWidth is how many columns a name has: it fits "mutex-per-service" and "redlock (3 nodes)".
const nameWidth = 17

// Column is where a figure stands in the table.
type Column struct {
	Top, Head string // the two lines above it
	Width     int    // with the space before it
	Digits    int    // after the point of a fraction
}

// NewColumn is a column of that width, under these two lines.
func NewColumn(top, head string, width, digits int) Column {
	return Column{top, head, width, digits}
}

// line is a line of the table, which begins with a name.
func (t Layout) line(name string, figures []Figure, cell func(Figure) string) string {
	text := fmt.Sprintf("%-*s", max(nameWidth, t.Name), name)
	for _, f := range figures {
		text += fmt.Sprintf(" %*s", f.Column.Width-1, cell(f))
	}
	return strings.TrimRight(text, " ") + "\n"
}

// groups are the figures that have a column, by what stands on one line at least.
func (t Layout) groups(r Row) (all [paired + 1][]Figure) {
	for _, f := range r.figures {
		if f.Column.Width > 0 && (f.group != paired || t.Paired) {
			all[f.group] = append(all[f.group], f)
		}
	}
	return all
}

// lines are the figures of each line of a row.
func (t Layout) lines(r Row) (lines [][]Figure) {
	room := cmp.Or(t.Width, wide)
	used := room
	for _, group := range t.groups(r) {
		width := 0
		for _, f := range group {
			width += f.Column.Width
		}
		if last := len(lines) - 1; used+width > room {
			lines = append(lines, group)
			used = max(nameWidth, t.Name) + width
		} else {
			lines[last] = append(lines[last], group...)
			used += width
		}
	}
	return lines
}

// Head is what stands above rows with the figures of this one.
func (t Layout) Head(r Row) string {
	text, name := "", "rung"
	for _, figures := range t.lines(r) {
		text += t.line("", figures, func(f Figure) string { return f.Column.Top }) +
			t.line(name, figures, func(f Figure) string { return f.Column.Head })
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
	for _, figures := range t.lines(r) {
		text += t.line(name, figures, Figure.show)
		name = ""
	}
	for _, note := range r.notes {
		text += "  " + note + "\n"
	}
	return text
}

// Legend explains the heads of rows with the figures of this one.
func (t Layout) Legend(r Row) string {
	text := ""
	for _, group := range t.groups(r) {
		for _, f := range group {
			if f.Legend != "" {
				text += strings.Join(history.Wrap(f.Legend, 79, 0), "\n") + "\n"
			}
		}
	}
	return text + NotMeasured + ": not measured\n"
}

// NotMeasured stands where a figure was not measured.
const NotMeasured = "–"

// These are the digits of some columns.
const (
	Brief   = -1 // two after the point below 10, and one above
	percent = -2 // none, of a share in percent
)

// show is a figure in its column.
func (f Figure) show() string {
	if x, is := f.Value.(float64); is {
		return Decimal(&x, f.Column.Digits)
	}
	if f.Value == nil {
		return NotMeasured
	}
	return fmt.Sprint(f.Value)
}

// Decimal is a figure with so many digits after the point.
func Decimal(x *float64, digits int) string {
	switch {
	case x == nil:
		return NotMeasured
	case digits == percent:
		return fmt.Sprintf("%.0f", 100**x)
	case digits == Brief && *x < 10:
		digits = 2
	case digits == Brief:
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
