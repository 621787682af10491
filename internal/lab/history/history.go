// Package history keeps what happened in a scenario: the entries of its timeline,
// whose grant each lock key is, which owners believe they hold the lock, and what
// the storage was asked. A History is data: it can be written to a file, and
// package judge says what it breaks.
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
	Scale float64 // how long a second of the scenario lasts; 0 is a second
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
	if c.Scale == 0 {
		return d
	}
	return time.Duration(float64(d) * c.Scale)
}

// Unscaled is a duration of the run as the scenario has it.
func (c *Clock) Unscaled(d time.Duration) time.Duration {
	if c.Scale == 0 {
		return d
	}
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
	Events  []Event
}

// Event is something that may break an invariant. One of its pointers is set.
type Event struct {
	At    time.Duration
	Entry int // the index of the timeline's entry that shows it

	Change *Change `json:",omitempty"`
	Enter  *Enter  `json:",omitempty"`
	Told   *Told   `json:",omitempty"`
	Write  *Write  `json:",omitempty"`
	Report *Report `json:",omitempty"`
}

// Change is a command that changed a lock key under a grant. Times are the
// scenario's.
type Change struct {
	Client        string
	Text          string // the command as a person writes it
	Sent          time.Duration
	Late          bool // it took longer than the network takes
	Before, After State
	Grant         Granted // what it changed
	Own           Ending  `json:",omitempty"` // how the client's newest grant has ended
}

// Granted is a grant as it was at an event.
type Granted struct {
	Owner       string
	Since, Sent time.Duration
	Leased      bool
	Until       time.Duration // when its lease ends, if it has one
	Over        bool          // its lease had ended
}

// Enter is an owner that was granted the lock.
type Enter struct {
	Owner  string
	Shared bool    `json:",omitempty"` // as a reader
	Inside []Rival // the owners who believe they hold it then, and exclude this one
	Own    Ending  `json:",omitempty"` // how the grant has ended that it was told of
}

// Rival is an owner that believes it holds the lock when another one is granted it.
type Rival struct {
	Owner string
	Lost  Ending `json:",omitempty"` // how it has lost the lock at the servers
	Apart bool   `json:",omitempty"` // see Log.Overlap
}

// Ending is how the newest grant of a client has ended at a server, but by its own
// release.
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

// Told is a holder that is told of the loss of its lock.
type Told struct {
	Client, Owner string
	Held          bool          // the servers have it as the client's
	Since         time.Duration // when it was granted
}

// Write is a write that the storage accepted.
type Write struct {
	Owner  string
	Number int // of the acquisition that it belongs to
	Newest int // the newest acquisition that has touched the storage before
	Value  int
	Read   int // the version that the owner had read
	Found  int // the version that it overwrites
}

// Report is what a scenario's own assertion has found.
type Report struct{ Invariant, Text string }

// Break is an invariant that was broken, and by what.
type Break struct {
	Invariant string
	At        time.Duration
	Event     string
	Entry     int // the index of the timeline's entry that shows it

	// After is what it follows from: how the grant had ended of a client that went
	// on as if it had it. Late says that it was granted the lock only then. Apart
	// breaks are not what the scenario is about.
	After Ending `json:",omitempty"`
	Late  bool   `json:",omitempty"`
	Apart bool   `json:",omitempty"`
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

	endings  map[string]Ending // by client: how its newest grant has ended
	stored   func() *Stored    // of the newest storage; nil: none was made
	versions []int             // by node: how often one of the lock's keys has changed
	leased   []time.Time       // by node: when a command last changed the first key
}

// NewLog begins a history of so many nodes now.
func NewLog(nodes int, keys []string, scale float64) *Log {
	l := &Log{Clock: Clock{Scale: scale}, Keys: keys}
	l.Nodes = nodes
	l.Reset()
	return l
}

// Reset begins anew, and records nothing until Record.
func (l *Log) Reset() {
	l.Start, l.Recording = time.Now(), false
	l.Grants, l.Inside, l.Held, l.Touched = map[Place]*Grant{}, nil, 0, false
	l.Entries, l.Events, l.stored = nil, nil, nil
	l.endings = map[string]Ending{}
	l.versions, l.leased = make([]int, l.Nodes), make([]time.Time, l.Nodes)
}

// Record keeps entries from now on, and sets the clock to zero.
func (l *Log) Record() { l.Start, l.Recording = time.Now(), true }

// Forget drops what was learned of other keys than the lock's.
func (l *Log) Forget() {
	clear(l.Grants)
	clear(l.endings)
	l.Events, l.Touched = nil, false
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
	if l.stored == nil {
		return nil
	}
	return l.stored()
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
			l.happens(Event{Told: &Told{Client: h.Client, Owner: h.Owner, Since: h.since,
				Held: slices.Contains(strings.Fields(e.Owner), h.Client) && l.same(h)}})
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

// happens adds an event at the entry that is being recorded.
func (l *Log) happens(e Event) {
	e.At, e.Entry = l.Now(), len(l.Entries)
	l.Events = append(l.Events, e)
}

// Assert adds what a scenario's own assertion has found, at the newest entry.
func (l *Log) Assert(invariant, format string, args ...any) {
	l.happens(Event{Report: &Report{invariant, fmt.Sprintf(format, args...)}})
	l.Events[len(l.Events)-1].Entry--
}

// Holding is an owner that believes to hold the lock.
type Holding struct {
	Client string // whose process it is in
	Owner  string // the client's name, or that of one of its owners
	Number int    // acquisitions are counted from 1, in the order of the grants
	Shared bool   // it allows others that are shared: a reader

	// CutOff says whether nothing passes between its client and the servers; nil: it
	// never is.
	CutOff func() bool `json:"-"`

	notice   <-chan struct{}
	asleep   func() bool
	overlaps bool // see Overlap
	told     bool // and it is recorded
	since    time.Duration
	lost     Ending // how its client's grant has ended meanwhile
}

// Told says whether the lock has told this holder that the lease is gone. While
// its process is stopped it has been told nothing.
func (h *Holding) Told() bool {
	if h == nil || h.asleep() {
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
// it may be inside. Lost tells it that the lease is gone, and asleep says whether its
// process is stopped.
func (l *Log) Enter(client, owner string, shared bool, lost <-chan struct{},
	asleep func() bool) *Holding {
	l.Held++
	h := &Holding{Client: client, Owner: owner, Number: l.Held, Shared: shared,
		notice: lost, asleep: asleep, since: l.Now()}
	e := &Enter{Owner: h.Owner, Shared: h.Shared, Own: l.endings[client]}
	for _, other := range l.Inside {
		if other.excludes(h) && !other.Told() {
			lost := other.lost
			switch {
			case lost == Expired && other.asleep():
				lost = Stopped
			case lost == Expired && other.CutOff != nil && other.CutOff():
				lost = CutOff
			}
			e.Inside = append(e.Inside, Rival{other.Owner, lost, other.overlaps})
		}
	}
	l.happens(Event{Enter: e})
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
