package network

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// Endpoint is a client to the network.
type Endpoint struct {
	net  *Net
	Name string
	Far  time.Duration // how much longer than the others' its messages travel
	End  func()        // kills and joins a process of its own; nil: it has none

	dead    atomic.Bool
	broken  atomic.Int64 // see Broken
	cuts    sync.Mutex   // windows: connections of real stores live on beside the scenario
	windows []*window
	counts  sync.Mutex // guards what follows: on real servers all go on at once
	faults  map[fated]Fault
	always  Fault
	call    Call
	sent    map[Call]int
	all     int               // commands since the recording began
	decided map[Call]int      // see Decided
	lines   map[string]string // see From
}

type fated struct {
	call Call
	nth  int
}

// window is a time in which nothing passes between the client and the network.
type window struct {
	from, to time.Duration
	open     atomic.Bool // in real time only after an event
}

// Endpoint connects a client of that name.
func (n *Net) Endpoint(name string) *Endpoint {
	return &Endpoint{net: n, Name: name, call: Renewal, faults: map[fated]Fault{},
		sent: map[Call]int{}, decided: map[Call]int{}, lines: map[string]string{}}
}

// From notes which line of the lock's code sends commands that begin with these two
// words: "SET lock:stock" comes from "gold/lock.go:45".
func (c *Endpoint) From(words [2]string, line string) {
	c.counts.Lock()
	defer c.counts.Unlock()
	c.lines[strings.ToUpper(words[0])+" "+words[1]] = line
}

// Line is where a command comes from, "" when nobody said it.
func (c *Endpoint) Line(args []string) string {
	if len(args) < 2 {
		return ""
	}
	c.counts.Lock()
	defer c.counts.Unlock()
	return c.lines[strings.ToUpper(args[0])+" "+args[1]]
}

// Dead says whether the client has crashed.
func (c *Endpoint) Dead() bool { return c.dead.Load() }

// Die ends the process, but what it has sent already is on its way and arrives.
// Its goroutines end at their next command.
func (c *Endpoint) Die() {
	c.dead.Store(true)
	c.net.Log.Leave(c.Name, "")
	c.net.Log.Note(c.Name, "dies")
}

// Revive makes the client as new, for another run.
func (c *Endpoint) Revive() {
	c.dead.Store(false)
	c.Recount()
}

// Hold lets nothing pass between the client and the network in a time, like a
// stopped process or a cut cable. Messages sent meanwhile arrive late.
// Where a machine may be late it does not begin before the event.
func (c *Endpoint) Hold(from, to time.Duration, event func() bool) {
	h := &window{from: from, to: to}
	c.cuts.Lock()
	c.windows = append(c.windows, h)
	c.cuts.Unlock()
	c.net.Real.From(c.net.Log.Moment(from), event, c.Dead, c.net.Lease,
		func() { h.open.Store(true) })
}

// held is when the window ends in which the client is now; the zero time when it is in none.
func (c *Endpoint) held() time.Time {
	c.cuts.Lock()
	defer c.cuts.Unlock()
	for _, h := range c.windows {
		if !h.open.Load() {
			continue // and the scenario may not have begun
		}
		if now := c.net.Log.Now(); h.from <= now && now < h.to {
			return c.net.Log.Moment(h.to)
		}
	}
	return time.Time{}
}

// CutOff says whether the client is in such a time.
func (c *Endpoint) CutOff() bool { return !c.held().IsZero() }

// hold keeps a command or a reply back until its event, where a moment is not enough.
func (c *Endpoint) hold(f Fault) {
	if f.Until != nil {
		c.net.Real.Await(f.Until, c.Dead, 3*c.net.Lease/2)
	}
}

// Fault decides the fate of one command: the n-th that the client sends in the
// next call of that kind which has so many, counted from 1.
func (c *Endpoint) Fault(call Call, nth int, f Fault) {
	c.counts.Lock()
	defer c.counts.Unlock()
	c.faults[fated{call, nth}] = f
}

// Always decides the fate of every command that has no fate of its own.
func (c *Endpoint) Always(f Fault) {
	c.counts.Lock()
	defer c.counts.Unlock()
	c.always = f
}

// latency is how long anything is on its way between the client and a node.
func (c *Endpoint) latency() time.Duration {
	return c.net.Latency + c.net.Log.Lasts(c.Far)
}

// fate counts a command of a call, and looks up what happens to it.
func (c *Endpoint) fate() (f Fault, nth int, of Call) {
	c.counts.Lock()
	defer c.counts.Unlock()
	c.sent[c.call]++
	if !c.net.Log.Recording {
		return Fault{}, 0, c.call
	}
	c.all++
	this, f := fated{c.call, c.sent[c.call]}, c.always
	if own, ok := c.faults[this]; ok {
		delete(c.faults, this)
		f = own
	}
	if c.net.Fate != nil {
		if other, ok := c.net.Fate(c.Name, c.all, c.net.Log.Now()); ok {
			f = other
		}
	}
	return f, c.all, c.call
}

// Begin says what the client does from now on; commands are counted anew.
func (c *Endpoint) Begin(call Call) {
	c.counts.Lock()
	defer c.counts.Unlock()
	c.call = call
	if call != Renewal {
		c.sent[call], c.decided[call] = 0, 0
	}
}

// Recount counts all commands anew.
func (c *Endpoint) Recount() {
	c.counts.Lock()
	defer c.counts.Unlock()
	clear(c.sent)
	clear(c.decided)
	c.all = 0
}

// Decided is which command of the newest call of a kind, or of those on the client's own account
// since the scenario began, was the first to change the lock, counted from 1; 0 when none has.
func (c *Endpoint) Decided(call Call) int {
	c.counts.Lock()
	defer c.counts.Unlock()
	return c.decided[call]
}

// decides notes that the command under way has changed the lock.
func (c *Endpoint) decides() {
	c.counts.Lock()
	defer c.counts.Unlock()
	if c.decided[c.call] == 0 {
		c.decided[c.call] = c.sent[c.call]
	}
}

// Unfired says whether a fate was decided for a command that was never sent,
// and that the scenario can't do without.
func (c *Endpoint) Unfired() bool {
	c.counts.Lock()
	defer c.counts.Unlock()
	for _, f := range c.faults {
		if f.happens() && !f.IfSent {
			return true
		}
	}
	return false
}

// Sent is how many commands the client has sent in the newest call of a kind, or
// on its own account since the scenario began.
func (c *Endpoint) Sent(call Call) int {
	c.counts.Lock()
	defer c.counts.Unlock()
	return c.sent[call]
}

// late says whether a command that has just arrived took longer than the network takes.
func (c *Endpoint) late(sent time.Time) bool {
	return time.Since(sent) > max(c.net.Log.Blur, c.latency())
}

// sends is false when a command's fate is never to be sent, and records that.
func (c *Endpoint) sends(p *Port, f Fault, nth int, text string) bool {
	switch {
	case f.CrashBefore:
		c.says(p, nth, text, "never sent: "+c.Name+" dies")
		c.Crash()
	case f.Refuse:
		c.says(p, nth, text, "never sent: connection error")
	}
	return !f.CrashBefore && !f.Refuse
}

// answered is when a reply may reach the client, by its fate.
func (c *Endpoint) answered(f Fault, sent time.Time) time.Time {
	if f.AnswerAfter > 0 {
		return sent.Add(c.net.Log.Lasts(f.AnswerAfter))
	}
	return c.net.Log.Moment(f.Answer)
}

// records records a command that was executed, and what becomes of its reply by its fate.
func (c *Endpoint) records(e *history.Entry, f Fault, sent time.Time) {
	log, now := c.net.Log, time.Now()
	if c.late(sent) {
		e.Text += ", sent at " + log.Seconds(sent)
	}
	due := c.answered(f, sent)
	if !due.After(now) {
		due = c.held()
	}
	switch {
	case f.CrashAfter:
		e.Reply += ", and " + c.Name + " dies"
	case f.LoseReply:
		e.Reply += ", which is lost"
	case due.After(now):
		e.Back = log.Of(due)
		e.Reply += ", which arrives at " + history.Seconds(e.Back)
	default:
		e.Back = log.Of(now.Add(c.latency()))
	}
	log.Add(e)
}

// says records a command that came to nothing.
func (c *Endpoint) says(p *Port, nth int, text, reply string) {
	c.net.Log.Add(&history.Entry{Client: c.Name, Node: p.Index, Text: text,
		Reply: reply, Nth: nth})
}
