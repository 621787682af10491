package history

import (
	"cmp"
	"fmt"
	"slices"
)

// The invariants that are judged by the history alone.
const (
	TwoHolders     = "two holders"
	ForeignRelease = "foreign release"
	ForeignRenewal = "foreign renewal"
	LostUpdate     = "lost update"
	StaleWrite     = "stale write"
)

// breaks adds a break at the entry that is being recorded.
func (l *Log) breaks(invariant, format string, args ...any) *Break {
	b := &Break{Invariant: invariant, At: l.Now(), Event: fmt.Sprintf(format, args...),
		Entry: len(l.Entries)}
	l.Breaks = append(l.Breaks, b)
	return b
}

// Assert adds what a scenario's own assertion has found, at the newest entry.
func (l *Log) Assert(invariant, format string, args ...any) {
	l.breaks(invariant, format, args...).Entry--
}

// judgeEntry judges an owner that was granted the lock while others believe they hold it. Of
// several the one counts that follows from no other flaw, and that the scenario is about.
func (l *Log) judgeEntry(h *Holding) {
	var rivals []*Holding
	for _, other := range l.Inside {
		if other.excludes(h) && !other.Told() {
			rivals = append(rivals, other)
		}
	}
	if rivals == nil {
		return
	}
	rival := slices.MinFunc(rivals, func(a, b *Holding) int { return a.weight() - b.weight() })
	b := l.breaks(TwoHolders, "%s and %s both believe that they hold the lock", rival.Owner, h.Owner)
	own := l.endings[h.Client]
	b.After, b.Apart = cmp.Or(rival.ending(), own), rival.overlaps
	if rival.Shared {
		b.Reads = rival.since
	}
	b.Late = rival.ending() == Running && own != Running
}

// weight is the less, the more a rival says about the lock.
func (h *Holding) weight() (weight int) {
	if h.overlaps {
		weight += 2
	}
	if h.lost != Running {
		weight++
	}
	return weight
}

// ending is how the holder has lost the lock at the servers.
func (h *Holding) ending() Ending {
	switch {
	case h.lost == Expired && h.process.Asleep():
		return Stopped
	case h.lost == Expired && h.process.CutOff():
		return CutOff
	}
	return h.lost
}

// judgeChange judges a command that changed a key under a grant which it can't have
// meant: another client's, or one that was asked for after the command was sent,
// even by the same client. A grant whose lease is over is nobody's.
func (l *Log) judgeChange(g *Grant, c Command, before, after State) {
	if l.Over(g) || g.Owner == c.Client && !c.Sent.Before(g.Sent) {
		return
	}
	breaks := func(invariant, format string, args ...any) {
		b := l.breaks(invariant, "%s's %s"+format, append([]any{c.Client, c.Text}, args...)...)
		b.After, b.Own = l.endings[c.Client], g.Owner == c.Client
	}
	switch moved := before.Moved(after); {
	case !after.Exists:
		late := ""
		if c.Late {
			late = ", sent at " + l.Seconds(c.Sent) + ","
		}
		breaks(ForeignRelease, "%s removes %s", late, l.described(g))
	case before.Value != after.Value:
		breaks(ForeignRelease, " takes over %s", l.described(g))
	case moved.Abs() <= l.Blur:
	case !after.Ends.IsZero() && (before.Ends.IsZero() || moved < 0):
		breaks(ForeignRelease, " shortens the lease of %s's lock", g.Owner)
	default:
		breaks(ForeignRenewal, " extends the lease of %s's lock", g.Owner)
	}
}

// described is a grant with its lease.
func (l *Log) described(g *Grant) string {
	text := "the lock that " + g.Owner + " has had since " + l.Seconds(g.Since)
	if end := l.until(g); !end.IsZero() {
		text += " with a lease until " + l.Seconds(end)
	}
	return text
}

// judgeWrite judges a write that the storage accepts, of a value that was read in a
// version. One that comes after a newer holder has touched the storage is a stale write;
// one that comes although the value has changed since it was read loses an update.
func (s *Storage) judgeWrite(h *Holding, value, version int) {
	if h.Number < s.newest {
		s.log.breaks(StaleWrite, "%s's write is accepted, although a later"+
			" holder has touched the storage", h.Owner)
	}
	if version != s.version {
		s.log.breaks(LostUpdate, "%s writes %d, and what was written since it"+
			" read is lost", h.Owner, value)
	}
}
