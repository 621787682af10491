package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// section is a chart with its table.
type section struct {
	ID     string
	Title  string
	Text   string // what it shows
	Option object // for the chart library
	Height int    // in pixels
	Head   []string
	Body   [][]string
}

// colors are enough for all rungs; neighbors in the table differ.
var colors = []string{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1",
	"#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#1f77b4", "#2ca02c", "#8c564b",
	"#d62728", "#17becf", "#7f7f7f", "#bcbd22", "#9467bd", "#000000"}

// sections are the charts of a report. Those that would be empty are left out.
func sections(r benchmark.Report) []section {
	var all []section
	for _, s := range []section{
		throughput(r), waits(r), commands(r), service(r),
	} {
		if len(s.Body) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// names are those of the rows, each once, in the order of the table.
func names(rows []benchmark.Row) []string {
	var all []string
	for _, row := range rows {
		if !slices.Contains(all, row.Rung) {
			all = append(all, row.Rung)
		}
	}
	return all
}

// sweep is what was varied: the number of clients, or else the pause.
type sweep struct {
	name   string
	values []string
	of     func(benchmark.Row) string
}

func swept(rows []benchmark.Row) sweep {
	clients := sweep{name: "clients", of: func(r benchmark.Row) string {
		return fmt.Sprint(r.InTableOf)
	}}
	polls := sweep{name: "longest pause, ms",
		of: func(r benchmark.Row) string { return fmt.Sprintf("%g", r.PollMs) }}
	for i := range 2 {
		s := []*sweep{&clients, &polls}[i]
		for _, row := range rows {
			if v := s.of(row); !slices.Contains(s.values, v) {
				s.values = append(s.values, v)
			}
		}
	}
	// On embedded servers the pause depends on the number of nodes too.
	if len(clients.values) == 1 && len(polls.values) > 1 &&
		len(rows) == len(polls.values)*len(names(rows)) {
		return polls
	}
	return clients
}

// greatest are the rows with the most clients, which charts show of a sweep
// where one number of clients is enough.
func greatest(r benchmark.Report) []benchmark.Row {
	s := swept(r.Rows)
	last := ""
	if len(s.values) > 0 {
		last = s.values[len(s.values)-1]
	}
	var rows []benchmark.Row
	for _, row := range r.Rows {
		if s.of(row) == last {
			rows = append(rows, row)
		}
	}
	return rows
}

// of says which rows a chart shows, when it does not show all.
func of(r benchmark.Report) string {
	if s := swept(r.Rows); len(s.values) > 1 {
		return fmt.Sprintf(" With %s: %s.", s.name, s.values[len(s.values)-1])
	}
	return ""
}

// object is in the terms of the chart library: echarts.apache.org/en/option.html.
type object map[string]any

// selection says of a series whether it is shown; those that it lacks are.
type selection map[string]bool

// option is a chart with a legend on the right. A reader clicks on a name there to
// show the series or to hide it.
func option(x, y object, shown selection, series []object) object {
	return chart(x, y, object{"left": 70, "right": 190, "top": 40, "bottom": 50},
		object{"right": 0, "top": "middle", "orient": "vertical", "align": "left",
			"selected": shown}, series)
}

func chart(x, y, grid, legend object, series []object) object {
	x["nameLocation"], x["nameGap"] = "middle", 30
	y["nameLocation"], y["nameGap"] = "end", 12
	return object{"color": colors, "animation": false, "xAxis": x, "yAxis": y,
		"tooltip": object{"trigger": "item"}, "grid": grid, "legend": legend,
		"series": series}
}

// lying is a chart with horizontal bars, the first row on top.
func lying(r benchmark.Report, rows []string, what string,
	values []*float64) object {
	var bars []object
	for i, value := range values {
		color := colors[slices.Index(names(r.Rows), rows[i])%len(colors)]
		bars = append(bars, object{"value": value, "itemStyle": object{"color": color}})
	}
	return chart(object{"type": "log", "name": what},
		object{"type": "category", "data": rows, "inverse": true},
		object{"left": 150, "right": 80, "top": 20, "bottom": 50},
		object{"show": false},
		[]object{{"type": "bar", "name": what, "data": bars,
			"label": object{"show": true, "position": "right"}}})
}

// throughput is the acquisitions a second, against what was varied.
func throughput(r benchmark.Report) section {
	s := swept(r.Rows)
	out := section{ID: "throughput", Height: 420,
		Title: "Acquisitions a second against " + s.name,
		Text: "Completed turns of all clients together, on a logarithmic scale. " +
			"serial-limit is one client with nobody to wait for.",
		Head: append([]string{"row"}, s.values...)}
	var lines []object
	var single []*float64
	for _, name := range names(r.Rows) {
		points := make([]*float64, len(s.values))
		cells := slices.Repeat([]string{"–"}, len(s.values))
		for _, row := range r.Rows {
			at := slices.Index(s.values, s.of(row))
			if row.Rung != name || at < 0 || row.AcquisitionsPerSecond == nil {
				continue
			}
			cells[at] = fmt.Sprintf("%.0f", *row.AcquisitionsPerSecond)
			if *row.AcquisitionsPerSecond > 0 {
				points[at] = row.AcquisitionsPerSecond
			}
		}
		out.Body = append(out.Body, append([]string{name}, cells...))
		lines = append(lines, object{"type": "line", "name": name, "data": points})
		single = append(single, points[0])
	}
	if len(s.values) == 1 {
		out.Title = "Acquisitions a second"
		out.Option = lying(r, names(r.Rows), "acquisitions/s", single)
		return out
	}
	out.Option = option(object{"type": "category", "name": s.name, "data": s.values},
		object{"type": "log", "name": "acquisitions/s"}, selection{}, lines)
	return out
}

// waits is the distribution of the waits.
func waits(r benchmark.Report) section {
	out := section{ID: "waits", Height: 420, Title: "How long clients waited",
		Text: "A point says: so many percent of the acquisitions waited no " +
			"longer than this." + of(r),
		Head: []string{"row"}}
	var percents []string
	for _, p := range benchmark.Percents {
		percents = append(percents, fmt.Sprintf("%g", p))
	}
	for _, p := range percents {
		out.Head = append(out.Head, p+" %")
	}
	var lines []object
	for _, row := range greatest(r) {
		if row.Wait == nil || len(row.Wait.Percentiles) != len(percents) {
			continue
		}
		points := make([]*float64, len(percents))
		cells := []string{row.Rung}
		for i, wait := range row.Wait.Percentiles {
			if wait > 0 {
				points[i] = &wait
			}
			cells = append(cells, fmt.Sprintf("%.2f", wait))
		}
		lines = append(lines, object{"type": "line", "name": row.Rung, "data": points})
		out.Body = append(out.Body, cells)
	}
	out.Option = option(object{"type": "category", "data": percents,
		"name": "percent of the acquisitions"},
		object{"type": "log", "name": "wait, ms"}, selection{}, lines)
	return out
}

// commands is what a section costs.
func commands(r benchmark.Report) section {
	out := section{ID: "commands", Height: 420, Title: "Commands for a section",
		Text: "What clients send for every completed turn, refused attempts " +
			"included and publish/subscribe not, on a logarithmic scale." + of(r),
		Head: []string{"row", "commands", "round trips", "calls by the server's " +
			"word", "refused attempts"}}
	var rows []string
	var values []*float64
	for _, row := range greatest(r) {
		if row.CommandsPerSection == nil {
			continue
		}
		rows = append(rows, row.Rung)
		values = append(values, row.CommandsPerSection)
		retries := "–"
		if row.Retries != nil {
			retries = fmt.Sprint(*row.Retries)
		}
		out.Body = append(out.Body, []string{row.Rung,
			number(row.CommandsPerSection), number(row.RoundTripsPerSection),
			number(row.CallsPerSection), retries})
	}
	out.Option = lying(r, rows, "commands", values)
	return out
}

// service is the order of service.
func service(r benchmark.Report) section {
	out := section{ID: "service", Height: 520, Title: "Who was served when",
		Text: "A point is an acquisition: when it was asked for, and when it was " +
			"granted, each as a share of all. First come, first served is the " +
			"diagonal; a cloud is chance. The most and the least orderly rung are " +
			"shown: click on a name to see another." + of(r),
		Head: []string{"row", "pairs in the order of asking, %", "Jain's index",
			"longest wait / median"}}
	var clouds []object
	shown := selection{}
	var most, least benchmark.Row
	for _, row := range greatest(r) {
		if row.InOrder == nil || len(row.Service) < 2 {
			continue
		}
		shown[row.Rung] = false
		if row.Kind != benchmark.Baseline {
			if most.InOrder == nil || *row.InOrder > *most.InOrder {
				most = row
			}
			if least.InOrder == nil || *row.InOrder < *least.InOrder {
				least = row
			}
		}
		var points [][2]float64
		for i, granted := range row.Service {
			asked := 100 * float64(i) / float64(len(row.Service)-1)
			points = append(points, [2]float64{math.Round(10*asked) / 10, granted})
		}
		clouds = append(clouds, object{"type": "scatter", "name": row.Rung,
			"symbolSize": 6, "data": points})
		cells := []string{row.Rung, fmt.Sprintf("%.1f", 100**row.InOrder),
			number(row.Jain), "–"}
		if row.Wait != nil && row.Wait.P50 > 0 {
			cells[3] = fmt.Sprintf("%.2f", row.Wait.Max/row.Wait.P50)
		}
		out.Body = append(out.Body, cells)
	}
	if most.InOrder == nil {
		shown = selection{} // there are only baselines
	} else {
		shown[most.Rung], shown[least.Rung] = true, true
	}
	out.Option = option(
		object{"type": "value", "name": "asked, % of the acquisitions", "max": 100},
		object{"type": "value", "name": "granted, %", "max": 100}, shown, clouds)
	return out
}

func number(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.3g", *x)
}
