package bench

import (
	_ "embed"
	"fmt"
	html "html/template"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/lock"
)

// Pictures are a run's pictures, by the ends of their files' names. Rows and pictures
// without figures are left out.
var Pictures = []struct {
	Name string
	Draw func(Report, io.Writer) error
}{
	{"serial", drawn(serialDots)},
	{"throughput", drawn(func(r Report) picture {
		return against(r, "Acquisitions a second", "acquisitions a second",
			"acquisitions_per_second")
	})},
	{"waits", drawn(waitDots)},
	{"growth", drawn(func(r Report) picture {
		p := against(r, "Commands for one acquisition and release", "commands",
			"commands_per_section")
		if len(p.legend) < 2 {
			return picture{} // nothing grows
		}
		return p
	})},
	{"order", drawn(served)},
}

// The measures of the pictures, in pixels. They are narrow, and their letters are
// large, because a phone shows them at half their size.
const (
	pictureWidth = 600
	dotsLeft     = 178
	dotsScale    = 340
	dotsHeight   = 26
	squareSide   = 116
	squareStep   = 146 // from one square to the next, downwards 4 more
	squaresRow   = 4
	lineLength   = 84 // characters of small text
	titleLength  = 62
)

// picture is one before it is drawn: rows of dots on a logarithmic scale, or squares.
type picture struct {
	title   string   // what was found, or what is shown
	notes   []string // in small letters below it
	squares []square
	rows    []dotsRow

	axis   string   // what the dots measure, with its unit
	legend []string // what a row's dots stand for, the last one the darkest
	number string   // which of the dots the numbers on the right belong to
	most   string   // the last value of what was varied
}

// dotsRow is a lock's row.
type dotsRow struct {
	row    Row
	values []float64 // a dot each; 0: none
	number float64   // that of the last dot; 0: none
	from   float64   // of the line behind the dots; 0: none
	to     float64
}

// square is a lock's, with a path of dots.
type square struct {
	X, Y       float64
	Name, Dots string
}

// varied is what was varied: the number of clients, or else the pause.
type varied struct {
	name   string
	values []string
	of     func(Row) string
}

func swept(rows []Row) varied {
	clients := varied{"clients", nil, func(r Row) string {
		return fmt.Sprint(r.Count("table_clients"))
	}}
	polls := varied{"longest pause, ms", nil, func(r Row) string {
		return fmt.Sprintf("%g", *r.Number("poll_ms"))
	}}
	clients.values, polls.values = each(rows, clients.of), each(rows, polls.of)
	// On embedded servers the pause depends on the number of nodes too.
	if len(clients.values) == 1 && len(polls.values) > 1 &&
		len(rows) == len(polls.values)*len(each(rows, Row.Name)) {
		return polls
	}
	return clients
}

// each are the words of rows, each once, in the order of the table.
func each(rows []Row, word func(Row) string) (all []string) {
	for _, row := range rows {
		if w := word(row); !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// greatest are the rows with the most clients, for pictures where one number of
// clients is enough.
func greatest(r Report) (rows []Row, most string) {
	s := swept(r.Rows)
	for _, row := range r.Rows {
		if last := s.values[len(s.values)-1]; s.of(row) == last {
			rows, most = append(rows, row), last+" "+s.name
		}
	}
	return rows, most
}

// serialDots are the ratios to the serial limit, with the range of the rounds. Their
// title is what was found, if anything was.
func serialDots(r Report) picture {
	p := picture{title: "Acquisitions, compared with one client that never waits",
		legend: []string{"median of the rounds; the line is their range"},
		number: "median"}
	if found := Finding(r.Rows); found != "" {
		p.title = found
	}
	rows, _ := greatest(r)
	for _, row := range rows {
		ratio := row.Ratio()
		if ratio == nil || row.Name() == "serial-limit" {
			continue
		}
		p.most = Plural(row.Count("clients"), "client")
		all := append(row.Ratios(), *ratio)
		p.rows = append(p.rows, dotsRow{row: row, values: []float64{*ratio},
			number: *ratio, from: slices.Min(all), to: slices.Max(all)})
	}
	p.axis = p.most + ": acquisitions a second ÷ those of one client alone (serial limit)"
	return p
}

// against has a dot of every row for each value of what was varied.
func against(r Report, title, axis, figure string) picture {
	s := swept(r.Rows)
	p := picture{title: title, axis: axis}
	for _, v := range s.values {
		p.most = v + " " + s.name
		p.legend = append(p.legend, p.most)
	}
	p.number = p.most
	for _, name := range each(r.Rows, Row.Name) {
		line := dotsRow{values: make([]float64, len(s.values))}
		for _, row := range r.Rows {
			if value := row.Number(figure); row.Name() == name && value != nil {
				line.row = row
				line.values[slices.Index(s.values, s.of(row))] = *value
			}
		}
		p.rows = append(p.rows, line.ends())
	}
	return p
}

// waitDots are the distributions of the waits.
func waitDots(r Report) picture {
	rows, most := greatest(r)
	p := picture{title: "How long clients waited for the lock, " + most,
		axis:   "wait, ms",
		legend: []string{"half", "99 %", "all of the acquisitions waited no longer"},
		number: "longest", most: most}
	for _, row := range rows {
		line := dotsRow{row: row}
		for _, name := range []string{"wait_ms.p50", "wait_ms.p99", "wait_ms.max"} {
			if x := row.Number(name); x != nil {
				line.values = append(line.values, *x)
			}
		}
		p.rows = append(p.rows, line.ends())
	}
	return p
}

// ends draws the line from the least to the greatest of the values, and takes the
// number from the last.
func (d dotsRow) ends() dotsRow {
	for _, v := range d.values {
		if v > 0 {
			if d.to = max(v, d.to); d.from == 0 || v < d.from {
				d.from = v
			}
		}
		d.number = v
	}
	return d
}

// served is who was served when: a square for each row that measured it.
func served(r Report) picture {
	p := picture{notes: []string{"A dot is an acquisition: to the right when it was asked" +
		" for, upwards when it was granted. First come, first served is the diagonal; a" +
		" cloud is chance. The percentage: pairs in order."}}
	rows, most := greatest(r)
	p.title = "Who was served when, with " + most
	for _, row := range rows {
		share, service := row.Number("in_order"), row.Numbers("order_of_service")
		if share == nil || len(service) < 2 {
			continue
		}
		var points strings.Builder
		for i, granted := range service {
			fmt.Fprintf(&points, "M%.1f %.1fh0",
				float64(squareSide*i)/float64(len(service)-1),
				squareSide*(1-granted/100))
		}
		n := len(p.squares)
		p.squares = append(p.squares, square{X: float64(8 + n%squaresRow*squareStep),
			Y:    float64(n / squaresRow * (squareStep + 4)),
			Name: fmt.Sprintf("%s %.0f %%", path.Base(row.Name()), 100**share),
			Dots: points.String()})
	}
	return p
}

// placed is what the template draws.
type placed struct {
	X, Y        float64
	Text, Color string
	Number      string
	From, To    float64
	Dots        []placed
}

//go:embed picture.svg
var pictureSource string

var pictureTemplate = template.Must(template.New("picture").Parse(pictureSource))

// drawn draws a picture, or nothing when it would be empty.
func drawn(of func(Report) picture) func(Report, io.Writer) error {
	return func(r Report, w io.Writer) error {
		if len(r.Rows) == 0 {
			return nil
		}
		p := of(r)
		p.rows = slices.DeleteFunc(p.rows, func(row dotsRow) bool { return row.to == 0 })
		if len(p.rows)+len(p.squares) == 0 {
			return nil
		}
		if err := pictureTemplate.Execute(w, p.place(r.Env)); err != nil {
			return fmt.Errorf("draw the picture of %s: %w", p.title, err)
		}
		return nil
	}
}

// shades are the colors of a row's dots, the last of which has the darkest.
var shades = []string{"#7fb0de", "#4e86c4", "#173f6d"}

func shade(i, n int) string { return shades[max(0, len(shades)-n+i)%len(shades)] }

// place gives everything its place.
func (p picture) place(env Env) map[string]any {
	d := map[string]any{"Width": pictureWidth, "Left": dotsLeft, "Right": pictureWidth - 8,
		"Title": p.title, "Axis": p.axis, "Column": p.number, "Side": squareSide,
		"Darkest": shades[len(shades)-1]}
	y := 0.0
	lines := func(step float64, length int, texts ...string) (all []placed) {
		for _, text := range texts {
			for _, line := range history.Wrap(text, length, 0) {
				y += step
				all = append(all, placed{Y: y, Text: line})
			}
		}
		return all
	}
	d["Titles"] = lines(22, titleLength, p.title)
	small := append([]string{env.line(len(p.rows) > 0)}, p.notes...)
	d["Small"] = lines(18, lineLength, append(small, notes(p.rows, p.most)...)...)
	if len(p.rows) > 0 {
		d["Legend"] = p.placeLegend(y + 22)
		y = p.placeRows(d, y+50) + 46
	}
	for i := range p.squares {
		p.squares[i].Y += y + 32
	}
	if n := len(p.squares); n > 0 {
		y = p.squares[n-1].Y + squareSide + 8
	}
	d["Height"], d["Squares"] = y, p.squares
	return d
}

func (p picture) placeLegend(y float64) (legend []placed) {
	x := 16.0
	for i, text := range p.legend {
		legend = append(legend, placed{X: x, Y: y, Text: text,
			Color: shade(i, len(p.legend))})
		x += float64(30 + 8*len(text))
	}
	return legend
}

// placeRows places the rows and their scale from y on, and returns where they end.
func (p picture) placeRows(d map[string]any, y float64) (bottom float64) {
	least, most := decades(p.rows)
	at := func(v float64) float64 {
		x := math.Log(v/least) / math.Log(most/least) * dotsScale
		return math.Round(10*(dotsLeft+x)) / 10
	}
	d["Top"] = y
	var rows, ticks []placed
	for _, row := range p.rows {
		line := placed{Y: y + dotsHeight/2, Text: row.row.Name() + mark(row.row),
			Color: "#222", From: at(row.from), To: at(row.to)}
		if row.row.Wrong() {
			line.Color = "#b3261e"
		}
		if row.number > 0 {
			line.Number = amount(row.number)
		}
		for i, v := range row.values {
			if v > 0 {
				line.Dots = append(line.Dots,
					placed{X: at(v), Color: shade(i, len(row.values))})
			}
		}
		rows = append(rows, line)
		y += dotsHeight
	}
	for v := least; v <= most*1.001; v *= 10 {
		text := fmt.Sprintf("%.6g", v)
		if v >= 10000 {
			text = fmt.Sprintf("%.0f 000", v/1000)
		}
		ticks = append(ticks, placed{X: at(v), Text: text})
	}
	d["Rows"], d["Ticks"], d["Bottom"] = rows, ticks, y
	return y
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
func mark(row Row) string {
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
func pausesOtherwise(row Row) bool {
	pause := row.Pause()
	return row.Kind() != Baseline && pause > 0 && pause != lock.DefaultPoll
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
		return fmt.Sprintf("%.0f", math.Round(v))
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// line names the environment in one line, and the scale where that is one.
func (env Env) line(scale bool) string {
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
	if scale {
		words = append(words, "logarithmic")
	}
	return template.HTMLEscapeString(strings.Join(words, ", "))
}

//go:embed page.html
var pageSource string

var page = html.Must(html.New("page").Parse(pageSource))

// WritePage writes a run of the inventory as one page with pictures, which needs
// nothing else: no other file and no network.
func WritePage(r Report, w io.Writer) error {
	var pictures []html.HTML
	for _, p := range Pictures {
		var b strings.Builder
		if err := p.Draw(r, &b); err != nil {
			return err
		}
		pictures = append(pictures, html.HTML(b.String()))
	}
	inRounds := slices.ContainsFunc(r.Rows, func(row Row) bool { return len(row.Rounds) > 1 })
	table := Layout{Paired: inRounds, Width: 1000} // the page scrolls
	text := table.Head(RowOf(nil))
	for _, row := range r.Rows {
		text += table.Row(row)
	}
	err := page.Execute(w, map[string]any{"Pictures": pictures, "Env": r.Env,
		"Rows": text + "\n" + table.Legend(RowOf(nil)), "Paired": inRounds})
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
