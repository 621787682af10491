package bench

import (
	"cmp"
	_ "embed"
	"fmt"
	html "html/template"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
)

// Picture is one of a run's; Name ends its file's name. Rows without figures are left out, pictures too.
type Picture struct {
	Name string
	of   func([]Row) picture
}

// Pictures are a run's.
var Pictures = []Picture{
	{"speed", func(rows []Row) picture {
		return against(rows, "How fast each lock is", rate, perSecond, speed, "± %", "times serial")
	}},
	{"waits", waitDots},
	{"growth", func(rows []Row) picture {
		if len(swept(rows).values) == 1 {
			return picture{} // nothing grows
		}
		return against(rows, "What each lock sends", sends, "commands for each acquisition", "the commands of polling ")
	}},
}

// Measures in pixels: narrow, with large letters, because a phone shows them at half their size.
const (
	pictureWidth = 600
	dotsLeft     = 178
	dotsScale    = 340
	dotsHeight   = 24
	lineLength   = 84 // characters of small text
	titleLength  = 62
	foundLength  = 60 // its letters are bold
	perSecond    = "acquisitions a second"
	speed        = "the speed of polling "
)

// picture is one before it is drawn: rows of dots on a logarithmic scale.
type picture struct {
	title string // what is shown
	found string // what that says, "" when it says nothing
	rows  []dotsRow

	axis   string   // what the dots measure, with its unit
	legend []string // what a row's dots stand for, the last one the largest
	number string   // which of the dots the numbers on the right belong to
	heads  []string // of the rows' cells: a median for each dot, the range of the last, and more figures
}

// dotsRow is a lock's row.
type dotsRow struct {
	row   Row
	dots  []dot // the last is the largest
	more  []string
	other []Row // of other dots
}

// dot is the median of all rounds, none if that is 0, with a line where the middle half of them is.
type dot struct {
	at, from, to float64
	rounds       int // that say it; those of an older file may not
}

func (r Row) dot(of func(Row) *float64) dot {
	all := r.all(of)
	d := dot{at: r.median(of), rounds: len(all)}
	d.from, d.to = middleHalf(append(all, slices.Repeat([]float64{d.at}, max(0, 1-len(all)))...))
	return d
}

// varied is what was varied: the number of clients, or else the pause.
type varied struct {
	values []string // in the order of the tables
	of     func(Row) string
}

func swept(rows []Row) varied {
	clients := varied{of: func(r Row) string { return Plural(r.Count("table_clients"), "client") }}
	polls := varied{of: func(r Row) string { return fmt.Sprintf("pauses of ≤ %v", r.Pause()) }}
	clients.values, polls.values = each(rows, clients.of), each(rows, polls.of)
	// On embedded servers the pause depends on the number of nodes too.
	if len(clients.values) == 1 && len(polls.values) > 1 && len(rows) == len(polls.values)*len(each(rows, Row.Name)) {
		return polls
	}
	return clients
}

// each are the words of rows, each once, in the order of the table.
func each[R any](rows []R, word func(R) string) (all []string) {
	for _, row := range rows {
		if w := word(row); !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// greatest are the rows of the last table, for what one number of clients is enough for; of a run
// that was interrupted, those of the last one that has most rows.
func greatest(all []Row) (rows []Row, most string) {
	s := swept(all)
	for _, value := range s.values {
		if of := slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return s.of(r) != value }); len(of) >= len(rows) {
			rows, most = of, value
		}
	}
	return rows, most
}

// cells are the figures of a row below these headings of the table.
func (r Row) cells(heads ...string) (all []string) {
	for _, f := range (Layout{}).columns(r) {
		if slices.Contains(heads, strings.TrimSpace(f.Column.Top+" "+f.Column.Head)) {
			all = append(all, f.Show())
		}
	}
	return all
}

// against has a dot of every row for each value of what was varied.
func against(rows []Row, title string, of func(Row) *float64, unit, what string, more ...string) picture {
	s := swept(rows)
	last := s.values[len(s.values)-1]
	p := picture{title: title + ", with " + strings.ReplaceAll(strings.Join(s.values, ", "), " clients,", ","), axis: unit, legend: s.values,
		number: last, heads: slices.Concat(s.values, []string{"middle half, " + last}, more),
		found: apart(rows, of, what, s, s.values...)}
	if last == s.values[0] {
		p.legend = []string{"median and middle half of the rounds"}
	}
	for _, name := range each(rows, Row.Name) {
		line := dotsRow{dots: make([]dot, len(s.values))}
		for _, row := range rows {
			if row.Name() == name && of(row) != nil {
				d := row.dot(of)
				if s.of(row) != last { // lines would hide each other
					d.from, d.to = d.at, d.at
				}
				line.row, line.dots[slices.Index(s.values, s.of(row))] = row, d
				line.more, line.other = row.cells(more...), append(line.other, row)
			}
		}
		p.rows = append(p.rows, line)
	}
	return p
}

func half(r Row) *float64 { return r.Number("wait_ms.p50") }

// waitDots are the waits. Rounds tell half of the clients' and the longest.
func waitDots(all []Row) picture {
	rows, most := greatest(all)
	p := picture{title: "How long clients waited for the lock, with " + most, axis: "wait, ms",
		legend: []string{"half waited no longer", "longest wait"},
		number: "longest, ms", heads: []string{"half, ms", "longest, ms", "its middle half", "in order%"},
		found: apart(all, longest, "the longest wait of polling ", swept(all), most)}
	for _, row := range rows {
		if row.Kind() != Baseline { // one client alone waits for nobody
			d := row.dot(half)
			d.from, d.to = d.at, d.at
			p.rows = append(p.rows, dotsRow{row, []dot{d, row.dot(longest)}, row.cells("in order%"), nil})
		}
	}
	return p
}

// class is how a row is drawn: in color if waiters are woken, and hollow if there is one round only.
func class(row Row) string {
	class := "other"
	if row.Wrong() || row.failed() != "" {
		class = "wrong"
	} else if row.Woken() {
		class = "woken"
	}
	if len(row.Rounds) < 2 {
		class += " once"
	}
	return class
}

// groups are the headings of a picture, in their order: what the reader gives up with a lock.
var groups = []string{"Waiters are woken; the lease is renewed while the work runs",
	"All clients in one process: handed over without Redis", "Waiters poll; the lease is renewed while the work runs", "Waiters poll; lease not renewed: long work may lose the lock",
	"Waiters poll; no lease: a client that crashes keeps the lock", "Other locks", "For comparison: no lock, or one client alone", "Cut off: not every client had its turn", "✗ lost updates: fast, but wrong"}

// group is the heading's number.
func (r Row) group() int {
	switch {
	case r.Wrong():
		return 8
	case !r.Finished():
		return 7
	case r.Kind() == Baseline:
		return 6
	case r.Rung().Name == "":
		return 5
	case r.Name() == "bronze":
		return 4
	case !r.Rung().Renews:
		return 3
	case !r.Woken():
		return 2
	case r.Favored():
		return 1
	}
	return 0
}

// placed is what the template draws.
type placed struct {
	X, Y     float64
	R, Fade  float64 // of a dot
	From, To float64 // of its line
	Text     string
	Class    string
	Group    string // the heading above it
	Number   string
	Cells    []string
	Dots     []placed
}

//go:embed picture.svg
var pictureSource string

var pictureTemplate = template.Must(template.New("picture").Parse(pictureSource))

// Draw draws a picture, or nothing when it would be empty.
func (p Picture) Draw(r Report, w io.Writer) error {
	if placed := p.place(r); placed == nil {
		return nil
	} else if err := pictureTemplate.Execute(w, placed); err != nil {
		return fmt.Errorf("draw the picture %s: %w", p.Name, err)
	}
	return nil
}

// rank is the order of rows: what one gives up with a lock comes first, and then how fast it is.
func rank(a, b Row) int { return cmp.Or(cmp.Compare(a.group(), b.group()), slower(b, a)) }

// place gives everything its place, unless there is nothing.
func (of Picture) place(r Report) map[string]any {
	if len(r.Rows) == 0 {
		return nil
	}
	p := of.of(r.Rows)
	p.rows = slices.DeleteFunc(p.rows, func(row dotsRow) bool {
		return !slices.ContainsFunc(row.dots, func(d dot) bool { return d.at > 0 })
	})
	if len(p.rows) == 0 {
		return nil
	}
	slices.SortStableFunc(p.rows, func(a, b dotsRow) int { return rank(a.row, b.row) })
	d := map[string]any{"Name": of.Name, "Width": pictureWidth, "Left": dotsLeft, "Scale": dotsScale,
		"Right": pictureWidth - 8, "Title": p.title, "Axis": p.axis + " (log scale)", "Column": p.number,
		"Heads": p.heads, "Notes": notes(p.rows), "Finding": p.found}
	y := 0.0
	lines := func(step float64, length int, texts ...string) (all []placed) {
		for _, text := range texts {
			for _, line := range terminal.Wrap(text, length, 0) {
				y += step
				all = append(all, placed{Y: y, Text: line})
			}
		}
		return all
	}
	d["Titles"] = lines(22, titleLength, p.title)
	d["Small"] = lines(18, lineLength, append([]string{r.Env.line()}, notes(p.rows)...)...)
	y += 22
	d["Legend"] = p.placeLegend(y)
	y = p.placeRows(d, y+28) + 46
	d["Found"] = lines(22, foundLength, p.found)
	d["Height"] = y + 10
	return d
}

// radius is that of the i-th of n dots, and 6 the darkest one's.
func radius(i, n int) float64 { return 6 - 1.5*float64(min(n-1-i, 2)) }

// placeLegend explains the sizes of the dots, and then their color.
func (p picture) placeLegend(y float64) (legend []placed) {
	x, n := 16.0, len(p.legend)
	place := func(text, class string, i int) {
		legend = append(legend, placed{X: x, Y: y, Text: text, Class: class, R: radius(i, n), Fade: radius(i, n) / 6})
		x += 28 + 7.5*float64(utf8.RuneCountInString(text))
	}
	for i, text := range p.legend {
		place(text, "other", i)
	}
	if slices.ContainsFunc(p.rows, func(d dotsRow) bool { return strings.HasPrefix(class(d.row), "woken") }) {
		place("woken, doesn't poll", "woken", n-1)
	}
	if slices.ContainsFunc(p.rows, func(d dotsRow) bool { return len(d.row.Rounds) < 2 }) {
		place("one round only", "other once", n-1)
	}
	return legend
}

// placeRows places the rows and their scale from y on, and returns where they end.
func (p picture) placeRows(d map[string]any, y float64) (bottom float64) {
	least, most := bounds(p.rows)
	at := func(v float64) float64 {
		x := math.Log(min(max(v, least), most)/least) / math.Log(most/least) * dotsScale
		return math.Round(10*(dotsLeft+x)) / 10
	}
	d["Top"] = y
	var rows, ticks []placed
	full := map[int]bool{} // columns with figures; others are left out
	group := -1
	for _, row := range p.rows {
		line := placed{Text: row.row.Name(), Class: class(row.row)}
		if pausesOtherwise(row.row) {
			line.Text += " †"
		}
		if row.row.failed() != "" {
			line.Text += " ✗"
		}
		if is := row.row.group(); is != group {
			group, line.Group = is, groups[is]
			y += dotsHeight
		}
		line.Y = y + dotsHeight/2
		for i, v := range row.dots {
			if line.Number = NotMeasured; v.at > 0 {
				line.Number, line.X = figure(v.at), at(v.at)
				line.Dots = append(line.Dots, placed{X: line.X, R: radius(i, len(row.dots)), Fade: radius(i, len(row.dots)) / 6, From: at(v.from), To: at(v.to)})
			}
			line.Cells = append(line.Cells, line.Number)
		}
		last := row.dots[len(row.dots)-1]
		line.Cells = slices.Concat(line.Cells, []string{cmp.Or(map[bool]string{true: between(last.from, last.to, Brief)}[last.rounds > 1], NotMeasured)}, row.more)
		for i, cell := range line.Cells {
			full[i] = full[i] || cell != NotMeasured
		}
		rows = append(rows, line)
		y += dotsHeight
	}
	wide := 0
	for ten := math.Pow10(int(math.Floor(math.Log10(least)))); ten <= most; ten *= 10 {
		for i, class := range []string{"", "minor", "minor"} {
			if v := []float64{1, 2, 5}[i] * ten; v >= least && v <= most {
				ticks = append(ticks, placed{X: at(v), Text: fmt.Sprintf("%.9g", v), Class: class})
				wide = max(wide, len(ticks[len(ticks)-1].Text))
			}
		}
	}
	for i, tick := range ticks { // from 5 to 10 it is 0.3 of a decade
		if strings.Contains(tick.Class, "minor") && 0.3*dotsScale/math.Log10(most/least) < float64(8*wide) {
			ticks[i].Class = "minor tight" // there's room for their texts on a wide screen
		}
	}
	d["Rows"], d["Ticks"], d["Bottom"], d["Full"] = rows, ticks, y, full
	return y
}

// bounds are a little below and above the lines.
func bounds(rows []dotsRow) (least, most float64) {
	least = math.Inf(1)
	for _, row := range rows {
		for _, d := range row.dots {
			if most = max(most, d.to); d.from > 0 {
				least = min(least, d.from)
			}
		}
	}
	return least / 1.25, max(most, 4*least) * 1.25
}

// pausesOtherwise says that a refused client pauses for longer or shorter than usual.
func pausesOtherwise(row Row) bool {
	pause := row.Pause()
	return row.Kind() != Baseline && !row.Woken() && pause > 0 && pause != lock.DefaultPoll
}

// notes explain the marks.
func notes(rows []dotsRow) (all []string) {
	var pauses []string
	for _, d := range rows {
		for _, row := range append(d.other, d.row) {
			pause := fmt.Sprintf("%v with %s", row.Pause(), Plural(row.Count("table_clients"), "client"))
			if pausesOtherwise(row) && !slices.Contains(pauses, pause) {
				pauses = append(pauses, pause)
			}
		}
		if d.row.Wrong() {
			all = append(all, fmt.Sprintf("✗ %s: %s", d.row.Name(), Plural(d.row.Count("lost_updates"), "lost update")))
		}
		if failed := d.row.failed(); failed != "" {
			all = append(all, "✗ "+d.row.Name()+": "+strings.Split(failed, ",")[0])
		}
	}
	if len(pauses) > 0 {
		all = append(all, fmt.Sprintf("† pauses up to %s, not %v", strings.Join(pauses, ", "), lock.DefaultPoll))
	}
	return all
}

// Named is the server for people: "Redis 7.0.15".
func (env Env) Named() string {
	return strings.TrimSpace(strings.ToUpper(env.Server[:1]) + env.Server[1:] + " " +
		*cmp.Or(env.ServerVersion, new(string)))
}

// line names the environment in one line.
func (env Env) line() string {
	words := []string{env.Named(), env.Go}
	if env.CPU != nil {
		words = append(words, *env.CPU)
	}
	if env.Pinned != nil {
		words = append(words, "servers and clients on one CPU")
	}
	return strings.Join(words, ", ")
}

//go:embed page.html
var pageSource string

var page = html.Must(html.New("page").Funcs(html.FuncMap{"pausesOtherwise": pausesOtherwise, "situations": func() [][]string { return situations }, "columns": Layout.columns, "speed": func(r Row) string { return figure(r.speed()) },
	"margin": func(head string) bool { return head == "± %" || strings.HasPrefix(head, "middle half") },
	"step":   Row.step, "idea": func(lock string) string { rung, _ := ladder.Find(lock); return rung.Idea },
	"detail": func(text string) bool { return strings.HasPrefix(text, "How sure: ") },
	"said": func(text string) html.HTML {
		about, is, _ := strings.Cut(html.HTMLEscapeString(text), ": ")
		return html.HTML("<b>" + about + ":</b> " + is)
	}}).Parse(pageSource))

// WritePage writes a run of the inventory as one page with pictures, which needs
// nothing else: no other file and no network.
func WritePage(r Report, w io.Writer) error {
	var pictures []map[string]any
	for _, p := range Pictures {
		if placed := p.place(r); placed != nil {
			pictures = append(pictures, placed)
		}
	}
	s, tables := swept(r.Rows), [][]Row(nil)
	for _, value := range s.values {
		of := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return s.of(row) != value })
		tables = append(tables, slices.SortedStableFunc(slices.Values(of), rank))
	}
	last, clients := greatest(r.Rows)
	rounds := Row{Rounds: r.Rows}.all(func(r Row) *float64 { return new(float64(max(1, len(r.Rounds)))) })
	named := each(slices.DeleteFunc(slices.Clone(last), func(r Row) bool { return r.Kind() == Baseline }), Row.Name)
	made := func(r ladder.Rung) (steps int) {
		for ; r.Parent != ""; steps++ {
			r, _ = ladder.Find(r.Parent)
		}
		return steps
	}
	err := page.Execute(w, map[string]any{"Pictures": pictures, "Env": r.Env, "CPUs": Plural(r.Env.CPUs, "CPU"),
		"Subjects": named, "Last": append([]Row{{}}, r.Rows...)[len(r.Rows)], "Least": slices.Min(rounds), "Most": slices.Max(rounds),
		"With": s.values, "Findings": Findings(r.Rows), "Choices": Choices(r.Rows), "Clients": clients,
		"Pauses":   each(slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Kind() == Baseline || row.Woken() || row.Count("nodes") > 1 }), func(r Row) string { return r.Pause().String() }),
		"Measured": Plural(len(r.Rows), "row"), "Rungs": slices.SortedStableFunc(slices.Values(ladder.Rungs), func(a, b ladder.Rung) int { return made(a) - made(b) }), "Locks": slices.SortedStableFunc(slices.Values(last), rank), "Again": regexp.MustCompile(` --?rounds[ =]\d+`).ReplaceAllString(r.Env.Command, ""), "Rounds": 2 * slices.Max(append(rounds, 5)),
		"Counts": each(r.Rows, func(r Row) string { return fmt.Sprint(r.Count("table_clients")) }), "Tables": tables, "Layout": Layout{Jain: slices.ContainsFunc(r.Rows, func(row Row) bool { return *cmp.Or(row.Number("jain"), new(1.0)) < 1 })},
		"Paired": slices.ContainsFunc(r.Rows, func(row Row) bool { return len(row.Rounds) > 1 })})
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
