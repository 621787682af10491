package site

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/scenarios"
)

// Sequence draws a broken scenario as a Mermaid sequence diagram, up to the
// moment of the break, which is marked. While nobody's belief and nobody's
// grant changes, messages of a kind that was drawn already are only counted, as
// in the printed timeline.
func Sequence(r scenarios.Result) (string, error) {
	if r.BrokenAt < 0 || r.BrokenAt >= len(r.Sequence) {
		return "", fmt.Errorf("%s: %s %s, there is no break to draw",
			r.Scenario, r.Invariant, r.Verdict)
	}
	entries := r.Sequence[:r.BrokenAt+1]
	s := &sketch{many: slices.ContainsFunc(entries, func(e *lab.Entry) bool {
		return e.Node > 0
	})}
	s.cast(entries)
	folds := history.Folds(entries, func(int) bool { return false })
	for i := 0; i < len(entries); i++ {
		if len(folds) > 0 && folds[0][0] == i {
			i = folds[0][1]
			s.across(history.More(i+1-folds[0][0], seconds(entries[i])))
			folds = folds[1:]
			continue
		}
		e, last := entries[i], i == len(entries)-1
		if last {
			s.line("rect rgba(220, 40, 40, 0.25)")
		}
		s.draw(e)
	}
	s.across(fmt.Sprintf("✗ %s at %s", r.Invariant,
		seconds(entries[len(entries)-1])))
	s.line("end")
	return s.b.String(), nil
}

func seconds(e *lab.Entry) string {
	return fmt.Sprintf("%.3f s", e.At.Seconds())
}

// sketch is a diagram that is being drawn.
type sketch struct {
	b     strings.Builder
	many  bool // nodes
	first string
	last  string
}

// cast declares who takes part: the clients by name, and then the nodes.
func (s *sketch) cast(entries []*lab.Entry) {
	var clients, nodes []string
	for _, e := range entries {
		if e.Client != "" && !slices.Contains(clients, e.Client) {
			clients = append(clients, e.Client)
		}
		if e.Node >= 0 && !slices.Contains(nodes, s.node(e)) {
			nodes = append(nodes, s.node(e))
		}
	}
	slices.Sort(clients)
	slices.Sort(nodes)
	s.b.WriteString("sequenceDiagram\n")
	for _, name := range clients {
		s.line("participant " + name)
	}
	for _, name := range nodes {
		s.line("participant " + name)
	}
	all := append(clients, nodes...)
	s.first, s.last = all[0], all[len(all)-1]
}

func (s *sketch) node(e *lab.Entry) string {
	if s.many {
		return fmt.Sprintf("Node%d", e.Node+1)
	}
	return "Redis"
}

func (s *sketch) line(text string) { s.b.WriteString("    " + text + "\n") }

// across writes a note over everybody.
func (s *sketch) across(text string) {
	s.line("Note over " + s.first + "," + s.last + ": " + mermaid(text, 60))
}

func (s *sketch) draw(e *lab.Entry) {
	text := seconds(e) + "<br/>" + mermaid(e.Text, 34)
	switch {
	case e.Client != "" && e.Node >= 0:
		if e.Reply != "" {
			text += "<br/>→ " + mermaid(e.Reply, 34)
		}
		s.line(e.Client + "->>" + s.node(e) + ": " + text)
	case e.Client != "":
		s.line("Note over " + e.Client + ": " + text)
	default:
		s.line("Note over " + s.node(e) + ": " + text)
	}
}

// mermaid breaks a text into lines of about so many columns, and writes what
// the diagram's language would take for its own as entities.
func mermaid(text string, columns int) string {
	lines := history.Wrap(text, columns, 0)
	for i := range lines {
		lines[i] = strings.NewReplacer("#", "#35;", ";", "#59;", "<", "#lt;",
			">", "#gt;", "{", "#123;", "}", "#125;").Replace(lines[i])
	}
	return strings.Join(lines, "<br/>")
}
