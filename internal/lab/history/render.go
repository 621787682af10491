package history

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Render writes the timeline up to and including entry last (a negative one:
// all), and marks the breaks under the entries that show them. While the lock
// stays with its owner, lines of a kind that was shown already are only counted.
func (h *History) Render(last int, breaks []*Break) string {
	entries := h.Entries
	if last >= 0 && last < len(entries) {
		entries = entries[:last+1]
	}
	width := len("what")
	for _, e := range entries {
		width = max(width, min(utf8.RuneCountInString(e.what(h.Nodes)), 64))
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
			line("...", "", More(skipped, Seconds(entries[i-1].At)), "", "")
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
		here := at(breaks, i)
		kind := e.who() + digits.ReplaceAllString(e.what(h.Nodes), "#")
		if seen[kind] && len(here) == 0 && i < len(entries)-1 {
			skipped++
			continue
		}
		seen[kind] = true
		skip(i)
		line(Seconds(e.At), e.who(), e.what(h.Nodes), e.Owner, inside)
		for _, broken := range here {
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

// More says that entries like those before were left out, the last at a moment.
func More(n int, until string) string {
	if n == 1 {
		return "1 more like this, at " + until
	}
	return fmt.Sprintf("%d more like these, until %s", n, until)
}
