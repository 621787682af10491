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

// Layout renders rows as text. Numbers stand under their heads, and every row is one line.
type Layout struct {
	// Width is how many columns the reader's terminal has, 0 when unknown. What it has no
	// room for is left out.
	Width int

	// Name is how many columns the longest name has; 0 is for the ladder's.
	Name int
	Jain bool // clients may have the lock more often than others
}

// name is how many columns a name has, with the space before it: it fits the ladder's.
func (t Layout) name() int { return 2 + max(len("reentrant/readwrite"), t.Name) }

// Column is where a figure stands in the table.
type Column struct {
	Top, Head string // the two lines above it
	Width     int    // with the space before it
	Digits    int    // after the point of a fraction
}

// line is a line of the table, which begins with a name.
func (t Layout) line(name string, figures []Figure, cell func(Figure) string) string {
	text := fmt.Sprintf("%-*s", t.name(), name)
	for _, f := range figures {
		text += fmt.Sprintf(" %*s", f.Column.Width-1, cell(f))
	}
	return strings.TrimRight(text, " ") + "\n"
}

// columns are the figures that have a column, and for which there is room.
func (t Layout) columns(r Row) (shown []Figure) {
	width := t.name()
	for _, f := range r.figures {
		if f.Name == "safe" && r.Rung().Name != "" {
			f.Value = r.survives()
		} else if x := r.spread(); f.Name == "spread" && 0 < x && !math.IsInf(x, 1) {
			f.Value = x
		} else if r.Kind() == Baseline && slices.Contains([]string{"wait_ms.p50", "wait_ms.p99", "wait_ms.max", "in_order"}, f.Name) || f.Name == "in_order" && r.Count("clients") == 1 {
			f.Value = nil // there's no lock to wait for, or no order
		}
		if f.Column.Width > 0 && (t.Jain || f.Name != "jain") {
			shown = append(shown, f)
			width += f.Column.Width
		}
	}
	for _, name := range dispensable {
		i := slices.IndexFunc(shown, func(f Figure) bool { return f.Name == name })
		if i >= 0 && width > cmp.Or(t.Width, width) {
			width -= shown[i].Column.Width
			shown = slices.Delete(shown, i, i+1)
		}
	}
	return shown
}

// Table has some of all rows in the order of the pictures, below what is given up with them.
func (t Layout) Table(rows, all []Row) string {
	last, _ := greatest(all)
	order := each(slices.SortedStableFunc(slices.Values(last), rank), Row.Name)
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.group(), b.group()), cmp.Compare(slices.Index(order, a.Name()), slices.Index(order, b.Name())))
	})
	figures := t.columns(RowOf(nil))
	text := t.line("", figures, func(f Figure) string { return f.Column.Top }) +
		t.line("", figures, func(f Figure) string { return f.Column.Head })
	for i, row := range rows {
		if i == 0 || row.group() != rows[i-1].group() {
			text += groups[row.group()] + "\n"
		}
		text += t.Row(row)
	}
	return text
}

// Choices is a text with a line for each, if there are some. Parts of notes that don't fit are left out.
func (t Layout) Choices(all []Row) []string {
	text := ""
	_, with := greatest(all)
	for _, c := range Choices(all) {
		line := fmt.Sprintf("  %-32s %-*s %6s  ", c.Need, t.name()-2, c.Lock, c.Speed)
		for i, note := range strings.Split(c.Note, ";") {
			if len(line)+len(note) < cmp.Or(t.Width, 100) {
				line += map[bool]string{true: ";"}[i > 0] + note
			}
		}
		text += "\n" + strings.TrimRight(line, " ")
	}
	if text == "" {
		return nil
	}
	return []string{"The best with " + with + ", in acquisitions a second:" + text}
}

// Row is one row. Lines that say what went wrong follow it.
func (t Layout) Row(r Row) string {
	text := t.line("  "+r.Label(), t.columns(r), Figure.Show)
	for _, note := range r.notes {
		text += "    " + strings.Join(terminal.Wrap(note, cmp.Or(t.Width, 100)-4, 2), "\n    ") + "\n"
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

// Legend explains those of the heads that don't explain themselves.
func (t Layout) Legend() string {
	text := "Figures are medians of all rounds. " + NotMeasured + ": not measured, or it would say nothing.\n"
	for _, f := range t.columns(RowOf(nil)) {
		if term := f.Term(); term != nil && f.Name != "acquisitions_per_second" {
			text += fmt.Sprintf("  %-15s%s\n", term[0], strings.Join(terminal.Wrap(term[1], cmp.Or(t.Width, 100)-17, 0), "\n"+strings.Repeat(" ", 17)))
		}
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
	return fmt.Sprint(n, " ", what, map[bool]string{true: "s"}[n != 1])
}
