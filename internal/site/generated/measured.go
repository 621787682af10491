package generated

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
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

// measuredIn has what a committed run measured with so many clients.
func measuredIn(file string, clients int) func(*Generator, string) (string, error) {
	return func(g *Generator, _ string) (string, error) {
		r, err := g.measured(file)
		return measuredTable(r, clients), err
	}
}

func measuredTable(r bench.Report, clients int) string {
	return tableOf(1, []column[bench.Row]{
		{"lock", bench.Row.Name},
		{"acquisitions/s", decimal("acquisitions_per_second", bench.Brief)},
		{"middle half", bench.Row.Range},
		{"times serial", decimal("ratio_to_serial", bench.Brief)},
		{"wait p50, ms", decimal("wait_ms.p50", bench.Brief)},
		{"longest wait, ms", decimal("wait_ms.max", bench.Brief)},
		{"commands a section", decimal("commands_per_section", bench.Brief)},
		{"pause", pause},
		{"lost updates", func(row bench.Row) string {
			if !row.Wrong() {
				return "none"
			}
			return fmt.Sprintf("**%d**", row.Count("lost_updates"))
		}},
	}, slices.DeleteFunc(r.Rows, func(row bench.Row) bool {
		return row.Count("table_clients") != clients
	}))
}

// findings are what the committed run says.
func (g *Generator) findings(string) (string, error) {
	r, err := g.measured("benchmark.json")
	if err != nil {
		return "", err
	}
	text := tableOf(2, []column[bench.Choice]{
		{fmt.Sprintf("best with %d clients", measuredClients), func(c bench.Choice) string { return c.Need }}, {"lock", func(c bench.Choice) string { return c.Lock }},
		{"acquisitions/s", func(c bench.Choice) string { return c.Speed }}, {"", func(c bench.Choice) string { return c.Note }},
	}, bench.Choices(r.Rows)) + "\n"
	for _, found := range bench.Findings(r.Rows) {
		text += "- **" + strings.Replace(found, ": ", ":** ", 1) + "\n"
	}
	return text, nil
}

// distance says for each row of the committed run why it is as far from the serial limit
// as it is. All ran on one processor, so the ratio is that of its work for a section, times
// the share of the time for which the processor had any.
func (g *Generator) distance(string) (string, error) {
	r, err := g.measured("benchmark.json")
	rows := slices.DeleteFunc(r.Rows, func(row bench.Row) bool {
		return row.Count("table_clients") != measuredClients || work(row) == 0
	})
	return tableOf(1, []column[bench.Row]{
		{"lock", bench.Row.Name},
		{"times serial", decimal("ratio_to_serial", bench.Brief)},
		{"work a section, µs", func(row bench.Row) string { return bench.Decimal(new(work(row)), bench.Brief) }},
		{"processor busy, %", func(row bench.Row) string {
			busy := work(row) * *row.Number("acquisitions_per_second") / 1e4
			return fmt.Sprintf("%.0f", min(busy, 100))
		}},
		{"commands a section", decimal("commands_per_section", bench.Brief)},
		{"executed, with scripts", decimal("calls_per_section", bench.Brief)},
	}, rows), err
}

// longestPause is how long a client of a polling lock sleeps at most, in microseconds.
const longestPause = 100_000

// prices are what a section of the committed run is made of, in microseconds of work.
func (g *Generator) prices(string) (string, error) {
	r, err := g.measured("benchmark.json")
	if err != nil {
		return "", err
	}
	rows := map[string]bench.Row{}
	for _, row := range r.Rows {
		if row.Count("table_clients") == measuredClients {
			rows[row.Name()] = row
		}
	}
	serial, notify := rows["serial-limit"], rows["reentrant/notify"]
	commands := func(row bench.Row) float64 { return *row.Number("commands_per_section") }
	trip := work(serial) / commands(serial)
	wake := work(notify) - work(serial) - trip*(commands(notify)-commands(serial))
	// Of k sleeping clients, the next one wakes up after half of the pause / k.
	free := 0.0
	for k := 1; k <= measuredClients; k++ {
		free += longestPause / 2 / float64(k)
	}
	sections := measuredClients * work(serial)
	ms := func(x float64) string { return bench.Decimal(new(x/1000), bench.Brief) }
	return Table(2, []string{"what", "from", "ms"}, [][]string{
		{"a round trip", "the serial limit's work ÷ its commands", ms(trip)},
		{"a round trip with a script", "*lua-decrement*, which is one", ms(work(rows["lua-decrement"]))},
		{"waking the next waiter", "notify's work, less the serial limit's and its other commands", ms(wake)},
		{"1000 sections without a wait", "the serial limit's work", ms(sections)},
		{"the lock is free, everybody sleeps", "50 ms × (1 + 1/2 + 1/3 + … + 1/1000)", ms(free)},
	}) + fmt.Sprintf("\nSo a lock that polls can have about %s acquisitions a second: 1000 divided by the sum of the last"+
		" two rows.\n", bench.Decimal(new(measuredClients*1e6/(sections+free)), bench.Brief)), nil
}

// work is the processor time of a section in microseconds, of clients and servers
// together; 0 when it isn't known.
func work(row bench.Row) float64 { return *cmp.Or(row.Work(), new(0.0)) }

// column is a column of a table whose rows are values of one type.
type column[T any] struct {
	head string
	cell func(T) string
}

// tableOf is a table. So many of its first columns are left-aligned.
func tableOf[T any](left int, columns []column[T], rows []T) string {
	var heads []string
	for _, column := range columns {
		heads = append(heads, column.head)
	}
	var all [][]string
	for _, row := range rows {
		var cells []string
		for _, column := range columns {
			cells = append(cells, column.cell(row))
		}
		all = append(all, cells)
	}
	return Table(left, heads, all)
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
	return fmt.Sprintf("≤\u00a0%s", row.Pause())
}
