package pages

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
	var rows [][]string
	for _, row := range r.Rows {
		if row.InTableOf != clients {
			continue
		}
		p50, longest, commands, updates := "–", "–", "–", "none"
		if row.Wait != nil {
			p50 = fmt.Sprintf("%.1f", row.Wait.P50)
			longest = fmt.Sprintf("%.0f", row.Wait.Max)
		}
		if row.CommandsPerSection != nil {
			commands = fmt.Sprintf("%.1f", *row.CommandsPerSection)
		}
		if row.LostUpdates > 0 {
			updates = fmt.Sprintf("**%d**", row.LostUpdates)
		}
		spread := "–"
		if s := row.Spread(); s != nil {
			spread = fmt.Sprintf("%.0f", 100**s)
		}
		rows = append(rows, []string{row.Rung,
			fmt.Sprintf("%.3f", *row.RatioToSerial), spread,
			fmt.Sprintf("%.0f", *row.AcquisitionsPerSecond), p50, longest,
			commands, pause(row), updates})
	}
	return generated.Table(1, []string{"lock", "times serial", "± %",
		"acquisitions/s", "wait p50, ms", "longest wait, ms",
		"commands a section", "pause", "lost updates"}, rows), nil
}

// pause is how long a refused client sleeps, where the lock polls at all.
func pause(row bench.Row) string {
	if row.Woken() {
		return "woken"
	}
	if row.Kind == bench.Baseline {
		return "–"
	}
	return fmt.Sprintf("≤ %s", time.Duration(row.PollMs*float64(
		time.Millisecond)))
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
		if row.Rung == name && row.InTableOf == measuredClients &&
			row.RatioToSerial != nil {
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
		cohort.Clients, *cohort.RatioToSerial, *notify.RatioToSerial)), nil
}

func (g *Generator) redlockFigure() (string, error) {
	redlock, err := g.row("redlock")
	return wrapped(fmt.Sprintf("In the [committed run](benchmark.md#a-run), %d"+
		" clients that ask the nodes in order all had their turn within %.1f s.",
		redlock.Clients, redlock.Seconds)), err
}

// wrapped is a paragraph in lines.
func wrapped(text string) string {
	return strings.Join(history.Wrap(text, 88, 0), "\n") + "\n"
}
