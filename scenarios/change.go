package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// Change is what is different from the scenarios as they are written. A field that
// is zero changes nothing.
type Change struct {
	Lease   time.Duration            // of every lock that is built
	Work    float64                  // the work under the lock takes so many times as long
	Latency time.Duration            // of a command, and of a reply
	Poll    time.Duration            // the longest pause of a waiter
	Skew    map[string]time.Duration // by client: how far its own clock is ahead
	Faults  []Fault

	// Again has a client that a fault befalls ask once more when its acquire returns an error.
	Again bool

	// Rewrite may change the words of a command before a client sends it, such as
	// the source of a script or its SHA1.
	Rewrite func(words []any)

	partial *Result      // of a run that can't be judged
	fired   map[int]bool // nil outside of Try
}

// Fault is what happens to one command: the client's n-th since the scenario began,
// counted from 1. One of the other fields is set.
type Fault struct {
	Client string
	Nth    int

	Late        time.Duration // so much later it reaches the server
	LateReply   time.Duration // so much later its reply arrives
	LoseRequest bool          // the connection breaks before it is sent
	LoseReply   bool          // it is executed, and then the connection breaks
	Hang        bool          // it is neither executed nor answered
}

// Try runs one scenario with a change and judges whether the lock holds its invariants; t does
// not fail when it doesn't. Results have their Sequence, and no Timeline, which is the same as
// text. Unfired are the faults whose command was never sent. When the run can't be judged,
// because a call never returns or a free lock isn't granted, Try returns the error and one
// result: the Sequence until then, and the first invariant that was broken, if any. The error's
// first line says what happened; the timeline may follow it.
func Try(t *testing.T, build Build, name string, change Change, opts ...Option) (
	results []Result, unfired []Fault, err error) {
	t.Helper()
	s, err := configure(build, opts)
	if err != nil {
		return nil, nil, err
	}
	scenario, err := Find(name)
	if err != nil {
		return nil, nil, err
	}
	s.change, change.fired = &change, map[int]bool{}
	results, err = runScenario(t, scenario, build, *s)
	for i, f := range change.Faults {
		if !change.fired[i] {
			unfired = append(unfired, f)
		}
	}
	if err == nil {
		return results, unfired, nil
	}
	if change.partial != nil {
		change.partial.Scenario = name
		results = []Result{*change.partial}
	}
	return results, unfired, err
}

// tried says whether Try runs the scenario.
func (c *Change) tried() bool { return c.fired != nil }

// apply changes the world of a scenario.
func (c *Change) apply(config *lab.Config) {
	config.TTL = cmp.Or(c.Lease, config.TTL)
	config.Latency = cmp.Or(c.Latency, config.Latency)
	config.Rewrite = c.Rewrite
	if len(c.Faults) > 0 {
		config.Fate = c.fate
	}
}

// fate is what happens to a command that a fault is about.
func (c *Change) fate(client string, nth int, now time.Duration) (f lab.Fault, found bool) {
	i := slices.IndexFunc(c.Faults, func(f Fault) bool {
		return f.Client == client && f.Nth == nth
	})
	if i < 0 {
		return f, false
	}
	c.fired[i] = true
	fault := c.Faults[i]
	if fault.Late > 0 {
		f.Deliver = now + fault.Late
	}
	f.AnswerAfter, f.Refuse = fault.LateReply, fault.LoseRequest
	f.LoseReply, f.Hang = fault.LoseReply, fault.Hang
	return f, true
}

// AsksAgain is what a timeline says of a client before it does, see Change.Again.
const AsksAgain = "asks again"

// asksAgain says whether a client asks once more after an error.
func (c *Change) asksAgain(client string) bool {
	return c.Again && slices.ContainsFunc(c.Faults, func(f Fault) bool {
		return f.Client == client
	})
}

// faulty says whether something was made to go wrong.
func (c *Change) faulty() bool { return len(c.Faults) > 0 }

// options come after the scenario's own.
func (c *Change) options() []lock.Option {
	if c.Poll == 0 {
		return nil
	}
	return []lock.Option{lock.PollEvery(c.Poll)}
}

// skew sets a client's clock.
func (c *Change) skew(client *lab.Client) {
	if ahead, ok := c.Skew[client.Name]; ok {
		client.Skew = ahead
	}
}

// work is by how much the work under a lock is longer than it is written.
func (c *Change) work() float64 { return cmp.Or(c.Work, 1) }

// longestPartial is how many entries are kept of a run that can't be judged: a
// client that never stops asking fills a timeline.
const longestPartial = 1000

// failed keeps what was recorded of a world that can't be judged.
func (c *Change) failed(w *lab.World) {
	if !c.tried() {
		return
	}
	r := Result{BrokenAt: -1, Sequence: w.Timeline()}
	if broken := w.Broken(); len(broken) > 0 {
		r.Verdict, r.Invariant = Breaks, broken[0].Invariant
		r.Event, r.BrokenAt = broken[0].String(), broken[0].Entry
	}
	r.Sequence = r.Sequence[:min(len(r.Sequence), max(longestPartial, r.BrokenAt+1))]
	c.partial = &r
}

// lease is the lease that the locks of a run ask for.
func (s *S) lease() time.Duration {
	return cmp.Or(s.settings.change.Lease, lease)
}

// String names the command and what happens to it.
func (f Fault) String() string {
	what := "hangs"
	switch {
	case f.Late > 0:
		what = fmt.Sprintf("arrives %v later", f.Late)
	case f.LateReply > 0:
		what = fmt.Sprintf("is answered %v later", f.LateReply)
	case f.LoseRequest:
		what = "is lost"
	case f.LoseReply:
		what = "is executed, and its reply is lost"
	}
	return fmt.Sprintf("%s's command %d %s", f.Client, f.Nth, what)
}
