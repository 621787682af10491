package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockladder/lockladder/internal/bench"
)

// Figure is one figure of what was measured: in JSON under its name, and in a column of
// the table, where it has them. What was not measured is nil.
type Figure[M Measured] struct {
	name   string
	of     func(M) any
	column bench.Columns[M] // none, or one
}

// Measured is what was measured of one lock: a tally, and what a job adds to it.
type Measured interface{ tally() *Tally }

func (t *Tally) tally() *Tally { return t }

// Value is a figure that only JSON has.
func Value[M Measured](name string, of func(M) any) Figure[M] {
	return Figure[M]{name: name, of: of}
}

// Shown is a figure in a column, which is so wide, under two lines. A fraction is shown
// with so many digits after the point. Without a name JSON does not have it.
func Shown[M Measured](name, top, head string, width, digits int,
	of func(M) any) Figure[M] {
	show := func(m M) any {
		if figure := of(m); figure != nil {
			return figure
		}
		return bench.NotMeasured
	}
	return Figure[M]{name, of,
		bench.Columns[M]{bench.NewColumn(top, head, width, digits, show)}}
}

// These figures every job has, in front of its own and behind.
var subject = Figures[*Tally]{
	Value("rung", func(t *Tally) any { return t.Subject.Name }),
	Value("kind", func(t *Tally) any { return t.Subject.Kind }),
	Value("nodes", func(t *Tally) any { return t.Nodes }),
}
var ending = Figures[*Tally]{
	Value("finished", func(t *Tally) any { return t.Cut == 0 }),
	Value("failures", func(t *Tally) any { return t.Failed }),
	Value("first_failure", func(t *Tally) any {
		if t.First == nil {
			return nil
		}
		return t.First.Error()
	}),
	Value("interrupted", func(t *Tally) any { return t.Interrupted }),
}

// Figures are those of a job.
type Figures[M Measured] []Figure[M]

// columns are the figures that have one.
func (f Figures[M]) columns() (all bench.Columns[M]) {
	for _, figure := range f {
		all = append(all, figure.column...)
	}
	return all
}

// Head is what stands above the rows.
func (f Figures[M]) Head() string { return f.columns().Heads("lock", bench.NameWidth) }

// Row is what was measured of one lock, as it is written.
type Row struct {
	text string
	json []bench.Member
}

// Rows are the one row of a lock, behind which so much was to be done. Through says of
// what is done that it is, and failed what it is that has failed. The error is that of
// ctx when that has cut something off.
func (f Figures[M]) Rows(ctx context.Context, m M, of int, through, failed string) (
	[]bench.Measured, error) {
	t := m.tally()
	row := Row{f.columns().Line(t.Subject.Name, bench.NameWidth, m),
		slices.Concat(subject.members(t), f.members(m), ending.members(t))}
	if t.Cut > 0 {
		row.text += bench.Note("cut off after %.1f s: %d of %d %s", t.Took.Seconds(),
			t.Done, of, through)
	}
	if t.First != nil {
		row.text += bench.FirstFailure(fmt.Sprintf("%s that failed: %d", failed,
			t.Failed), new(t.First.Error()))
	}
	return []bench.Measured{row}, bench.CutOff(ctx, t.Cut == 0)
}

func (f Figures[M]) members(m M) (all []bench.Member) {
	for _, figure := range f {
		if figure.name != "" {
			all = append(all, bench.Member{Name: figure.name, Value: figure.of(m)})
		}
	}
	return all
}

// Text is a row of the table. Lines that say what went wrong follow it.
func (r Row) Text() string { return r.text }

// MarshalJSON writes the figures in their order.
func (r Row) MarshalJSON() ([]byte, error) { return bench.Object(r.json) }
