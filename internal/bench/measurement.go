package bench

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockladder/lockladder/scenarios/protocol"
)

// Measurement is what one round of a row has measured, and how.
type Measurement struct {
	Counts
	Settings // its Poll is the longest pause of a refused client
	Subject  Subject
	Nodes    int  // Redis servers that the lock was on
	Turns    int  // of all clients together
	Unlocked bool // no client is ever inside a critical section
}

// clients is how many of them ran at the same time.
func (m *Measurement) clients() int {
	if isSerialLimit(m.Subject) {
		return 1
	}
	return m.Clients
}

// Finished says that no client was cut off. Those of a closed loop always are: by its end.
func (m *Measurement) Finished() bool {
	if m.Loop > 0 {
		return m.Absent == 0 && m.Took >= m.Loop
	}
	return m.Absent == 0 && m.Cut == 0
}

// PerSecond are the acquisitions a second.
func (m *Measurement) PerSecond() *float64 {
	if m.Took <= 0 {
		return nil
	}
	return new(Rounded(float64(m.Sections)/m.Took.Seconds(), 3))
}

// sent is so many of what clients sent, for each section. What other programs send,
// and what other drivers do, nobody counts.
func (m *Measurement) sent(n int64) any {
	return when(m.Subject.Nodes > 0 && m.Subject.Sell == nil, Per(n, m.Sections))
}

// cpu is processor time of a section in microseconds, nil on embedded servers.
func (m *Measurement) cpu(of time.Duration) any {
	return when(m.Usage.Known && m.Usage.CPU > 0, Per(of.Microseconds(), m.Sections))
}

// longestWait may have been cut off, and is at most as long as the round then.
func (m *Measurement) longestWait() *float64 {
	granted := waits(m.Stamps).At(100)
	if granted == nil {
		return nil
	}
	return new(max(*granted, Milliseconds(min(time.Duration(m.Waiting), m.limit()))))
}

// Counts are what some of a round's clients did: one client, or all. They are added up.
type Counts struct {
	Sections int64
	protocol.Bought
	Failures int64
	Asked    int64 // attempts that were seen
	Refused  int64 // attempts that were refused
	Commands int64
	Trips    int64
	Most     int64 // clients inside at one time
	Cut      int   // clients that the end of the row cut off
	Absent   int   // clients that did not return
	Waiting  int64 // the longest wait that was cut off, in nanoseconds
	First    string
	Served   []float64 // the sections of each client that is through
	Stamps   []Stamp
	Took     time.Duration // from the start to the last end
	CPU      time.Duration // of the process, 0 when unknown
	Left     *int64        // of a stock, nil when it is in Redis
	Usage    Usage         // of the servers, which the clients don't add up
}

// Add adds the counts of others.
func (p *Counts) Add(q *Counts) {
	p.Sections += q.Sections
	p.Bought.Add(q.Bought)
	p.Failures += q.Failures
	p.Asked += q.Asked
	p.Refused += q.Refused
	p.Commands += q.Commands
	p.Trips += q.Trips
	p.Most = max(p.Most, q.Most)
	p.Cut += q.Cut
	p.Absent += q.Absent
	p.Waiting = max(p.Waiting, q.Waiting)
	p.First = cmp.Or(p.First, q.First)
	p.Served = append(p.Served, q.Served...)
	p.Stamps = append(p.Stamps, q.Stamps...)
	p.Took = max(p.Took, q.Took)
	p.CPU += q.CPU
	p.Left = cmp.Or(p.Left, q.Left)
}

// Stamp is one critical section. Times are nanoseconds since the row began.
type Stamp struct {
	Asked   int64 // when the client asked for the lock, -1 when there is none
	Entered int64
	Left    int64
}

// MostInside is how many of the sections overlapped at one time, at most.
func MostInside(stamps []Stamp) (most int64) {
	var entered, left []int64
	for _, s := range stamps {
		entered, left = append(entered, s.Entered), append(left, s.Left)
	}
	slices.Sort(entered)
	slices.Sort(left)
	for i, at := range entered {
		// A client that leaves when another enters was not inside with it.
		gone, _ := slices.BinarySearch(left, at+1)
		most = max(most, int64(i+1-gone))
	}
	return most
}

// inOrder is the share of the pairs of acquisitions that were granted in the
// order in which they were asked for: 1 is first come, first served, and 0.5 is
// chance. It is nil when there is no pair.
func inOrder(stamps []Stamp) *float64 {
	asked := slices.DeleteFunc(slices.Clone(stamps), func(s Stamp) bool { return s.Asked < 0 })
	n := float64(len(asked))
	if n < 2 {
		return nil
	}
	slices.SortFunc(asked, func(a, b Stamp) int {
		return cmp.Or(cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Entered, b.Entered))
	})
	overtaken := 0
	var granted []int64 // those who asked so far, in the order of their grants
	for _, s := range asked {
		later, _ := slices.BinarySearch(granted, s.Entered+1)
		overtaken += len(granted) - later
		granted = slices.Insert(granted, later, s.Entered)
	}
	return new(Rounded(1-float64(overtaken)/(n*(n-1)/2), 4))
}
