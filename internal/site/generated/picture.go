package generated

import (
	"fmt"
	"html"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/internal/terminal"
)

// picture draws a run of a lock, for the top of its page.
func (g *Generator) picture(name string) (string, error) {
	found, err := g.find(name)
	if err != nil {
		return "", err
	}
	scenario, _, _ := strings.Cut(name, ": ")
	lock := path.Dir(scenario)
	d := draw(found[0].Recording(lock))
	rung, err := ladder.Find(lock)
	if err != nil {
		return "", err
	}
	file := "life/" + rung.Short() + ".svg"
	g.pictures["docs/"+file] = d.svg()
	return fmt.Sprintf("![%s](%s)\n", d.text(), file), nil
}

// The picture's measures. It is narrow, so that a phone can show it with letters
// that can still be read.
const (
	width     = 500 // of all
	right     = 6
	size      = 13  // of the letters
	letter    = 7.4 // the width of one, in a wide font
	bar       = 26  // the height of a lane
	gap       = 26  // between the key and the lanes beside it
	between   = 5   // two other lanes
	thin      = 16  // the height of one of several nodes
	alarm     = "#b3160a"
	unimpeded = 100_000 // microseconds: a wait or a delay that is not drawn
	line      = 17      // between two lines of the caption
	longest   = 72      // letters in one of them
)

// colors are those of the clients, light for the bars and dark for the lines.
var colors = [][2]string{{"#b3d0f2", "#2f5f95"}, {"#ffd2a1", "#a85a00"},
	{"#bfe3b4", "#2f7a2b"}, {"#dfe3e8", "#5c6670"}}

// span is a time during which something is so, in microseconds.
type span struct {
	what     string // "holds", "waits", "unlocks", "paused", or whose the key is
	from, to int64
	asks     int  // the commands of a wait
	expired  bool // the key's lease ended it
	endless  bool // the key has no lease
	renewals int
}

// drawing is the picture of a run: a lane for each client, one for the lock's key on
// each node, and between them the commands that change whose the key is.
type drawing struct {
	*recording.Run
	b, labels strings.Builder // labels are written over all else
	lanes     map[string]int
	left      int   // the width of the names
	until     int64 // when the picture ends
	key, deep int   // the top of the key's lane, and its height
	below     int   // where the texts below the key are
	storage   int   // the top of its lane; 0: it isn't shown
	height    int
	earlier   string               // other clients that held the lock together before the break
	taken     map[int][][2]float64 // by the height of a text: where there are texts
}

func draw(run *recording.Run) *drawing {
	d := &drawing{Run: run, lanes: map[string]int{}, taken: map[int][][2]float64{}, deep: bar, left: 54}
	if d.Nodes > 1 {
		d.deep = d.Nodes*(thin+2) - 2
	}
	y := 4 // of the next lane
	for i, client := range run.Clients {
		d.lanes[client] = y
		d.name(y, bar, client)
		y += bar + between
		if i == 0 { // the key is below the first client
			d.key = y - between + gap
			d.below = d.key + d.deep + gap - 8
			for node := range max(d.Nodes, 1) {
				d.name(d.node(node))
			}
			y = d.key + d.deep + gap
		}
	}
	if d.checks() {
		d.storage = y - between + gap
		d.left = 66
		d.name(d.storage, bar, "storage")
		y = d.storage + bar + between
	}
	d.height = y + 16
	d.until = d.end()
	if d.Broken >= 0 && d.Invariant != "orphaned" {
		d.until += d.end() / 6 // what the break leaves goes on
	}
	return d
}

// svg draws it all.
func (d *drawing) svg() string {
	d.events()
	for _, client := range d.Clients {
		color := d.color(client)
		for _, s := range d.client(client) {
			color, text := color, s.what
			switch s.what {
			case "waits":
				color[0], text = "#fff", fmt.Sprintf("waits, asks %d×", s.asks)
			case "paused":
				color, text = colors[len(colors)-1], "paused, unaware that its lease has ended"
			case "unlocks":
				color[0] = "#fff"
			}
			d.box(s, d.lanes[client], bar, color, text, s.what)
		}
	}
	for node := range max(d.Nodes, 1) {
		d.holders(node)
	}
	if d.storage > 0 {
		d.tokens()
	}
	if d.Broken >= 0 {
		d.together()
		x := d.x(d.end())
		d.line(`<path d="M%.1f %dV0" stroke="%s" stroke-width="2"/>`, x, d.height-16, alarm)
		d.label(x-4, d.below, "end", alarm, "✗ "+d.Invariant)
	}
	d.commands()
	d.axis()
	d.caption()
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"`+
		` viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="%d"`+
		` fill="#222">`+"\n<title>%s</title>\n"+`<rect width="%d" height="%d"`+
		` fill="#fff"/>`+"\n%s</svg>\n", width*13/10, d.height*13/10, width, d.height,
		size, html.EscapeString(d.text()), width, d.height, d.b.String()+d.labels.String())
}

// client are a client's waits, and the times in which it believes to hold the lock.
func (d *drawing) client(name string) []span {
	var all []span
	inside, asks := false, 0
	held := int64(0)            // until when it believed to hold the lock: what it had sent is a renewal
	since := map[string]int64{} // when what is under way began
	ends := func(what string, until int64) {
		if from, began := since[what]; began && until-from > unimpeded {
			all = append(all, span{what: what, from: from, to: until, asks: asks})
		}
		delete(since, what)
	}
	for _, e := range d.Entries {
		at, own := e.At, e.Client >= 0 && d.Clients[e.Client] == name
		is := slices.Contains(d.States[e.State].Inside, name)
		_, stopped := since["paused"]
		switch {
		case is && !inside:
			ends("waits", at)
			all = append(all, span{what: "holds", from: at, to: d.until})
		case !is && inside && !stopped:
			all[len(all)-1].to, since["unlocks"] = at, at
		}
		if inside {
			held = at
		}
		inside = is
		_, waits := since["waits"]
		_, unlocks := since["unlocks"]
		text := d.Texts[e.Text]
		switch {
		case !own:
		case strings.Contains(text, "nlock returns "):
			ends("unlocks", at)
		case strings.Contains(text, " returns "): // an attempt that was refused
			ends("waits", at)
		case head(text) == "stops":
			if since["paused"] = at; inside {
				all[len(all)-1].to = at
			}
		case text == "wakes up":
			if ends("paused", at); inside {
				all = append(all, span{what: "holds", from: at, to: d.until})
			}
		case text == "dies":
			ends("paused", at)
			clear(since)
		case e.Node >= 0 && !inside && !unlocks && e.Sent >= held:
			if !waits {
				since["waits"], asks = e.Sent, 0
			}
			asks++
		}
	}
	for _, what := range []string{"waits", "unlocks", "paused"} {
		ends(what, d.end())
	}
	return all
}

// owners are whose the key is on a node, by what the run's states say.
func (d *drawing) owners(node int) []span {
	var all []span
	var ends int64
	end := func(at int64) {
		if n := len(all); n > 0 && all[n-1].to == 0 {
			s := &all[n-1]
			s.to, s.expired, s.endless = at, ends > 0 && ends <= at, ends == 0
			if s.expired {
				s.to = ends
			}
		}
	}
	last := ""
	for _, e := range d.Entries {
		state := d.States[e.State]
		owner, until := "", int64(0)
		for _, lease := range state.Leases {
			if lease.Node == node {
				owner, until = lease.Owner, lease.Ends
			}
		}
		if owner == "" && len(state.Leases) == 0 && state.Owner != "-" {
			owner = state.Owner // the grants of readers aren't in the key
		}
		if owner != last {
			end(e.At)
			if owner != "" {
				all = append(all, span{what: owner, from: e.At})
			}
		} else if owner != "" && until != ends {
			all[len(all)-1].renewals++
		}
		last, ends = owner, until
	}
	end(d.until)
	return all
}

// node is a node's lane, and its name.
func (d *drawing) node(node int) (y, height int, name string) {
	if d.Nodes <= 1 {
		return d.key, bar, "key"
	}
	return d.key + node*(thin+2), thin, fmt.Sprintf("node %d", node+1)
}

// holders draws whose the key is on a node.
func (d *drawing) holders(node int) {
	y, height, _ := d.node(node)
	middle := y + height/2
	if d.Nodes > 1 {
		middle = y + height // a node's events are in its lane
	}
	d.line(`<path d="M%d %dH%d" stroke="#bbb"/>`, d.left, middle, width-right)
	for _, s := range d.owners(node) {
		texts := []string{s.what + "'s"}
		switch {
		case d.Nodes > 1:
			texts = nil
		case strings.Contains(s.what, " "):
			texts = []string{"read by " + s.what, s.what}
		case s.renewals > 1:
			texts = []string{fmt.Sprintf("%s's, renewed %d×", s.what, s.renewals), s.what + "'s"}
		case s.expired:
			texts = []string{s.what + "'s, until its lease ends", s.what + "'s"}
		case s.endless:
			texts = []string{s.what + "'s, without a lease", s.what + "'s"}
		}
		d.box(s, y, height, d.color(s.what), texts...)
	}
}

// together marks when two clients hold a lock that is for one.
func (d *drawing) together() {
	from, inside := int64(0), []string(nil)
	until := func(at int64) {
		together := len(inside) > 1 && d.Invariant == "two holders"
		if together {
			d.line(`<rect x="%.1f" width="%.1f" height="%d" fill="%s" fill-opacity=".13"/>`,
				d.x(from), d.x(at)-d.x(from), d.height-16, alarm)
		}
		if together && at < d.end() {
			d.earlier = fmt.Sprintf(" (%s did so before, from %.1f s)", strings.Join(inside, " and "), float64(from)/1e6)
		}
	}
	for _, e := range d.Entries {
		if now := d.States[e.State].Inside; !slices.Equal(now, inside) {
			until(e.At)
			from, inside = e.At, now
		}
	}
	until(d.until)
}

// drawn are the events that the lanes show.
var drawn = regexp.MustCompile(` returns |storage|^stops|^wakes up`)

// events says what befalls clients and nodes.
func (d *drawing) events() {
	var inside []string // before the event
	for _, e := range d.Entries {
		text, x := head(d.Texts[e.Text]), d.x(e.At)+4
		switch {
		case e.Client < 0 && d.Nodes > 1:
			y, height, _ := d.node(e.Node)
			d.label(x, y+height-3, "start", alarm, text)
		case e.Client < 0:
			d.label(x, d.below, "start", alarm, text)
		case e.Node < 0 && !drawn.MatchString(text):
			client := d.Clients[e.Client]
			if text == "dies" && !slices.Contains(inside, client) {
				text = "dies while it takes the lock"
			}
			d.label(x, d.lanes[client]+17, "start", alarm, "✗ "+text)
		}
		inside = d.States[e.State].Inside
	}
}

// commands draws those that change whose the key is, and those of a release that are late.
func (d *drawing) commands() {
	owner, ends, held := "-", int64(0), map[string]int64{} // until when a client held the lock
	for _, e := range d.Entries {
		state := d.States[e.State]
		if e.Client >= 0 && e.Node >= 0 {
			client := d.Clients[e.Client]
			late := e.At-e.Sent > unimpeded || e.Back-e.At > unimpeded
			changes := state.Owner != owner
			foreign := d.Broken >= 0 && changes && owner != "-" && owner != client &&
				(ends == 0 || ends > e.At)
			if changes || late && e.Sent > held[client] {
				d.arrow(client, e, foreign)
			}
		}
		for _, client := range state.Inside {
			held[client] = e.At
		}
		owner, ends = state.Owner, 0
		if len(state.Leases) > 0 {
			ends = state.Leases[0].Ends
		}
	}
}

// command is a command without the names of keys and without numbers.
func command(text string) string {
	words := strings.Fields(text)
	if strings.HasPrefix(words[0], "EVAL") && len(words) > 1 {
		return words[1]
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != ""
	}), " ")
}

// head is what is said first.
func head(text string) string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ':' })[0]
}

// arrow draws a command from a client to the key, and its reply if that is late.
func (d *drawing) arrow(client string, e recording.Entry, foreign bool) {
	y, c, x := d.lanes[client], d.color(client)[1], d.x(e.At)
	from, to, down, label := y+bar, d.key, -5, d.key-8
	if y > d.key {
		from, to, down, label = y, d.key+d.deep, 5, d.below
	}
	if foreign {
		c = alarm
	}
	d.line(`<path d="M%.1f %dL%.1f %dm-3 %dl3 %dl3 %d" fill="none" stroke="%s"/>`,
		d.x(e.Sent), from, x, to, down, -down, down, c)
	if e.Back-e.At > unimpeded {
		d.line(`<path d="M%.1f %dL%.1f %d" stroke="%s" stroke-dasharray="4 3"/>`, x, to,
			d.x(min(e.Back, d.until)), from, c)
	}
	d.label(x+4, label, "start", c, command(d.Texts[e.Text]))
}

// text says in words what happens, for readers who don't see the picture.
func (d *drawing) text() string {
	text := strings.Join(strings.Fields(d.Summary), " ")
	if d.Broken >= 0 {
		text += fmt.Sprintf(" ✗ %s at %.1f s.", d.Invariant, float64(d.end())/1e6)
	}
	return text
}

// end is when the run ends.
func (d *drawing) end() int64 { return d.Entries[len(d.Entries)-1].At }

func (d *drawing) name(y, height int, name string) {
	d.line(`<text x="2" y="%d" font-weight="bold">%s</text>`, y+height/2+4, name)
}

// caption says below the picture what broke.
func (d *drawing) caption() {
	if d.Broken < 0 {
		return
	}
	_, event, _ := strings.Cut(d.Event, ": ") // without its time
	for _, text := range terminal.Wrap("✗ "+d.Invariant+": "+event+d.earlier, longest, 0) {
		d.height += line
		d.line(`<text x="2" y="%d" fill="%s">%s</text>`, d.height-4, alarm, html.EscapeString(text))
	}
}

func (d *drawing) line(format string, args ...any) {
	fmt.Fprintf(&d.b, format+"\n", args...)
}

func (d *drawing) x(t int64) float64 {
	return float64(d.left) + float64(width-d.left-right)*float64(t)/float64(d.until)
}

// color is that of a client, and the last one that of several.
func (d *drawing) color(client string) [2]string {
	i := slices.Index(d.Clients, client)
	if i < 0 {
		return colors[len(colors)-1]
	}
	return colors[i%(len(colors)-1)]
}

// box draws a bar with the longest of the texts that fits.
func (d *drawing) box(s span, y, height int, color [2]string, texts ...string) {
	d.line(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" stroke="%s"/>`,
		d.x(s.from), y, d.x(s.to)-d.x(s.from), height, color[0], color[1])
	for _, text := range texts {
		long := float64(utf8.RuneCountInString(text))*letter + 6
		if long <= d.x(s.to)-d.x(s.from) && d.free(y+17, [2]float64{d.x(s.from), d.x(s.from) + long}) {
			d.line(`<text x="%.1f" y="%d">%s</text>`, d.x(s.from)+5, y+17,
				html.EscapeString(text))
			return
		}
	}
}

// label writes a text unless there is one already. One that would end behind the picture
// ends there.
func (d *drawing) label(x float64, y int, anchor, color, text string) {
	long := float64(utf8.RuneCountInString(text)) * letter
	if anchor == "start" && x+long > width {
		x, anchor = x-8, "end"
	}
	span := [2]float64{x, x + long}
	if anchor == "end" {
		span = [2]float64{x - long, x}
	}
	if !d.free(y, span) {
		return
	}
	d.taken[y] = append(d.taken[y], span)
	fmt.Fprintf(&d.labels, `<text x="%.1f" y="%d" text-anchor="%s" fill="%s"`+
		` stroke="#fff" stroke-width="3" paint-order="stroke">%s</text>`+"\n", x, y,
		anchor, color, html.EscapeString(text))
}

// free says whether no label is at a height where a text would be.
func (d *drawing) free(y int, span [2]float64) bool {
	return !slices.ContainsFunc(d.taken[y], func(other [2]float64) bool {
		return span[0] < other[1] && other[0] < span[1]
	})
}

// axis draws the time, in steps of which at most eight fit.
func (d *drawing) axis() {
	step := int64(10_000)
	for n := 0; d.end()/step > 8; n++ {
		step = step * []int64{2, 5, 2}[n%3] / []int64{1, 2, 1}[n%3]
	}
	for t := int64(0); t <= d.end(); t += step {
		anchor := "middle"
		if d.x(t) > width-27 {
			anchor = "end"
		}
		d.line(`<text x="%.1f" y="%d" text-anchor="%s" fill="#666">%g s</text>`,
			d.x(t), d.height-4, anchor, float64(t)/1e6)
		d.line(`<path d="M%.1f %dV0" stroke="#ddd" stroke-dasharray="1 4"/>`, d.x(t),
			d.height-16)
	}
}
