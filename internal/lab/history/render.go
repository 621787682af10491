package history

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockladder/lockladder/internal/terminal"
)

// Legend explains a timeline.
const Legend = "Held by: whose key is on the server. Believed by: who believes that\n" +
	"they hold the lock. ->: the reply. ^^^: what breaks, and how.\n"

// Render writes the timeline up to and including entry last (a negative one: all), and marks the
// breaks under the entries that show them. What Folds folds is only counted.
func (h *History) Render(last int, breaks []*Break) string {
	entries := h.Entries
	if last >= 0 && last < len(entries) {
		entries = entries[:last+1]
	}
	p := h.printer(entries)
	p.line("seconds", "who", "what", "held", "believed")
	p.line("", "", "", "by", "by")
	folds := Folds(entries, func(i int) bool { return len(at(breaks, i)) > 0 })
	for i := 0; i < len(entries); i++ {
		if len(folds) > 0 && folds[0][0] == i {
			i = folds[0][1]
			fmt.Fprintf(p, "%7s  %-*s  %s\n", "...", p.who, "",
				More(i+1-folds[0][0], Seconds(entries[i].At)))
			folds = folds[1:]
			continue
		}
		e := entries[i]
		p.line(Seconds(e.At), e.whoAt(h.Nodes), e.what(), e.Owner, e.inside())
		for _, mark := range marks(at(breaks, i)) {
			p.mark(mark)
		}
	}
	return p.String()
}

// printer prints a timeline's lines in columns, and wraps what is wider than its own.
type printer struct {
	strings.Builder
	who, what int
}

func (h *History) printer(entries []*Entry) *printer {
	p := &printer{who: len("who")}
	for _, e := range entries {
		p.who = max(p.who, utf8.RuneCountInString(e.whoAt(h.Nodes)))
		p.what = max(p.what, utf8.RuneCountInString(e.what()))
	}
	others := len("seconds  ") + p.who + len("    held  believed")
	p.what = max(len("what"), min(p.what, terminal.Columns-others))
	return p
}

func (p *printer) line(at, who, what, owner, inside string) {
	lines := terminal.Wrap(what, p.what, 2)
	text := fmt.Sprintf("%7s  %-*s  %-*s  %-4s  %s", at, p.who, who, p.what, lines[0],
		owner, inside)
	p.WriteString(strings.TrimRight(text, " ") + "\n")
	for _, more := range lines[1:] {
		fmt.Fprintf(p, "%*s%s\n", len("seconds  ")+p.who+2, "", more)
	}
}

func (p *printer) mark(text string) {
	indent := len("seconds  ")
	for _, line := range terminal.Wrap("^^^ "+text, terminal.Columns-indent, 4) {
		fmt.Fprintf(p, "%*s%s\n", indent, "", line)
	}
}

// Folds are the entries, from one to another, that a picture of a timeline only
// counts: three or more in a row that repeat what was shown since the lock went to its
// owner. An entry that is to be kept, and the last, is shown.
func Folds(entries []*Entry, keep func(i int) bool) (folds [][2]int) {
	scene, seen, from := "", map[string]bool{}, 0
	for i, e := range entries {
		if now := e.Owner + "/" + e.inside(); now != scene {
			scene = now
			clear(seen)
		}
		kind := e.kind()
		if seen[kind] && !keep(i) && i < len(entries)-1 {
			continue
		}
		seen[kind] = true
		if i-from > 2 {
			folds = append(folds, [2]int{from, i - 1})
		}
		from = i + 1
	}
	return folds
}

// kind is the same for entries that repeat each other: a client's command with its first
// key and its reply, whatever its other arguments are, such as a token for each attempt.
func (e *Entry) kind() string {
	if e.Command == "" {
		return e.whoAt(2) + numbers.ReplaceAllString(e.what(), "#")
	}
	reply := counts.ReplaceAllString(e.Reply, "#")
	words := strings.Fields(e.Text)
	named := 2
	if strings.HasPrefix(words[0], "EVAL") {
		named = 3 // the script, too
	}
	return fmt.Sprint(e.who(), e.Node, words[:min(named, len(words))], len(words), reply)
}

// What makes two entries differ that repeat each other: numbered tokens and times, and
// in a reply any number from 2, as a counter's.
var (
	numbers = regexp.MustCompile(`#\d+|-?\d{3,}`)
	counts  = regexp.MustCompile(`#\d+|-?\d{2,}|[2-9]`)
)

func (e *Entry) inside() string {
	if len(e.Inside) == 0 {
		return "-"
	}
	return strings.Join(e.Inside, " ")
}

func (e *Entry) who() string {
	if e.Client == "" {
		return fmt.Sprintf("node %d", e.Node+1)
	}
	return e.Client
}

// whoAt is who, and of several nodes the one that it is about.
func (e *Entry) whoAt(nodes int) string {
	if e.Client != "" && e.Node >= 0 && nodes > 1 {
		return fmt.Sprintf("%s at %d", e.Client, e.Node+1)
	}
	return e.who()
}

// what is what was sent or done, and the reply. A script that is called by its SHA1 has a
// name here, and that is enough.
func (e *Entry) what() string {
	what := e.Text
	if name, ok := strings.CutPrefix(what, "EVALSHA "); ok && named.MatchString(name) {
		what = name
	}
	if e.Reply != "" {
		what += " -> " + e.Reply
	}
	return what
}

var named = regexp.MustCompile(`^\S+\.lua\b`)

// at are the breaks that an entry shows.
func at(breaks []*Break, entry int) []*Break {
	var here []*Break
	for _, b := range breaks {
		if b.Entry == entry {
			here = append(here, b)
		}
	}
	return here
}

// marks are what breaks say, each once.
func marks(breaks []*Break) (texts []string) {
	for _, b := range breaks {
		if text := b.Invariant + ": " + b.Event; !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// More says that entries like those before were left out, the last at a moment.
func More(n int, until string) string {
	return fmt.Sprintf("%d more like these, until %s", n, until)
}
