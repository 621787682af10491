package history

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Place is a lock key on a node, or a member of one that holds several grants.
type Place struct {
	Node   int
	Key    string
	Member string // of a readers' key, see Log.Readers; "" for every other key
}

// State is what a node says of a key.
type State struct {
	Exists bool
	Value  string    // of a hash: its fields
	Ends   time.Time // zero: it does not expire

	// Members are those of a sorted set, each with the moment that its score says,
	// in milliseconds; nil where that is not known.
	Members map[string]time.Time

	// Reading is what a server said whose clock is another one than this
	// process's; nil where Ends is exact.
	Reading *Reading
}

// Reading is a look at a key by the server's own clock, in milliseconds. Two looks
// compare by it, however long this process was stopped in between.
type Reading struct{ Ends, Now int64 }

// Moved is by how much a command changed the end of a lease.
func (s State) Moved(after State) time.Duration {
	if s.Reading != nil && after.Reading != nil {
		return time.Duration(after.Reading.Ends-s.Reading.Ends) *
			time.Millisecond
	}
	return after.Ends.Sub(s.Ends)
}

// Altered says whether a command has changed a key. Two looks at a real server may differ
// by as long as it was kept from running between its TTL and its clock.
func (s State) Altered(after State) bool {
	if s.Exists != after.Exists || s.Value != after.Value {
		return true
	}
	if s.Exists && s.Reading != nil {
		return s.Moved(after).Abs() > 20*time.Millisecond
	}
	return !s.Ends.Equal(after.Ends)
}

// mayHaveExpired says whether a key may have expired between the look and the
// command, because the server's clock was not seen before the end of its lease.
func (s State) mayHaveExpired(after State) bool {
	return s.Exists && s.Reading != nil && !s.Ends.IsZero() &&
		(after.Reading == nil || after.Reading.Now == 0 || after.Reading.Now+5 >= s.Reading.Ends)
}

// Grant is a lock key and the client whose command set it.
type Grant struct {
	Owner string
	Since time.Time
	Sent  time.Time // when the command was sent that began it
	State State
}

// Command is a command that a node has executed.
type Command struct {
	Client string
	Text   string    // as a person writes it
	Sent   time.Time // by its client
	Began  time.Time // from when on a grant that it makes may have been meant
	Late   bool      // it took longer than the network takes
}

// Over says whether the grant's lease has ended at this moment, by the true clock. A key that is
// still there and expires has a lease; of others only the lock itself can tell.
func (l *Log) Over(g *Grant) bool {
	if l.LeaseEnd != nil {
		if end, ok := l.LeaseEnd(g.State.Value); ok {
			return !time.Now().Before(end)
		}
	}
	return false
}

// until is when a grant's lease ends; zero when it has none.
func (l *Log) until(g *Grant) time.Time {
	end := g.State.Ends
	if l.LeaseEnd != nil {
		end, _ = l.LeaseEnd(g.State.Value)
	}
	return end
}

// Executed compares a lock key before and after a command, and keeps the books of grants.
func (l *Log) Executed(c Command, at Place, before, after State) {
	if at.Member == "" && at.Key == l.Readers {
		for member := range l.members(before, after) {
			at.Member = member
			l.Executed(c, at, before.member(member), after.member(member))
		}
		return
	}
	if before.Exists != after.Exists || before.Value != after.Value {
		l.Touch(at.Node)
	}
	g := l.Grants[at]
	if before.mayHaveExpired(after) {
		before = State{}
	}
	if g != nil {
		l.ends(g, c, before, after)
	}
	if !before.Exists {
		g = nil // expired, if there was one
	}
	if g != nil && before.Altered(after) {
		l.judgeChange(g, c, before, after)
	}
	switch {
	case !after.Exists:
		g = nil
	case !before.Exists || before.Value != after.Value:
		g = &Grant{Owner: c.Client, Since: time.Now(), Sent: c.Began, State: after}
		delete(l.endings, c.Client)
	case g != nil:
		g.State = after
	}
	if g == nil {
		delete(l.Grants, at)
		return
	}
	l.Grants[at] = g
	l.Touched = true
}

// ends notes how a grant has ended, if it has.
func (l *Log) ends(g *Grant, c Command, before, after State) {
	switch {
	case !before.Exists || l.Over(g):
		l.end(g.Owner, Expired)
	case g.Owner != c.Client && (!after.Exists || after.Value != before.Value):
		l.end(g.Owner, Taken)
	}
}

// Ending is how the newest grant of a client has ended.
func (l *Log) Ending(client string) Ending { return l.endings[client] }

// members are those of two states, in the order of their names.
func (l *Log) members(states ...State) iter.Seq[string] {
	var names []string
	for _, s := range states {
		names = slices.AppendSeq(names, maps.Keys(s.Members))
	}
	slices.Sort(names)
	return slices.Values(slices.Compact(names))
}

// member is the state of a reader's grant. It is over when its moment has come.
func (s State) member(name string) State {
	end, ok := s.Members[name]
	if !ok || !time.Now().Before(end) {
		return State{}
	}
	return State{Exists: true, Value: name, Ends: end}
}

// Believe keeps the books of a grant that no command showed: a client was told
// that it has the lock, and so has what the node shows now.
func (l *Log) Believe(client string, at Place, s State) {
	if !s.Exists {
		return
	}
	l.Touched = true
	// A grant that the node still has for another client is not this one's.
	if g := l.Grants[at]; g == nil || g.State.Value != s.Value {
		l.Grants[at] = &Grant{Owner: client, Since: time.Now(), State: s}
	}
}

// Lost ends the grants of a node: its keys were removed by no client.
func (l *Log) Lost(node int) {
	for at, g := range l.Grants {
		if at.Node == node {
			l.end(g.Owner, Removed)
			delete(l.Grants, at)
		}
	}
}

// Owner is the client that a majority of the nodes holds the lock for, or the readers, or "-".
func (l *Log) Owner() string { return l.owner(l.Leases()) }

// owner is Owner, by what the nodes have of the first key: each look at a node costs
// as much as a command.
func (l *Log) owner(leases []Lease) string {
	count := map[string]int{}
	for _, lease := range leases {
		count[lease.Owner]++
	}
	for at, g := range l.Grants {
		if at.Member != "" && (at.Key == l.Keys[0] && l.Holds(at, g.State) || l.Reads(at)) {
			count[g.Owner]++
		}
	}
	var owners []string
	for owner, nodes := range count {
		if nodes > l.Nodes/2 {
			owners = append(owners, owner)
		}
	}
	if owners == nil {
		return "-"
	}
	slices.Sort(owners)
	return strings.Join(owners, " ")
}

// Reads says whether a grant is a reader's whose lease is running.
func (l *Log) Reads(at Place) bool {
	g := l.Grants[at]
	return at.Member != "" && g != nil && time.Now().Before(g.State.Ends)
}

// Leases are the grants of the first key that still run, by node.
func (l *Log) Leases() []Lease {
	var leases []Lease
	for node := range l.Nodes {
		g := l.Grants[Place{Node: node, Key: l.Keys[0]}]
		if g == nil || !l.Holds(Place{Node: node, Key: l.Keys[0]}, g.State) {
			continue
		}
		lease := Lease{Node: node, Owner: g.Owner, Value: g.State.Value}
		if end := l.until(g); !end.IsZero() {
			lease.Ends = l.Of(end)
		}
		leases = append(leases, lease)
	}
	return leases
}

// Version is how often one of the lock's keys has changed on a node.
func (l *Log) Version(node int) int { return l.versions[node] }

// Touch counts a change of one of the lock's keys on a node.
func (l *Log) Touch(node int) { l.versions[node]++ }
