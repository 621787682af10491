package jobs

import (
	"context"
	"fmt"

	"github.com/lockladder/lockladder/internal/bench"
)

// figure is one of what was measured of one lock: in JSON under its name, and in a
// column of the table, where it has them. What was not measured is nil.
type figure struct {
	bench.Member
	column bench.Columns[any] // none, or one
}

type figures []figure

// value is a figure that only JSON has.
func value(name string, x any) figure { return figure{Member: bench.Member{Name: name, Value: x}} }

// shown is a figure in a column, which is so wide, under two lines. A fraction is shown
// with so many digits after the point. Without a name JSON does not have it.
func shown(name, top, head string, width, digits int, x any) figure {
	f := value(name, x)
	if x == nil {
		x = bench.NotMeasured
	}
	f.column = bench.Columns[any]{bench.NewColumn(top, head, width, digits,
		func(any) any { return x })}
	return f
}

// columns are the figures that have one.
func (f figures) columns() (all bench.Columns[any]) {
	for _, figure := range f {
		all = append(all, figure.column...)
	}
	return all
}

// head is what stands above the rows.
func (f figures) head() string { return f.columns().Heads("lock", bench.NameWidth) }

// row is what was measured of one lock, as it is written.
type row struct {
	text string
	json figures
}

// rows are the one row of a lock that has these figures, and those of every job. So much
// was to be done: through says of it that it is, and failed what it is that has failed.
// The error is that of ctx when that has cut something off.
func (t *tally) rows(ctx context.Context, own figures, of int, through, failed string) (
	[]bench.Measured, error) {
	var first any
	text := own.columns().Line(t.subject.Name, bench.NameWidth, nil)
	if t.cut > 0 {
		text += bench.Note("cut off after %.1f s: %d of %d %s", t.took.Seconds(), t.done,
			of, through)
	}
	if t.first != nil {
		first = t.first.Error()
		text += bench.FirstFailure(fmt.Sprintf("%s that failed: %d", failed, t.failed),
			new(t.first.Error()))
	}
	json := figures{value("rung", t.subject.Name), value("kind", t.subject.Kind),
		value("nodes", t.nodes)}
	json = append(append(json, own...), value("finished", t.cut == 0),
		value("failures", t.failed), value("first_failure", first),
		value("interrupted", t.interrupted))
	return []bench.Measured{row{text, json}}, bench.CutOff(ctx, t.cut == 0)
}

// Text is a row of the table. Lines that say what went wrong follow it.
func (r row) Text() string { return r.text }

// MarshalJSON writes the figures in their order.
func (r row) MarshalJSON() ([]byte, error) {
	var members []bench.Member
	for _, f := range r.json {
		if f.Name != "" {
			members = append(members, f.Member)
		}
	}
	return bench.Object(members)
}
