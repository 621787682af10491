package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/terminal"
)

// Layout renders rows as text, one after the other, so that a row can be shown as soon as
// it is measured. Numbers stand under their heads, and every row is one line.
type Layout struct {
	// Width is how many columns the reader's terminal has, 0 when unknown. What it has no
	// room for is left out.
	Width int

	// Name is how many columns the longest name has; 0 is for the ladder's.
	Name int
}

// nameWidth is how many columns a name has: it fits "mutex-per-service" and "redlock (3 nodes)".
const nameWidth = 17

// Column is where a figure stands in the table.
type Column struct {
	Top, Head string // the two lines above it
	Width     int    // with the space before it
	Digits    int    // after the point of a fraction
}

// line is a line of the table, which begins with a name.
func (t Layout) line(name string, figures []Figure, cell func(Figure) string) string {
	text := fmt.Sprintf("%-*s", max(nameWidth, t.Name), name)
	for _, f := range figures {
		text += fmt.Sprintf(" %*s", f.Column.Width-1, cell(f))
	}
	return strings.TrimRight(text, " ") + "\n"
}

// columns are the figures that have a column, and for which there is room.
func (t Layout) columns(r Row) (shown, leftOut []Figure) {
	width := max(nameWidth, t.Name)
	for _, f := range r.figures {
		if f.Column.Width > 0 {
			shown = append(shown, f)
			width += f.Column.Width
		}
	}
	for _, name := range dispensable {
		i := slices.IndexFunc(shown, func(f Figure) bool { return f.Name == name })
		if i < 0 || width <= cmp.Or(t.Width, width) {
			continue
		}
		leftOut = append(leftOut, shown[i])
		width -= shown[i].Column.Width
		shown = slices.Delete(shown, i, i+1)
	}
	return shown, leftOut
}

// Head is what stands above the rows.
func (t Layout) Head() string {
	figures, _ := t.columns(RowOf(nil))
	return t.line("", figures, func(f Figure) string { return f.Column.Top }) +
		t.line("rung", figures, func(f Figure) string { return f.Column.Head })
}

// Row is one row. Lines that say what went wrong follow it.
func (t Layout) Row(r Row) string {
	name := r.Name()
	if nodes := r.Count("nodes"); nodes < r.meant {
		name += fmt.Sprintf(" (%s)", Plural(nodes, "node"))
	}
	figures, _ := t.columns(r)
	text := t.line(name, figures, Figure.show)
	for _, note := range r.notes {
		text += "  " + strings.Join(terminal.Wrap(note, max(t.Width, 79)-2, 2), "\n  ") + "\n"
	}
	return text
}

// Legend explains the heads, and names those that there is no room for.
func (t Layout) Legend() string {
	text := ""
	shown, leftOut := t.columns(RowOf(nil))
	for _, f := range shown {
		if f.Legend != "" {
			text += terminal.Paragraph(f.Legend)
		}
	}
	text += NotMeasured + ": not measured\n"
	if len(leftOut) > 0 {
		var heads []string
		for _, f := range leftOut {
			heads = append(heads, strings.TrimSpace(
				strings.ReplaceAll(f.Column.Top+" "+f.Column.Head, "- ", "")))
		}
		text += terminal.Paragraph("There was no room for: " + strings.Join(heads, ", ") +
			". A wider terminal shows them, and so does a pipe without COLUMNS.")
	}
	return text
}

// NotMeasured stands where a figure was not measured.
const NotMeasured = "–"

// These are the digits of some columns.
const (
	Brief   = -1 // three in all, and more only before the point
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
	case digits == Brief && *x < 9.995:
		digits = 2
	case digits == Brief && *x < 99.95:
		digits = 1
	case digits == Brief:
		digits = 0
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
