package lab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alicebob/miniredis/v2/proto"
)

// Entry is one line of a timeline.
type Entry struct {
	At     time.Duration
	Client string // "" for what befalls a node
	Node   int    // -1: no node
	Text   string // what was sent or done, as a person writes it
	Reply  string

	Command string   // the command as the server executed it; "" for others
	Owner   string   // whose grant the lock is, by the servers
	Inside  []string // who believes to hold it
}

// Record starts the recording, and the counting of commands, and sets the clock
// to zero.
func (w *World) Record() {
	w.recording = true
	w.start = time.Now()
	if w.warming != nil {
		w.Keys, w.warming = w.warming, nil
		clear(w.grants)
		w.breaks, w.touched = nil, false
	}
	for _, c := range w.clients {
		c.counts.Lock()
		clear(c.sent)
		c.counts.Unlock()
	}
}

// Rehearse has the world look at other keys until Record, to learn from locks
// that no story is about which command decides a call, see Decided.
func (w *World) Rehearse(keys []string) {
	w.Keys, w.warming = keys, w.Keys
}

// record appends an entry.
func (w *World) record(e *Entry) {
	if !w.recording {
		return
	}
	e.At = w.Now()
	e.Owner = w.Owner()
	for _, h := range w.inside {
		if !h.told() {
			e.Inside = append(e.Inside, h.Owner)
		}
	}
	w.entries = append(w.entries, e)
}

// Note records what a client does or is told.
func (c *Client) Note(format string, args ...any) {
	c.world.record(&Entry{Client: c.Name, Node: -1,
		Text: fmt.Sprintf(format, args...)})
}

// note records what befalls a node.
func (w *World) note(n *Node, what string) {
	w.record(&Entry{Node: n.index, Text: what})
}

// Timeline is what was recorded.
func (w *World) Timeline() []*Entry { return w.entries }

// learn remembers the names of Lua scripts: their files begin with a line
// "-- name.lua: what it does".
func (w *World) learn(args []string, reply string) {
	name := strings.ToUpper(args[0])
	var source string
	switch {
	case name == "EVAL" && len(args) > 1:
		source = args[1]
	case name == "SCRIPT" && len(args) > 2 &&
		strings.EqualFold(args[1], "LOAD"):
		source = args[2]
	default:
		return
	}
	if m := scriptName.FindStringSubmatch(source); m != nil {
		w.texts.Lock()
		defer w.texts.Unlock()
		w.scripts[sha1Hex(source)] = m[1]
	}
}

var scriptName = regexp.MustCompile(`^--\s*(\S+\.lua)`)

// text is a command as a person writes it. Scripts have names and random tokens
// are numbered, so that the same story has the same text in every run.
func (w *World) text(c *Client, args []string) string {
	words := []string{strings.ToUpper(args[0])}
	rest := args[1:]
	switch words[0] {
	case "EVAL", "EVALSHA":
		if len(rest) > 1 {
			words = append(words, w.script(words[0], rest[0]))
			rest = rest[2:] // the number of keys says nothing here
		}
	case "SCRIPT":
		if len(rest) > 1 {
			return "SCRIPT " + strings.ToUpper(rest[0])
		}
	}
	for _, arg := range rest {
		switch option := strings.ToUpper(arg[:min(len(arg), 8)]); option {
		case "EX", "PX", "NX", "XX", "GET", "KEEPTTL", "IFEQ":
			arg = option
		default:
			arg = w.alias(c, arg)
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

func (w *World) script(command, arg string) string {
	if command == "EVAL" {
		if m := scriptName.FindStringSubmatch(arg); m != nil {
			return m[1]
		}
		return "script"
	}
	w.texts.Lock()
	defer w.texts.Unlock()
	if name, ok := w.scripts[arg]; ok {
		return name
	}
	return arg[:min(8, len(arg))]
}

// alias shortens what looks like a random token to the client's name and a
// number.
func (w *World) alias(c *Client, value string) string {
	w.texts.Lock()
	defer w.texts.Unlock()
	if alias, ok := w.aliases[value]; ok {
		return alias
	}
	if len(value) < 16 || strings.Contains(value, w.Key) {
		return printable(value)
	}
	w.aliased[c.Name]++
	w.aliases[value] = fmt.Sprintf("%s#%d", c.Name, w.aliased[c.Name])
	return w.aliases[value]
}

func printable(s string) string {
	if s == "" {
		return `""`
	}
	if !utf8.ValidString(s) || strings.ContainsAny(s, "\r\n\t") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// reply is a raw reply as a person writes it.
func (w *World) reply(c *Client, raw string) string {
	if strings.HasPrefix(raw, "-") {
		return strings.TrimSpace(raw[1:])
	}
	if raw == "$-1\r\n" || raw == "*-1\r\n" || raw == proto.NilResp3 {
		return "nil"
	}
	value, err := proto.Parse(raw)
	if err != nil {
		return printable(raw)
	}
	return w.value(c, value)
}

func (w *World) value(c *Client, value any) string {
	switch v := value.(type) {
	case nil:
		return "nil"
	case string:
		return w.alias(c, v)
	case []any:
		var words []string
		for _, e := range v {
			words = append(words, w.value(c, e))
		}
		return strings.Join(words, " ")
	}
	return fmt.Sprint(value)
}

// clock is a moment as virtual seconds.
func (w *World) clock(t time.Time) string {
	return seconds(w.told(t.Sub(w.start)))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// Render writes the timeline up to and including entry last (a negative one:
// all), and marks the breaks of the given invariants under the entries that show
// them. While the lock stays with its owner, lines of a kind that was shown
// already are only counted.
func (w *World) Render(last int, invariants ...string) string {
	entries := w.entries
	if last >= 0 && last < len(entries) {
		entries = entries[:last+1]
	}
	nodes := len(w.nodes)
	width := len("what")
	for _, e := range entries {
		width = max(width, min(utf8.RuneCountInString(e.what(nodes)), 64))
	}
	var b strings.Builder
	line := func(columns ...any) {
		text := fmt.Sprintf(fmt.Sprintf("%%9s  %%-6s  %%-%ds  %%-7s  %%s",
			width), columns...)
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	line("seconds", "who", "what", "held by", "believed by")
	var scene string
	seen := map[string]bool{}
	skipped := 0
	skip := func(i int) {
		if skipped > 0 {
			line("...", "", fmt.Sprintf("%d more like these, until %s", skipped,
				seconds(entries[i-1].At)), "", "")
		}
		skipped = 0
	}
	for i, e := range entries {
		inside := strings.Join(e.Inside, " ")
		if inside == "" {
			inside = "-"
		}
		if now := e.Owner + "/" + inside; now != scene {
			scene = now
			clear(seen)
		}
		breaks := w.breaksAt(i, invariants)
		kind := e.who() + digits.ReplaceAllString(e.what(nodes), "#")
		if seen[kind] && len(breaks) == 0 && i < len(entries)-1 {
			skipped++
			continue
		}
		seen[kind] = true
		skip(i)
		line(seconds(e.At), e.who(), e.what(nodes), e.Owner, inside)
		for _, broken := range breaks {
			fmt.Fprintf(&b, "%9s  ^^^ %s: %s\n", "", broken.Invariant,
				broken.Event)
		}
	}
	return b.String()
}

// digits are what makes two attempts differ: numbered tokens and deadlines.
var digits = regexp.MustCompile(`#\d+|-?\d{3,}`)

func (e *Entry) who() string {
	if e.Client == "" {
		return fmt.Sprintf("node %d", e.Node+1)
	}
	return e.Client
}

func (e *Entry) what(nodes int) string {
	what := e.Text
	if e.Client != "" && e.Node >= 0 && nodes > 1 {
		what = fmt.Sprintf("node %d: %s", e.Node+1, what)
	}
	if e.Reply != "" {
		what += " -> " + e.Reply
	}
	return what
}

func (w *World) breaksAt(entry int, invariants []string) []*Break {
	var breaks []*Break
	for _, b := range w.breaks {
		if b.Entry == entry && slices.Contains(invariants, b.Invariant) {
			breaks = append(breaks, b)
		}
	}
	return breaks
}
