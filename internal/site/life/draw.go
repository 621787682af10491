package life

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockladder/lockladder/scenarios"
)

// The picture's measures. It is narrow, so that a phone can show it with letters
// that can still be read.
const (
	width  = 500 // of all
	left   = 54  // of the names
	right  = 6
	size   = 13  // of the letters
	letter = 7.4 // the width of one, in a wide font
	bar    = 26  // the height of a lane
	gap    = 26  // between the key and the lanes beside it
	near   = 5   // between two other lanes
	thin   = 7   // the height of one of several nodes
)

// colors are those of the processes, light for the bars and dark for the lines.
var colors = [][2]string{{"#b3d0f2", "#2f5f95"}, {"#ffd2a1", "#a85a00"},
	{"#bfe3b4", "#2f7a2b"}}

// drawing is a picture that is being drawn.
type drawing struct {
	*scenarios.Lived
	b      strings.Builder
	labels strings.Builder // written over all else
	scale  float64         // pixels of a second
	lanes  map[string]int
	key    int // the top of the key's lane
	deep   int // its height
	height int
	taken  map[int][][2]float64 // by the height of a text: where there are texts
}

// Draw is the picture of a life as SVG.
func Draw(l *scenarios.Lived) string {
	d := &drawing{Lived: l, lanes: map[string]int{}, taken: map[int][][2]float64{},
		scale: (width - left - right) / end(l).Seconds()}
	d.place()
	for _, v := range l.Runs {
		d.clientRun(v)
	}
	for node := range nodes(l) {
		d.node(node)
	}
	for _, v := range l.Runs {
		d.calls(v)
	}
	d.axis()
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"`+
		` viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="%d"`+
		` fill="#222">`+"\n<title>%s</title>\n"+`<rect width="%d" height="%d"`+
		` fill="#fff"/>`+"\n%s</svg>\n", width*13/10, d.height*13/10, width, d.height,
		size, html.EscapeString(Text(l)), width, d.height,
		d.b.String()+d.labels.String())
}

// place gives each client its lane: above the key the first one, with those of its
// process and those that read with it, and below the key the others.
func (d *drawing) place() {
	var above, below []string
	first := d.Runs[0]
	for _, v := range d.Runs {
		if slices.Contains(above, v.Client) || slices.Contains(below, v.Client) {
			continue
		}
		if process(d.Lived, v.Client) == process(d.Lived, first.Client) ||
			v.Reads && first.Reads {
			above = append(above, v.Client)
		} else {
			below = append(below, v.Client)
		}
	}
	slices.Sort(above)
	slices.Sort(below)
	y := 4
	lane := func(name string) {
		d.lanes[name] = y
		d.name(y, bar, name)
		y += bar + near
	}
	for _, name := range above {
		lane(name)
	}
	d.key = y - near + gap
	d.deep = bar
	name := "key"
	if n := nodes(d.Lived); n > 1 {
		d.deep, name = n*(thin+2)-2, fmt.Sprintf("%d keys", n)
	}
	d.name(d.key, d.deep, name)
	y = d.key + d.deep + gap
	for _, name := range below {
		lane(name)
	}
	d.height = y + 16
}

func (d *drawing) name(y, height int, name string) {
	d.line(`<text x="2" y="%d" font-weight="bold">%s</text>`, y+height/2+4, name)
}

func (d *drawing) line(format string, args ...any) {
	fmt.Fprintf(&d.b, format+"\n", args...)
}

func (d *drawing) x(t time.Duration) float64 { return left + t.Seconds()*d.scale }

// color is that of a client's process.
func (d *drawing) color(client string) [2]string {
	var all []string
	for _, v := range d.Runs {
		if p := process(d.Lived, v.Client); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return colors[slices.Index(all, process(d.Lived, client))%len(colors)]
}

// box draws a bar with the longest of the texts that fits.
func (d *drawing) box(from, to time.Duration, y, height int, fill, stroke string,
	texts ...string) {
	d.line(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" stroke="%s"/>`,
		d.x(from), y, d.x(to)-d.x(from), height, fill, stroke)
	for _, text := range texts {
		if float64(utf8.RuneCountInString(text))*letter+6 <= d.x(to)-d.x(from) {
			d.line(`<text x="%.1f" y="%d">%s</text>`, d.x(from)+5, y+17,
				html.EscapeString(text))
			return
		}
	}
}

// clientRun draws how a client waits for the lock and holds it.
func (d *drawing) clientRun(v scenarios.ClientRecord) {
	y, c := d.lanes[v.Client], d.color(v.Client)
	got := v.Granted
	if got == 0 {
		got = v.Left
	}
	if got-v.Asked > 100*time.Millisecond {
		d.waits(v, got)
	}
	if v.Granted == 0 {
		d.label(d.x(v.Left), y+bar+16, "end", "#b3160a", fmt.Sprintf(
			"✗ gives up after %s", seconds(v.Left-v.Asked)))
		return
	}
	texts := []string{"holds"}
	switch {
	case v.Reads:
		texts = []string{"reads"}
	case v.Token > 0:
		texts = []string{fmt.Sprintf("holds, token %d", v.Token),
			fmt.Sprintf("token %d", v.Token), "holds"}
	case passedOn(d.Lived, v):
		texts = []string{"holds, passed on", "passed on", "holds"}
	}
	d.box(v.Granted, v.Left, y, bar, c[0], c[1], texts...)
	if v.Crashes {
		d.label(d.x(v.Left)+4, y+17, "start", "#b3160a", "✗ crashes")
	}
}

// waits draws a wait, with a stroke for each command that was sent meanwhile.
func (d *drawing) waits(v scenarios.ClientRecord, to time.Duration) {
	y, c := d.lanes[v.Client], d.color(v.Client)
	sent := slices.DeleteFunc(commands(d.Lived, v, v.Asked, to),
		func(e *scenarios.Entry) bool { return short(e) == "SUBSCRIBE" })
	if process(d.Lived, v.Client) != v.Client {
		sent = nil // the commands of its process aren't all its own
	}
	texts := []string{"waits"}
	if len(sent) > 0 {
		texts = []string{fmt.Sprintf("waits, asks %d×", len(sent)), "waits"}
	}
	d.box(v.Asked, to, y, bar, "#fff", c[1], texts...)
	var marks strings.Builder
	for _, e := range sent {
		fmt.Fprintf(&marks, "M%.1f %dv4", d.x(e.At), y+bar-5)
	}
	if marks.Len() > 0 {
		d.line(`<path d="%s" stroke="%s"/>`, marks.String(), c[1])
	}
}

// node draws who has the key on a node.
func (d *drawing) node(node int) {
	y, height := d.key, bar
	if nodes(d.Lived) > 1 {
		y, height = d.key+node*(thin+2), thin
	}
	d.line(`<path d="M%d %.1fH%d" stroke="#bbb"/>`, left, float64(y)+float64(height)/2,
		width-right)
	for _, t := range tenures(d.Lived, node) {
		c := d.color(t.owners[0])
		if len(t.owners) > 1 {
			c = [2]string{"#dfe3e8", "#5c6670"}
		}
		var texts []string
		if nodes(d.Lived) == 1 {
			texts = d.says(t)
		}
		d.box(t.from, t.to, y, height, c[0], c[1], texts...)
	}
	if at, down := failed(d.Lived); down[node] {
		d.line(`<path d="M%.1f %.1fH%d" stroke="#b3160a" stroke-width="2"`+
			` stroke-dasharray="5 3"/>`, d.x(at), float64(y)+float64(height)/2,
			width-right)
		d.label(width-right, d.key+d.deep+16, "end", "#b3160a",
			fmt.Sprintf("✗ nodes down: %d of %d", len(down), nodes(d.Lived)))
	}
}

// says are the texts for a tenure, the longest first.
func (d *drawing) says(t *tenure) []string {
	owner := housemates(d.Lived, t.owners[0])
	switch {
	case t.reading:
		all := strings.Join(t.owners, " and ")
		return []string{"read by " + all, all, strings.Join(t.owners, "")}
	case t.ends == 0 && t.open:
		return []string{owner + "'s, and no lease: it stays forever"}
	case t.ends == 0:
		return []string{owner + "'s, no lease", owner + "'s"}
	case t.expired():
		return []string{owner + "'s until its lease ends at " + seconds(t.to),
			owner + "'s until its lease ends", owner + "'s", t.owners[0] + "'s"}
	case t.renewed > 0:
		return []string{fmt.Sprintf("%s's, lease %s, renewed %s", owner,
			seconds(d.Lease), times(t.renewed)),
			fmt.Sprintf("%s's, renewed %s", owner, times(t.renewed)), owner + "'s"}
	}
	return []string{fmt.Sprintf("%s's, lease %s", owner, seconds(d.Lease)), owner + "'s",
		t.owners[0] + "'s"}
}

// calls draws the commands with which a client run takes, renews and releases the lock.
func (d *drawing) calls(v scenarios.ClientRecord) {
	if v.Granted == 0 {
		return
	}
	text := several(granting(d.Lived, v))
	if woken(d.Lived, v) {
		text = "message, " + text
	}
	d.arrow(v, v.Granted, text)
	for _, at := range renewals(d.Lived, v) {
		d.arrow(v, at, "renew")
	}
	if !v.Crashes {
		d.arrow(v, v.Left, several(releasing(d.Lived, v)))
	}
}

// arrow draws what goes from a client to the key, if anything does.
func (d *drawing) arrow(v scenarios.ClientRecord, at time.Duration, text string) {
	if text == "" {
		return
	}
	y, c, x := d.lanes[v.Client], d.color(v.Client), d.x(at)
	from, to, down, label := y+bar, d.key, -5, d.key-8
	if y > d.key {
		from, to, down, label = y, d.key+d.deep, 5, d.key+d.deep+gap-8
	}
	d.line(`<path d="M%.1f %dV%dm-3 %dl3 %dl3 %d" fill="none" stroke="%s"/>`, x, from,
		to, down, -down, down, c[1])
	d.label(x+4, label, "start", c[1], text)
}

// label writes a text unless there is one already.
func (d *drawing) label(x float64, y int, anchor, color, text string) {
	long := float64(utf8.RuneCountInString(text)) * letter
	span := [2]float64{x, x + long}
	if anchor == "end" {
		span = [2]float64{x - long, x}
	}
	for _, other := range d.taken[y] {
		if span[0] < other[1] && other[0] < span[1] {
			return
		}
	}
	if span[1] > width {
		return
	}
	d.taken[y] = append(d.taken[y], span)
	fmt.Fprintf(&d.labels, `<text x="%.1f" y="%d" text-anchor="%s" fill="%s"`+
		` stroke="#fff" stroke-width="3" paint-order="stroke">%s</text>`+"\n", x, y,
		anchor, color, html.EscapeString(text))
}

// axis draws the time.
func (d *drawing) axis() {
	for t := time.Duration(0); t <= end(d.Lived); t += 5 * time.Second {
		d.line(`<text x="%.1f" y="%d" text-anchor="middle" fill="#666">%s</text>`,
			d.x(t), d.height-4, seconds(t))
		d.line(`<path d="M%.1f %dV0" stroke="#ddd" stroke-dasharray="1 4"/>`, d.x(t),
			d.height-16)
	}
}
