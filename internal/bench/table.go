package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
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
	Jain bool // clients may have the lock more often than others
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
		if f.Column.Width > 0 && (t.Jain || f.Name != "jain") {
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
	return t.heads("rung", figures)
}

func (t Layout) heads(name string, figures []Figure) string {
	return t.line("", figures, func(f Figure) string { return f.Column.Top }) +
		t.line(name, figures, func(f Figure) string { return f.Column.Head })
}

// Row is one row. Lines that say what went wrong follow it.
func (t Layout) Row(r Row) string {
	figures, _ := t.columns(r)
	text := t.line(r.Label(), figures, Figure.Show)
	for _, note := range r.notes {
		text += "  " + strings.Join(terminal.Wrap(note, max(t.Width, 79)-2, 2), "\n  ") + "\n"
	}
	return text
}

// Label is the row's name, and on how many nodes it was where the lock is meant for more.
func (r Row) Label() string {
	if nodes := r.Count("nodes"); nodes < r.meant {
		return fmt.Sprintf("%s (%s)", r.Name(), Plural(nodes, "node"))
	}
	return r.Name()
}

// Ranked has the rows once more, in the order of the pictures and with what is compared, if
// there is room for it.
func (t Layout) Ranked(all []Row) string {
	rows, most := greatest(all)
	if t.Name = max(nameWidth, t.Name) + 2; len(locks(rows)) < 2 || t.Width > 0 && t.Width < t.Name+50 {
		return ""
	}
	slices.SortStableFunc(rows, rank)
	figures := func(r Row) []Figure {
		return []Figure{*r.figure("acquisitions_per_second"), *r.figure("serial"), *r.figure("ratio_to_serial"),
			*r.figure("range"), {Value: max(1, len(r.Rounds)), Column: Column{"", "rounds", 7, 0}}, *r.figure("wait_ms.max")}
	}
	text := t.heads("", figures(rows[0]))
	for i, row := range rows {
		if i == 0 || row.group() != rows[i-1].group() {
			text += groups[row.group()] + "\n"
		}
		text += t.line("  "+row.Label(), figures(row), Figure.Show)
	}
	return "\n" + terminal.Paragraph("With "+most+", by what you give up with a lock, the fastest first by times serial. Locks that poll"+
		" mostly sleep, as long on a slow computer as on a fast one, where the serial limit is higher: compare these by"+
		" acquisitions/s, which can rank them otherwise.") + "\n" + text
}

// Legend explains the heads, and names those that there is no room for.
func (t Layout) Legend() string {
	text := ""
	shown, leftOut := t.columns(RowOf(nil))
	for _, f := range shown {
		if f.Legend != "" {
			text += strings.ToUpper(f.Legend[:1]) + f.Legend[1:] + ". "
		}
	}
	text = terminal.Paragraph(text + NotMeasured + ": not measured.")
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
	Brief   = -1 // three in all, no more than three of them after the point
	percent = -2 // none, of a share in percent
)

// Show is a figure in its column.
func (f Figure) Show() string {
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
	case digits == Brief && *x == 0:
		return "0"
	case digits == Brief:
		rounded, _ := strconv.ParseFloat(fmt.Sprintf("%.2e", *x), 64)
		return fmt.Sprintf("%.*f", int(min(3, max(0, 2-math.Floor(math.Log10(rounded))))), rounded)
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
