package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/lock"
)

// title stands above a table when there are several.
func (w *Inventory) title(clients int, poll time.Duration) string {
	var words []string
	if len(w.clients) > 1 {
		words = append(words, Plural(clients, "client"))
	}
	if len(w.polls) > 1 {
		words = append(words, fmt.Sprintf("asking again within %v", poll))
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, ", ") + "\n\n"
}

// header says what is measured.
func (w *Inventory) header(run Run) string {
	s := &w.settings
	var b strings.Builder
	fmt.Fprintf(&b, "%s; stock %d, lease %v, at most %v a row.\n", w.who(),
		s.Stock, s.TTL, s.Timeout)
	fmt.Fprintf(&b, "Refused clients ask again within %s.\n", w.pauses(run))
	b.WriteString("Connections are warmed up before the clock starts")
	if w.pool > 0 {
		fmt.Fprintf(&b, "; the clients of a process share %d", w.pool)
	}
	b.WriteString(".\n")
	if run.Real && nodes.CollectorStaysAway() {
		b.WriteString("The clients' garbage is collected between the rounds.\n")
	}
	if s.Rounds > 1 {
		fmt.Fprintf(&b, "Every row is measured %d times, each time just after "+
			"the serial limit.\n", s.Rounds)
	}
	if w.rtt > 0 {
		fmt.Fprintf(&b, "%v are added to every round trip.\n", w.rtt)
	}
	if w.Note != "" {
		b.WriteString(w.Note + "\n")
	}
	return b.String()
}

// who says who the clients are.
func (w *Inventory) who() string {
	var counts []string
	for _, clients := range w.clients {
		counts = append(counts, strconv.Itoa(clients))
	}
	text := strings.Join(counts, ", ") + " clients"
	if w.services > 1 {
		text += fmt.Sprintf(" in %d processes", w.services)
	}
	text += " start at one instant"
	switch s := &w.settings; {
	case s.Loop > 0:
		text += fmt.Sprintf(" and take turns for %v", s.Loop)
	case s.Ops > 1:
		text += fmt.Sprintf(" and take %d turns each", s.Ops)
	}
	return text
}

// pauses says how often refused clients ask again.
func (w *Inventory) pauses(run Run) string {
	jitter := ", with full jitter"
	if w.settings.FixedPoll {
		jitter = ", each time after as long"
	}
	if len(w.polls) > 1 {
		var all []string
		for _, poll := range w.polls {
			all = append(all, poll.String())
		}
		return strings.Join(all, ", ") + jitter
	}
	s := w.settings
	s.Clients, s.Poll = slices.Max(w.clients), w.polls[0]
	usual := s.Pause(Subject{}, !run.Real)
	text := usual.String()
	for _, subject := range run.Subjects {
		if pause := s.Pause(subject, !run.Real); pause != usual {
			text += fmt.Sprintf(" (%s: %v)", subject.Name, pause)
		}
	}
	text += jitter
	if usual != lock.DefaultPoll {
		text += fmt.Sprintf("\n(the article [wukong] in docs/sources.md: %v)", lock.DefaultPoll)
	}
	return text
}
