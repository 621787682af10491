package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// section is a chart with its table.
type section struct {
	ID     string
	Title  string
	Text   string // what it shows
	Option any    // for the chart library
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

// greatest are the rows with the most clients: what is shown of a sweep where
// one number of clients is enough.
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

// common are the settings of every chart.
func common(x opts.XAxis, y opts.YAxis, grid opts.Grid) []charts.GlobalOpts {
	x.NameLocation, x.NameGap = "middle", 30
	y.NameLocation, y.NameGap = "end", 12
	return []charts.GlobalOpts{
		charts.WithColorsOpts(colors),
		charts.WithAnimation(false),
		charts.WithXAxisOpts(x),
		charts.WithYAxisOpts(y),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true),
			Trigger: "item"}),
		charts.WithGridOpts(grid),
	}
}

// beside leaves room for a legend on the right.
var beside = opts.Grid{Left: "70", Right: "190", Top: "40", Bottom: "50"}

// legend names the series on the right. When shown is not nil, only those are
// drawn until a reader clicks on another.
func legend(shown map[string]bool) charts.GlobalOpts {
	return charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Right: "0",
		Top: "middle", Orient: "vertical", Align: "left", Selected: shown})
}

// throughput is the acquisitions a second, against what was varied.
func throughput(r benchmark.Report) section {
	s := swept(r.Rows)
	out := section{ID: "throughput", Height: 420,
		Title: "Acquisitions a second against " + s.name,
		Text: "Completed turns of all clients together, on a logarithmic scale. " +
			"serial-limit is one client with nobody to wait for.",
		Head: append([]string{"row"}, s.values...)}
	line := charts.NewLine()
	bar := charts.NewBar()
	x := opts.XAxis{Type: "category", Name: s.name}
	y := opts.YAxis{Type: "log", Name: "acquisitions/s"}
	var single []opts.BarData
	for i, name := range names(r.Rows) {
		points := make([]opts.LineData, len(s.values))
		cells := make([]string, len(s.values))
		for j := range s.values {
			points[j].Value, cells[j] = nil, "–"
		}
		for _, row := range r.Rows {
			at := slices.Index(s.values, s.of(row))
			if row.Rung != name || at < 0 || row.AcquisitionsPerSecond == nil {
				continue
			}
			speed := *row.AcquisitionsPerSecond
			cells[at] = fmt.Sprintf("%.0f", speed)
			if speed > 0 {
				points[at].Value = speed
			}
		}
		out.Body = append(out.Body, append([]string{name}, cells...))
		line.AddSeries(name, points)
		single = append(single, opts.BarData{Name: name, Value: points[0].Value,
			ItemStyle: &opts.ItemStyle{Color: colors[i%len(colors)]}})
	}
	if len(s.values) > 1 {
		line.SetGlobalOptions(append(common(x, y, beside), legend(nil))...)
		line.SetXAxis(s.values)
		line.Validate()
		out.Option = line.JSON()
		return out
	}
	out.Title = "Acquisitions a second"
	lying(bar, names(r.Rows), "acquisitions/s", "log", single)
	out.Option = bar.JSON()
	return out
}

// lying makes horizontal bars, the first row on top.
func lying(bar *charts.Bar, names []string, what, scale string,
	values []opts.BarData) {
	options := common(opts.XAxis{Type: scale, Name: what},
		opts.YAxis{Type: "category", Data: names, Inverse: opts.Bool(true)},
		opts.Grid{Left: "150", Right: "80", Top: "20", Bottom: "50"})
	bar.SetGlobalOptions(append(options, charts.WithLegendOpts(
		opts.Legend{Show: opts.Bool(false)}))...)
	bar.AddSeries(what, values, charts.WithLabelOpts(opts.Label{
		Show: opts.Bool(true), Position: "right"}))
	bar.Validate()
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
	line := charts.NewLine()
	line.SetGlobalOptions(append(common(
		opts.XAxis{Type: "category", Name: "percent of the acquisitions"},
		opts.YAxis{Type: "log", Name: "wait, ms"}, beside), legend(nil))...)
	line.SetXAxis(percents)
	for _, row := range greatest(r) {
		if row.Wait == nil || len(row.Wait.Percentiles) != len(percents) {
			continue
		}
		points := make([]opts.LineData, len(percents))
		cells := []string{row.Rung}
		for i, wait := range row.Wait.Percentiles {
			if wait > 0 {
				points[i].Value = wait
			}
			cells = append(cells, fmt.Sprintf("%.2f", wait))
		}
		line.AddSeries(row.Rung, points)
		out.Body = append(out.Body, cells)
	}
	line.Validate()
	out.Option = line.JSON()
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
	var values []opts.BarData
	for _, row := range greatest(r) {
		if row.CommandsPerSection == nil {
			continue
		}
		color := colors[slices.Index(names(r.Rows), row.Rung)%len(colors)]
		rows = append(rows, row.Rung)
		values = append(values, opts.BarData{Value: *row.CommandsPerSection,
			ItemStyle: &opts.ItemStyle{Color: color}})
		retries := "–"
		if row.Retries != nil {
			retries = fmt.Sprint(*row.Retries)
		}
		out.Body = append(out.Body, []string{row.Rung,
			number(row.CommandsPerSection), number(row.RoundTripsPerSection),
			number(row.CallsPerSection), retries})
	}
	bar := charts.NewBar()
	lying(bar, rows, "commands", "log", values)
	out.Option = bar.JSON()
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
	scatter := charts.NewScatter()
	shown := map[string]bool{}
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
		var points []opts.ScatterData
		for i, granted := range row.Service {
			asked := 100 * float64(i) / float64(len(row.Service)-1)
			points = append(points, opts.ScatterData{SymbolSize: 6,
				Value: []float64{math.Round(10*asked) / 10, granted}})
		}
		scatter.AddSeries(row.Rung, points)
		cells := []string{row.Rung, fmt.Sprintf("%.1f", 100**row.InOrder),
			number(row.Jain), "–"}
		if row.Wait != nil && row.Wait.P50 > 0 {
			cells[3] = fmt.Sprintf("%.2f", row.Wait.Max/row.Wait.P50)
		}
		out.Body = append(out.Body, cells)
	}
	if most.InOrder == nil {
		shown = nil // there are only baselines: show all
	} else {
		shown[most.Rung], shown[least.Rung] = true, true
	}
	scatter.SetGlobalOptions(append(common(
		opts.XAxis{Type: "value", Name: "asked, % of the acquisitions", Max: 100},
		opts.YAxis{Type: "value", Name: "granted, %", Max: 100}, beside),
		legend(shown))...)
	scatter.Validate()
	out.Option = scatter.JSON()
	return out
}

func number(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.3g", *x)
}
