package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

// Pictures are a run's pictures, by the ends of their files' names: a row for each
// lock, on a logarithmic scale. Rows and pictures without figures are left out.
var Pictures = []struct {
	Name string
	Draw func(bench.Report, io.Writer) error
}{
	{"serial", drawn(serialDots)},
	{"throughput", drawn(func(r bench.Report) dots {
		return against(r, "Acquisitions a second", "acquisitions a second",
			"acquisitions_per_second")
	})},
	{"waits", drawn(waitDots)},
	{"growth", drawn(func(r bench.Report) dots {
		d := against(r, "Commands for one acquisition and release", "commands",
			"commands_per_section")
		if len(d.legend) < 2 {
			return dots{} // nothing grows
		}
		return d
	})},
	{"order", order},
}

// The measures of these pictures, in pixels. They are narrow, and their letters are
// large, because a phone shows them at half their size.
const (
	dotsWidth   = 600
	dotsLeft    = 178
	dotsScale   = 340
	dotsHeight  = 26
	lineLength  = 84 // characters of small text
	titleLength = 62
)

// dots is a picture before it is drawn.
type dots struct {
	title  string   // what was found, or what is shown
	axis   string   // what is measured, with its unit
	legend []string // what a row's dots stand for, the last one the darkest
	number string   // which of the dots the numbers on the right belong to
	most   string   // the last value of what was varied
	rows   []dotsRow
}

// dotsRow is a lock's row.
type dotsRow struct {
	row    bench.Row
	values []float64 // a dot each; 0: none
	number float64   // that of the last dot; 0: none
	from   float64   // of the line behind the dots; 0: none
	to     float64
}

// serialDots are the ratios to the serial limit, with the range of the rounds. Their
// title is what was found, if anything was.
func serialDots(r bench.Report) dots {
	d := dots{title: "Acquisitions, compared with one client that never waits",
		axis:   "acquisitions a second ÷ those of one client alone (serial limit)",
		legend: []string{"median of the rounds; the line is their range"},
		number: "median"}
	if found := bench.Finding(r.Rows); found != "" {
		d.title = found
	}
	for _, row := range greatest(r) {
		ratio := row.Ratio()
		if ratio == nil || row.Name() == "serial-limit" {
			continue
		}
		d.most = bench.Plural(row.Count("clients"), "client")
		all := append(row.Ratios(), *ratio)
		d.rows = append(d.rows, dotsRow{row: row, values: []float64{*ratio},
			number: *ratio, from: slices.Min(all), to: slices.Max(all)})
	}
	if d.most != "" {
		d.axis = d.most + ": " + d.axis
	}
	return d
}

// against has a dot of every row for each value of what was varied.
func against(r bench.Report, title, axis, figure string) dots {
	s := swept(r.Rows)
	d := dots{title: title, axis: axis}
	for _, v := range s.values {
		d.most = v + " " + s.name
		d.legend = append(d.legend, d.most)
	}
	d.number = d.most
	for _, name := range names(r.Rows) {
		line := dotsRow{values: make([]float64, len(s.values))}
		for _, row := range r.Rows {
			if value := row.Number(figure); row.Name() == name && value != nil {
				line.row = row
				line.values[slices.Index(s.values, s.of(row))] = *value
			}
		}
		line.ends()
		d.rows = append(d.rows, line)
	}
	return d
}

// waitDots are the distributions of the waits.
func waitDots(r bench.Report) dots {
	d := dots{title: "How long clients waited for the lock", axis: "wait, ms",
		legend: []string{"half", "99 %", "all of the acquisitions waited no longer"},
		number: "longest"}
	if s := swept(r.Rows); len(s.values) > 0 {
		d.most = s.values[len(s.values)-1] + " " + s.name
		d.title += ", " + d.most
	}
	for _, row := range greatest(r) {
		line := dotsRow{row: row}
		for _, name := range []string{"wait_ms.p50", "wait_ms.p99", "wait_ms.max"} {
			if x := row.Number(name); x != nil {
				line.values = append(line.values, *x)
			}
		}
		line.ends()
		d.rows = append(d.rows, line)
	}
	return d
}

// ends draws the line from the least to the greatest of the values, and takes the
// number from the last.
func (d *dotsRow) ends() {
	for _, v := range d.values {
		if v > 0 {
			if d.to = max(v, d.to); d.from == 0 || v < d.from {
				d.from = v
			}
		}
	}
	if len(d.values) > 0 {
		d.number = d.values[len(d.values)-1]
	}
}

// placed is what the template draws.
type placed struct {
	X, Y        float64
	Text, Color string
	Number      string
	From, To    float64
	Dots        []placed
}

var dotsTemplate = template.Must(template.New("dots").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" ` +
		`height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img" ` +
		`aria-label="{{.Title}}: {{.Axis}}" font-family="system-ui, sans-serif" font-size="16">
<rect width="{{.Width}}" height="{{.Height}}" fill="#fff"/>
{{range .Titles}}<text x="8" y="{{.Y}}" font-size="18" fill="#222">{{.Text}}</text>
{{end}}{{range .Small}}<text x="8" y="{{.Y}}" font-size="13" fill="#555">{{.Text}}</text>
{{end}}{{range .Legend}}<circle cx="{{.X}}" cy="{{.Y}}" r="6" fill="{{.Color}}"/>` +
		`<text x="{{.X}}" y="{{.Y}}" dx="11" dy="5" font-size="14" fill="#222">{{.Text}}</text>
{{end}}{{range .Ticks}}<path d="M{{.X}} {{$.Top}}V{{$.Bottom}}" stroke="#ddd"/>
<text x="{{.X}}" y="{{$.Bottom}}" dy="18" font-size="14" text-anchor="middle" ` +
		`fill="#555">{{.Text}}</text>
{{end}}{{range .Rows}}{{$y := .Y}}<text x="{{$.Left}}" y="{{.Y}}" dx="-12" dy="5" ` +
		`text-anchor="end" fill="{{.Color}}">{{.Text}}</text>
{{if .To}}<path d="M{{.From}} {{.Y}}H{{.To}}" stroke="#888" stroke-width="2"/>
{{end}}{{range .Dots}}<circle cx="{{.X}}" cy="{{$y}}" r="6" fill="{{.Color}}"/>
{{end}}{{if .Number}}<text x="{{$.Right}}" y="{{$y}}" dy="5" font-size="14" ` +
		`text-anchor="end" fill="{{$.Darkest}}">{{.Number}}</text>
{{end}}{{end}}<text x="{{.Right}}" y="{{.Top}}" dy="-4" font-size="13" ` +
		`text-anchor="end" fill="{{.Darkest}}">{{.Column}}</text>
<text x="{{.Right}}" y="{{.Bottom}}" dy="38" text-anchor="end" font-size="14" fill="#222">{{.Axis}}</text>
</svg>
`))

// drawn draws a picture, or nothing when it would have no rows.
func drawn(of func(bench.Report) dots) func(bench.Report, io.Writer) error {
	return func(r bench.Report, w io.Writer) error {
		d := of(r)
		d.rows = slices.DeleteFunc(d.rows, func(row dotsRow) bool { return row.to == 0 })
		if len(d.rows) == 0 {
			return nil
		}
		if err := dotsTemplate.Execute(w, d.place(r.Env)); err != nil {
			return fmt.Errorf("draw the picture of %s: %w", d.title, err)
		}
		return nil
	}
}

// place gives everything its place.
func (d dots) place(env bench.Env) map[string]any {
	least, most := decades(d.rows)
	at := func(v float64) float64 {
		x := math.Log(v/least) / math.Log(most/least) * dotsScale
		return math.Round(10*(dotsLeft+x)) / 10
	}
	shades := []string{"#7fb0de", "#4e86c4", "#173f6d"}
	color := func(i, n int) string {
		return shades[max(0, len(shades)-n+i)%len(shades)]
	}
	y := 0.0
	var titles, small, legend, rows, ticks []placed
	for _, line := range bench.Wrap(d.title, titleLength) {
		y += 22
		titles = append(titles, placed{Y: y, Text: line})
	}
	write := func(text string) {
		for _, line := range bench.Wrap(text, lineLength) {
			y += 18
			small = append(small, placed{Y: y, Text: line})
		}
	}
	write(where(env))
	for _, note := range notes(d.rows, d.most) {
		write(note)
	}
	y += 22
	x := 16.0
	for i, text := range d.legend {
		legend = append(legend, placed{X: x, Y: y, Text: text,
			Color: color(i, len(d.legend))})
		x += float64(30 + 8*len(text))
	}
	top := y + 28
	y = top
	for _, row := range d.rows {
		name, fill := row.row.Name()+mark(row.row), "#222"
		if row.row.Wrong() {
			fill = "#b3261e"
		}
		p := placed{Y: y + dotsHeight/2, Text: name, Color: fill,
			From: at(row.from), To: at(row.to)}
		if row.number > 0 {
			p.Number = amount(row.number)
		}
		for i, v := range row.values {
			if v == 0 {
				continue
			}
			p.Dots = append(p.Dots,
				placed{X: at(v), Color: color(i, len(row.values))})
		}
		rows = append(rows, p)
		y += dotsHeight
	}
	for v := least; v <= most*1.001; v *= 10 {
		ticks = append(ticks, placed{X: at(v), Text: tickText(v)})
	}
	return map[string]any{"Width": dotsWidth, "Height": y + 46, "Left": dotsLeft,
		"Right": dotsWidth - 8, "Top": top, "Bottom": y, "Title": d.title,
		"Titles": titles, "Axis": d.axis, "Column": d.number,
		"Darkest": shades[len(shades)-1], "Small": small, "Legend": legend,
		"Ticks": ticks, "Rows": rows}
}

// decades are the powers of ten around all values.
func decades(rows []dotsRow) (least, most float64) {
	least, most = math.Inf(1), 0
	for _, row := range rows {
		least, most = min(least, row.from), max(most, row.to)
	}
	least = math.Pow10(int(math.Floor(math.Log10(least))))
	most = math.Pow10(int(math.Ceil(math.Log10(most))))
	if most <= least {
		most = 10 * least
	}
	return least, most
}

// mark says at a name that the row can't be compared with the others.
func mark(row bench.Row) string {
	text := ""
	if row.Wrong() {
		text += " ✗"
	}
	if pausesOtherwise(row) {
		text += " †"
	}
	return text
}

// pausesOtherwise says that a refused client pauses for longer or shorter than usual.
func pausesOtherwise(row bench.Row) bool {
	pause := row.Pause()
	return row.Kind() != bench.Baseline && pause > 0 && pause != lock.DefaultPoll
}

// notes explain the marks.
func notes(rows []dotsRow, most string) []string {
	var all []string
	if slices.ContainsFunc(rows, func(d dotsRow) bool { return d.row.Wrong() }) {
		all = append(all, "✗ loses updates: fast and wrong")
	}
	pauses := map[time.Duration]int{}
	var last time.Duration
	for _, d := range rows {
		if pausesOtherwise(d.row) {
			last = d.row.Pause()
			pauses[last]++
		}
	}
	if len(pauses) == 1 && 2*pauses[last] <= len(rows) {
		all = append(all, fmt.Sprintf("† with %s, its clients pause for up to %v,"+
			" the others' for up to %v", most, last, lock.DefaultPoll))
	} else if len(pauses) > 0 {
		all = append(all, fmt.Sprintf("† with a pause other than up to %v",
			lock.DefaultPoll))
	}
	return all
}

// amount is a value with the digits that a reader can compare.
func amount(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func tickText(v float64) string {
	if v >= 10000 {
		return strconv.FormatFloat(v/1000, 'f', 0, 64) + " 000"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// where names the environment in one line.
func where(env bench.Env) string {
	words := []string{env.Server}
	if env.ServerVersion != nil {
		words[0] = "Redis " + *env.ServerVersion
	}
	words = append(words, env.Go)
	if env.CPU != nil {
		words = append(words, *env.CPU)
	}
	if env.Pinned != nil {
		words = append(words, "servers and clients on one CPU")
	}
	words = append(words, "logarithmic")
	return template.HTMLEscapeString(strings.Join(words, ", "))
}
