// Package judge says which invariants a recorded history breaks. It knows
// nothing but the history: the same one, judged twice, gives the same breaks,
// and one that was written to a file can be judged later.
package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// The invariants.
const (
	TwoHolders     = "two holders"
	ForeignRelease = "foreign release"
	ForeignRenewal = "foreign renewal"
	LostUpdate     = "lost update"
	StaleWrite     = "stale write"
)

// Read reads a history that was written as JSON.
func Read(from io.Reader) (*history.History, error) {
	h := &history.History{}
	if err := json.NewDecoder(from).Decode(h); err != nil {
		return nil, fmt.Errorf("read a history: %w", err)
	}
	return h, nil
}

// Breaks are what the history's events break, in their order, from one event
// on.
func Breaks(h *history.History, from int) []*history.Break {
	var breaks []*history.Break
	for _, e := range h.Events[from:] {
		report := func(invariant, format string, args ...any) *history.Break {
			b := &history.Break{Invariant: invariant, At: e.At,
				Event: fmt.Sprintf(format, args...), Entry: e.Entry}
			breaks = append(breaks, b)
			return b
		}
		switch {
		case e.Change != nil:
			change(e.Change, h, report)
		case e.Enter != nil && len(e.Enter.Inside) > 0:
			enter(e.Enter, report)
		case e.Write != nil:
			write(e.Write, report)
		case e.Report != nil:
			report(e.Report.Invariant, "%s", e.Report.Text)
		}
	}
	return breaks
}

// report adds a break.
type report = func(invariant, format string, args ...any) *history.Break

// enter judges a grant beside others. Of several the one counts that follows from no
// other flaw, and that the scenario is about.
func enter(e *history.Enter, report report) {
	rival := slices.MinFunc(e.Inside, func(a, b history.Rival) int {
		return weight(a) - weight(b)
	})
	b := report(TwoHolders, "%s holds the lock, and %s was never told that it lost it",
		e.Owner, rival.Owner)
	if b.After, b.Apart = rival.Lost, rival.Apart; b.After == history.Running {
		b.After, b.Late = e.Own, e.Own != history.Running
	}
}

// weight is the less, the more a rival says about the lock.
func weight(r history.Rival) (weight int) {
	if r.Apart {
		weight += 2
	}
	if r.Lost != history.Running {
		weight++
	}
	return weight
}

// change judges a command that changed a key under a grant which it can't have
// meant: another client's, or one that was asked for after the command was sent,
// even by the same client. A grant whose lease is over is nobody's.
func change(c *history.Change, h *history.History, add report) {
	g := c.Grant
	report := func(invariant, format string, args ...any) {
		add(invariant, format, args...).After = c.Own
	}
	if g.Over || g.Owner == c.Client && c.Sent >= g.Sent {
		return
	}
	switch moved := c.Before.Moved(c.After); {
	case !c.After.Exists:
		late := ""
		if c.Late {
			late = ", sent at " + history.Seconds(c.Sent) + ","
		}
		report(ForeignRelease, "%s's %s%s removes %s", c.Client, c.Text, late,
			described(g))
	case c.Before.Value != c.After.Value:
		report(ForeignRelease, "%s's %s takes over %s", c.Client, c.Text,
			described(g))
	case moved.Abs() <= h.Blur:
	case !c.After.Ends.IsZero() && (c.Before.Ends.IsZero() || moved < 0):
		report(ForeignRelease, "%s's %s shortens the lease of %s's grant",
			c.Client, c.Text, g.Owner)
	default:
		report(ForeignRenewal, "%s's %s extends the lease of %s's grant",
			c.Client, c.Text, g.Owner)
	}
}

// described is a grant with its lease.
func described(g history.Granted) string {
	text := "the grant that " + g.Owner + " has had since " + history.Seconds(g.Since)
	if g.Leased {
		text += " with a lease until " + history.Seconds(g.Until)
	}
	return text
}

// write judges a write that the storage accepted. One that comes after a newer
// holder has touched the storage is a stale write; one that comes although the
// value has changed since it was read loses an update.
func write(w *history.Write, report report) {
	if w.Number < w.Newest {
		report(StaleWrite, "%s's write is accepted, although a later"+
			" holder has touched the storage", w.Owner)
	}
	if w.Read != w.Found {
		report(LostUpdate, "%s writes %d, and what was written since it"+
			" read is lost", w.Owner, w.Value)
	}
}
