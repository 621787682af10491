package pages

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// measured reads a benchmark's report below docs.
func (g *Generator) measured(file string) (bench.Report, error) {
	var r bench.Report
	text, err := g.source("docs/" + file)
	if err == nil {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil {
		return r, fmt.Errorf("docs/%s: %w", file, err)
	}
	return r, nil
}

// measuredClients is the table of the committed run that pages quote.
const measuredClients = 1000

// measuredTable has what the committed run measured.
func (g *Generator) measuredTable(string) (string, error) {
	return g.measuredIn("benchmark.json", measuredClients)
}

// languagesTable has what the programs of other languages measured by themselves,
// beside rungs in the same rounds.
func (g *Generator) languagesTable(string) (string, error) {
	return g.measuredIn("languages.json", 100)
}

// measuredIn has what a committed run measured with so many clients.
func (g *Generator) measuredIn(file string, clients int) (string, error) {
	r, err := g.measured(file)
	if err != nil {
		return "", err
	}
	var heads []string
	for _, column := range measuredColumns {
		heads = append(heads, column.head)
	}
	var rows [][]string
	for _, row := range r.Rows {
		if row.Count("table_clients") != clients {
			continue
		}
		cells := []string{row.Name()}
		for _, column := range measuredColumns[1:] {
			cells = append(cells, column.cell(row))
		}
		rows = append(rows, cells)
	}
	return generated.Table(1, heads, rows), nil
}

// measuredColumns are those of the page.
var measuredColumns = []struct {
	head string
	cell func(bench.Row) string
}{
	{"lock", nil},
	{"times serial", decimal("ratio_to_serial", 3)},
	{"± %", decimal("spread", 0)},
	{"acquisitions/s", decimal("acquisitions_per_second", 0)},
	{"wait p50, ms", decimal("wait_ms.p50", 1)},
	{"longest wait, ms", decimal("wait_ms.max", 0)},
	{"commands a section", decimal("commands_per_section", 1)},
	{"pause", pause},
	{"lost updates", func(row bench.Row) string {
		if !row.Wrong() {
			return "none"
		}
		return "**" + decimal("lost_updates", 0)(row) + "**"
	}},
}

// decimal is a figure with so many digits after the point.
func decimal(figure string, digits int) func(bench.Row) string {
	return func(row bench.Row) string { return row.Show(figure, digits) }
}

// pause is how long a refused client sleeps, where the lock polls at all.
func pause(row bench.Row) string {
	if row.Woken() {
		return "woken"
	}
	if row.Kind() == bench.Baseline {
		return bench.NotMeasured
	}
	return fmt.Sprintf("≤ %s", row.Pause())
}

// figures are sentences with figures of committed runs.
var figures = map[string]func(*Generator) (string, error){
	"cohort":  (*Generator).cohortFigure,
	"redlock": (*Generator).redlockFigure,
}

func (g *Generator) figure(name string) (string, error) {
	say, found := figures[name]
	if !found {
		return "", fmt.Errorf("no figure is called %q", name)
	}
	return say(g)
}

// row finds a lock's row in the table that pages quote.
func (g *Generator) row(name string) (bench.Row, error) {
	r, err := g.measured("benchmark.json")
	if err != nil {
		return bench.Row{}, err
	}
	for _, row := range r.Rows {
		if row.Name() == name && row.Count("table_clients") == measuredClients &&
			row.Ratio() != nil {
			return row, nil
		}
	}
	return bench.Row{}, fmt.Errorf("no row of %s with %d clients is measured",
		name, measuredClients)
}

func (g *Generator) cohortFigure() (string, error) {
	cohort, err := g.row("reentrant/cohort")
	if err != nil {
		return "", err
	}
	notify, err := g.row("reentrant/notify")
	if err != nil {
		return "", err
	}
	return wrapped(fmt.Sprintf("In the [committed run](benchmark.md#a-run), %d"+
		" clients in one process made %.2f times as many acquisitions a second with"+
		" this lock as one client that is alone (the [serial limit](glossary.md)),"+
		" because most acquisitions didn't ask the server. With [notify](10-notify.md) they"+
		" reached %.2f times the serial limit.",
		cohort.Count("clients"), *cohort.Ratio(), *notify.Ratio())), nil
}

func (g *Generator) redlockFigure() (string, error) {
	redlock, err := g.row("redlock")
	return wrapped(fmt.Sprintf("In the [committed run](benchmark.md#a-run), %d"+
		" clients that ask the nodes in order all had their turn within %.1f s.",
		redlock.Count("clients"), *redlock.Number("seconds"))), err
}

// wrapped is a paragraph in lines.
func wrapped(text string) string {
	return strings.Join(history.Wrap(text, 88, 0), "\n") + "\n"
}
