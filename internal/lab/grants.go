package lab

import (
	"fmt"
	"slices"
	"time"
)

// The invariants that the world itself judges.
const (
	TwoHolders     = "two holders"
	ForeignRelease = "foreign release"
	ForeignRenewal = "foreign renewal"
	LostUpdate     = "lost update"
	StaleWrite     = "stale write"
)

// place is a lock key on a node.
type place struct {
	node int
	key  string
}

// Grant is a lock key and the client whose command set it.
type Grant struct {
	Owner string
	Since time.Time
	sent  time.Time // when the command was sent that began it
	state state
}

// leaseOver says whether the grant's lease has ended at this moment, by the true
// clock. A key that is still there and expires has a lease; of others only the
// lock itself can tell.
func (w *World) leaseOver(g *Grant) bool {
	if w.LeaseEnd != nil {
		if end, ok := w.LeaseEnd(g.state.value); ok {
			return !time.Now().Before(end)
		}
	}
	return false
}

// account compares a lock key before and after a command of client c, which it
// sent at the given time, and keeps the books of grants.
func (w *World) account(n *Node, key string, c *Client, sent time.Time,
	before, after state, text string) {
	at := place{n.index, key}
	if before.exists != after.exists || before.value != after.value {
		n.version++
	}
	g := w.grants[at]
	if before.exists && w.real() && !before.ends.IsZero() &&
		(after.serverNow == 0 || after.serverNow+5 >= before.serverEnds) {
		before = state{} // it may have expired between the look and the command
	}
	if !before.exists {
		g = nil // expired, if there was one
	}
	// A command that was sent before the grant was asked for can't have meant it,
	// even when it was the same client's.
	foreign := g != nil && (g.Owner != c.Name || sent.Before(g.sent)) &&
		!w.leaseOver(g)
	began := sent
	if w.steered {
		began = time.Now() // there time stands still while commands are sent
	}
	switch {
	case !before.exists && !after.exists:
	case !after.exists:
		if foreign {
			w.report(ForeignRelease, "%s's %s%s removes the grant that %s has"+
				" since %s%s", c.Name, text, c.late(sent), g.Owner,
				w.clock(g.Since), w.until(g))
		}
		g = nil
	case !before.exists:
		g = &Grant{Owner: c.Name, Since: time.Now(), sent: began, state: after}
	case before.value != after.value:
		if foreign {
			w.report(ForeignRelease, "%s's %s takes over the grant that %s has"+
				" since %s%s", c.Name, text, g.Owner, w.clock(g.Since),
				w.until(g))
		}
		g = &Grant{Owner: c.Name, Since: time.Now(), sent: began, state: after}
	case g != nil:
		switch moved := w.moved(before, after); {
		case !foreign || moved.Abs() <= w.blur():
		case !after.ends.IsZero() && (before.ends.IsZero() || moved < 0):
			w.report(ForeignRelease, "%s's %s shortens the lease of %s's grant",
				c.Name, text, g.Owner)
		default:
			w.report(ForeignRenewal, "%s's %s extends the lease of %s's grant",
				c.Name, text, g.Owner)
		}
		g.state = after
	}
	if g == nil {
		delete(w.grants, at)
	} else {
		w.grants[at] = g
		w.touched = true
	}
}

// moved is by how much a command changed the end of a lease.
func (w *World) moved(before, after state) time.Duration {
	if w.real() {
		return time.Duration(after.serverEnds-before.serverEnds) *
			time.Millisecond
	}
	return after.ends.Sub(before.ends)
}

// differs says whether a command has changed a key.
func (s state) differs(after state) bool {
	return s.exists != after.exists || s.value != after.value ||
		!s.ends.Equal(after.ends)
}

// altered is differs by the server's own clock, where that is another one.
func (w *World) altered(before, after state) bool {
	if w.real() && before.exists && after.exists {
		return before.value != after.value ||
			w.moved(before, after).Abs() > 2*time.Millisecond
	}
	return before.differs(after)
}

// blur is how inexactly the end of a lease is known: not at all in virtual time,
// and on a real server by what lies between two looks.
func (w *World) blur() time.Duration {
	if !w.real() {
		return 0
	}
	return w.TTL / 10
}

// late tells when a command was sent that has just arrived.
func (c *Client) late(sent time.Time) string {
	w := c.world
	if time.Since(sent) <= max(w.blur(), c.latency()) {
		return ""
	}
	return ", sent at " + w.clock(sent) + ","
}

// until tells when a grant's lease ends.
func (w *World) until(g *Grant) string {
	end := g.state.ends
	if w.LeaseEnd != nil {
		end, _ = w.LeaseEnd(g.state.value)
	}
	if end.IsZero() {
		return ""
	}
	return " with a lease until " + w.clock(end)
}

// forget ends the grants of a node: its keys were removed by no client.
func (w *World) forget(n *Node) {
	for at := range w.grants {
		if at.node == n.index {
			delete(w.grants, at)
		}
	}
}

// Owner is the client that a majority of the nodes holds the lock for, or "-".
func (w *World) Owner() string {
	count := map[string]int{}
	for at, g := range w.grants {
		if at.key == w.Keys[0] && w.lasting(at, g) {
			count[g.Owner]++
		}
	}
	for owner, nodes := range count {
		if nodes > len(w.nodes)/2 {
			return owner
		}
	}
	return "-"
}

// lasting says whether a grant's key is still there. On a real server that is
// known without asking: only its expiry, or a command that was seen, ends it.
func (w *World) lasting(at place, g *Grant) bool {
	if w.real() {
		return g.state.ends.IsZero() || time.Now().Before(g.state.ends)
	}
	return w.nodes[at.node].observe(at.key).exists
}

// Touched says whether any client has ever set one of the lock's keys.
func (w *World) Touched() bool { return w.touched }

// LeaseOver says whether no grant is left whose lease is still running.
func (w *World) LeaseOver() bool {
	for at, g := range w.grants {
		if w.nodes[at.node].observe(at.key).exists && !w.leaseOver(g) {
			return false
		}
	}
	return true
}

// Holding is an owner that believes to hold the lock.
type Holding struct {
	Client *Client
	Owner  string // the client's name, or that of one of its owners
	Number int    // acquisitions are counted from 1, in the order of the grants
	lost   <-chan struct{}
}

// Told says whether the lock has told this holder that the lease is gone.
func (h *Holding) Told() bool { return h != nil && h.told() }

// told is Told.
func (h *Holding) told() bool {
	if h.Client.asleep.Load() {
		return false
	}
	select {
	case <-h.lost:
		return true
	default:
		return false
	}
}

// enter counts an owner among those that believe to hold the lock.
func (w *World) enter(c *Client, owner string, lost <-chan struct{}) *Holding {
	w.held++
	h := &Holding{Client: c, Owner: owner, Number: w.held, lost: lost}
	for _, other := range w.inside {
		if other.Owner != owner && !other.told() {
			w.report(TwoHolders, "%s holds the lock, and %s was never told that"+
				" it lost it", owner, other.Owner)
			break
		}
	}
	w.inside = append(w.inside, h)
	if w.Store() {
		w.granted(c)
	}
	return h
}

// leave takes an owner out again, or with "" all of a client.
func (w *World) leave(c *Client, owner string) {
	w.inside = slices.DeleteFunc(w.inside, func(h *Holding) bool {
		return h.Client == c && (owner == "" || h.Owner == owner)
	})
}

// Break is an invariant that was broken, and by what.
type Break struct {
	Invariant string
	At        time.Duration
	Event     string
	Entry     int // the index of the timeline's entry that shows it
}

// String is the event with its time, as the assertions print it.
func (b *Break) String() string {
	return fmt.Sprintf("%s s: %s", seconds(b.At), b.Event)
}

// report notes a break at the entry that is being recorded.
func (w *World) report(invariant, format string, args ...any) {
	w.breaks = append(w.breaks, &Break{
		Invariant: invariant,
		At:        w.Now(),
		Event:     fmt.Sprintf(format, args...),
		Entry:     len(w.entries),
	})
}

// Report notes a break that a story's own judge has seen, at the newest entry.
func (w *World) Report(invariant, format string, args ...any) {
	w.report(invariant, format, args...)
	w.breaks[len(w.breaks)-1].Entry--
}

// Breaks are the breaks of an invariant that the world saw.
func (w *World) Breaks(invariant string) []*Break {
	var breaks []*Break
	for _, b := range w.breaks {
		if b.Invariant == invariant {
			breaks = append(breaks, b)
		}
	}
	return breaks
}
