// Package history keeps what happened in a scenario: the entries of its timeline,
// whose grant each lock key is, which owners believe they hold the lock, what the
// storage was asked, and which invariants all that breaks.
//
// Nothing here waits, sends or asks a server. A Log is changed only by the one
// that has its turn, see package order.
package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Clock is the time of a scenario: since it began, and perhaps faster or slower
// than the clock on the wall.
type Clock struct {
	Start time.Time
	Scale float64 // how many seconds a second of the scenario lasts
}

// Now is the scenario's time since it began.
func (c *Clock) Now() time.Duration { return c.Of(time.Now()) }

// Of is the scenario's time at a moment.
func (c *Clock) Of(t time.Time) time.Duration { return c.Unscaled(t.Sub(c.Start)) }

// Moment is when a time of the scenario is.
func (c *Clock) Moment(d time.Duration) time.Time {
	return c.Start.Add(c.Lasts(d))
}

// Lasts is how long a duration of the scenario lasts.
func (c *Clock) Lasts(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.Scale)
}

// Unscaled is a duration of the run as the scenario has it.
func (c *Clock) Unscaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.Scale)
}

// Seconds is a duration as a timeline writes it.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// Seconds is a moment in seconds of the scenario.
func (c *Clock) Seconds(t time.Time) string { return Seconds(c.Of(t)) }

// History is all that was recorded of a scenario.
type History struct {
	Nodes   int
	Blur    time.Duration // how inexactly the end of a lease is known
	Entries []*Entry
	Breaks  []*Break
	Denied  []Denied
}

// Denied is a holder that was told of the loss of its lock while the servers had the
// lock as its client's.
type Denied struct {
	Client, Owner string
	At            time.Duration
	Entry         int // the index of the timeline's entry that shows it
}

// Ending is how the newest grant of a client has ended at a server, but by its own release.
type Ending string

// The endings. Running means that it goes on, or was released by its client.
const (
	Running Ending = ""
	Expired Ending = "expired" // its lease is over
	Removed Ending = "removed" // by no client: the server has lost it
	Taken   Ending = "taken"   // another client's command has ended it
	CutOff  Ending = "cut off" // its lease is over, and its client is cut off
	Stopped Ending = "stopped" // its lease is over, and its process is stopped
)

// Break is an invariant that was broken, and by what.
type Break struct {
	Invariant string
	At        time.Duration
	Event     string
	Entry     int // the index of the timeline's entry that shows it

	// After is what it follows from: how the grant had ended of a client that went on as if it
	// had it; where it reads, Reads is since when. Late says that the client was granted the lock
	// only then. Apart breaks are not what the scenario is about. Own says that a command changed
	// a newer grant of its own client, Grant that a call was said to be granted the lock, and
	// Told that the client had been answered all that it had sent.
	After Ending
	Reads time.Duration
	Late  bool
	Apart bool
	Own   bool
	Grant bool
	Told  bool
}

// String is the event with its time, as the assertions print it.
func (b *Break) String() string {
	return fmt.Sprintf("%s s: %s", Seconds(b.At), b.Event)
}

// Log is a history that grows, with what must be known to go on with it.
type Log struct {
	Clock
	History
	Recording bool     // entries are kept
	Keys      []string // the lock's keys
	Readers   string   // that of them whose members are readers' grants; or ""

	// LeaseEnd reads the end of the lease from a key's value, for locks whose
	// lease is not the key's expiry; else it is nil.
	LeaseEnd func(value string) (time.Time, bool)

	// Holds says whether a key that was seen in a state is still there.
	Holds func(Place, State) bool

	Grants  map[Place]*Grant
	Inside  []*Holding
	Held    int  // acquisitions so far
	Touched bool // a client has set a lock key

	Leased []Span // by node: when a command last changed the first key, or its lease

	endings  map[string]Ending // by client: how its newest grant has ended
	storage  *Storage          // the newest; nil: none was made
	versions []int             // by node: how often one of the lock's keys has changed
}

// NewLog begins a history of so many nodes now.
func NewLog(nodes int, keys []string) *Log {
	l := &Log{Clock: Clock{Scale: 1}, Keys: keys, History: History{Nodes: nodes}}
	l.Reset()
	return l
}

// Reset begins anew, and records nothing until Record.
func (l *Log) Reset() {
	l.Start, l.Recording = time.Now(), false
	l.Grants, l.Inside, l.Held, l.Touched = map[Place]*Grant{}, nil, 0, false
	l.Entries, l.Breaks, l.Denied, l.storage = nil, nil, nil, nil
	l.endings = map[string]Ending{}
	l.versions, l.Leased = make([]int, l.Nodes), make([]Span, l.Nodes)
}

// Record keeps entries from now on, and sets the clock to zero.
func (l *Log) Record() { l.Start, l.Recording = time.Now(), true }

// Forget drops what was learned of other keys than the lock's.
func (l *Log) Forget() {
	clear(l.Grants)
	clear(l.endings)
	l.Breaks, l.Denied, l.Touched = nil, nil, false
}

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

	// A player shows these beside the line. Times are the scenario's.
	Sent   time.Duration // of a command: when the client sent it
	Back   time.Duration // of a command: when its reply arrives; 0: never
	Line   string        // of a command: the lock's line that sent it, "gold/lock.go:45"
	Nth    int           // of a command: which of the client's it is, from 1; 0: of none
	Leases []Lease       // what the nodes have of the lock's first key
	Stored *Stored       // what the storage holds; nil: the scenario has none
}

// Lease is what a node has of the lock's first key at an entry.
type Lease struct {
	Node  int
	Owner string        // whose command set it
	Value string        // of a hash: its fields
	Ends  time.Duration // 0: it has no end
}

// Stored is what the storage holds at an entry.
type Stored struct {
	Value int
	Token uint64 // the highest that it has seen; 0: none
}

// Stored is what the newest storage holds; nil when there is none.
func (l *Log) Stored() *Stored {
	if l.storage == nil {
		return nil
	}
	return &Stored{Value: l.storage.value, Token: l.storage.highest}
}

// Add appends an entry, with the time, the lock's owner and the believed ones.
func (l *Log) Add(e *Entry) {
	if !l.Recording {
		return
	}
	e.At = l.Now()
	e.Leases, e.Stored = l.Leases(), l.Stored()
	e.Owner = l.owner(e.Leases)
	for _, h := range l.Inside {
		if !h.Told() {
			e.Inside = append(e.Inside, h.Owner)
		} else if !h.told {
			h.told = true
			if slices.Contains(strings.Fields(e.Owner), h.Client) && l.same(h) {
				l.Denied = append(l.Denied, Denied{h.Client, h.Owner, e.At, len(l.Entries)})
			}
		}
	}
	l.Entries = append(l.Entries, e)
}

// Note records what a client does or is told.
func (l *Log) Note(client, format string, args ...any) {
	l.Add(&Entry{Client: client, Node: -1, Text: fmt.Sprintf(format, args...)})
}

// Befalls records what befalls a node.
func (l *Log) Befalls(node int, what string) {
	l.Add(&Entry{Node: node, Text: what})
}

// Holding is an owner that believes to hold the lock.
type Holding struct {
	Client string // whose process it is in
	Owner  string // the client's name, or that of one of its owners
	Number int    // acquisitions are counted from 1, in the order of the grants
	Shared bool   // it allows others that are shared: a reader

	process  Process
	notice   <-chan struct{}
	overlaps bool // see Overlap
	told     bool // and it is recorded
	since    time.Duration
	lost     Ending // how its client's grant has ended meanwhile
}

// Process is what a client is in.
type Process interface {
	Asleep() bool // it is stopped
	CutOff() bool // nothing passes between it and the servers
}

// Told says whether the lock has told this holder that the lease is gone. While
// its process is stopped it has been told nothing.
func (h *Holding) Told() bool {
	if h == nil || h.process.Asleep() {
		return false
	}
	select {
	case <-h.notice:
		return true
	default:
		return false
	}
}

// Enter counts an owner among those that believe they hold the lock: others that share
// it may be inside. Lost tells it that the lease is gone.
func (l *Log) Enter(client, owner string, in Process, shared bool,
	lost <-chan struct{}) *Holding {
	l.Held++
	h := &Holding{Client: client, Owner: owner, Number: l.Held, Shared: shared,
		process: in, notice: lost, since: l.Now()}
	l.judgeEntry(h)
	l.Inside = append(l.Inside, h)
	return h
}

// same says whether a grant is still the one that a holder was told of.
func (l *Log) same(h *Holding) bool {
	for _, g := range l.Grants {
		if g.Owner == h.Client && l.Of(g.Since) <= h.since {
			return true
		}
	}
	return false
}

// end notes how a client's grant has ended.
func (l *Log) end(client string, how Ending) {
	l.endings[client] = how
	for _, h := range l.Inside {
		if h.Client == client {
			h.lost = how
		}
	}
}

// Overlap says that an owner's holding is no break when others enter beside it: the
// scenario is about something else, and another one is about that.
func (l *Log) Overlap(client, owner string) {
	for _, h := range l.Inside {
		if h.Client == client && h.Owner == owner {
			h.overlaps = true
		}
	}
}

// excludes says whether two holdings must not be at the same time.
func (h *Holding) excludes(other *Holding) bool {
	return h.Owner != other.Owner && !(h.Shared && other.Shared)
}

// Leave takes an owner out again, or with "" all of a client.
func (l *Log) Leave(client, owner string) {
	l.Inside = slices.DeleteFunc(l.Inside, func(h *Holding) bool {
		return h.Client == client && (owner == "" || h.Owner == owner)
	})
}

// Believers are the owners that believe they hold the lock.
func (l *Log) Believers() []string {
	var believers []string
	for _, h := range l.Inside {
		if !h.Told() && !slices.Contains(believers, h.Owner) {
			believers = append(believers, h.Owner)
		}
	}
	return believers
}

// Rivals are owners that believe they hold the lock and exclude each other: none, or at
// least two.
func (l *Log) Rivals() []string {
	var rivals []string
	for _, h := range l.Inside {
		if !h.Told() && !slices.Contains(rivals, h.Owner) &&
			slices.ContainsFunc(l.Inside, func(other *Holding) bool {
				return !other.Told() && other.excludes(h)
			}) {
			rivals = append(rivals, h.Owner)
		}
	}
	return rivals
}

// Span is between two moments.
type Span struct{ From, To time.Time }
