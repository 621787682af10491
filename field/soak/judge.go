package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The invariants.
const (
	twoHolders = "two holders" // two owners believed they held a key
	lostUpdate = "lost update" // a section overwrote what it had not read
	oldToken   = "wrong token" // a later grant has no higher fencing token
	lateReturn = "hangs"       // a call overran its deadline
	notHad     = "unavailable" // a key was not to be had after the faults
	leftBehind = "left behind" // goroutines, connections, processes, keys
)

// The delays that are tolerated, because a process can't see them itself.
const (
	// recovery is how long a process that was stopped may take to notice what
	// has happened meanwhile.
	recovery = 250 * time.Millisecond

	// slack is how late a timer may be without being seen as a pause.
	slack = 15 * time.Millisecond

	// travel is how long a write may be on its way to the storage.
	travel = 5 * time.Millisecond
)

// violation is a broken promise.
type violation struct {
	Invariant string
	At        int64
	Text      string
	Documents string  // the page that documents it, "" when none does
	Excerpt   []Event // the events around it, of the first few

	key      string
	from, to int64
	owners   []owner
}

// verdict is what a run shows.
type verdict struct {
	Setup      setup
	Violations []violation

	Grants, Sections, Writes, Refused int

	Faults map[string]int // by name

	// Overlaps and Stale are two holders, and writes that came too late, that a stop explains.
	Overlaps, Stale int

	// Latest is the longest that a call has overrun its deadline, by driver.
	Latest map[driver]time.Duration

	// Open is what could not be judged, and why.
	Open []string

	// LongestProbe is the longest that a process waited for a key after the nemesis had ended, 0
	// when a key was not to be had. Calm says that the nemesis did end; else nothing was probed.
	LongestProbe time.Duration
	Calm         bool
}

// judge says whether a lock has kept its promises in a run. It knows the events that
// were written down, in the order of time, and nothing else: no server, no lock.
func judge(s setup, events []Event) verdict {
	r := newRecord(s, events)
	r.beliefs()
	r.tokens()
	r.updates()
	r.calls()
	r.probes()
	r.leftovers()
	slices.SortStableFunc(r.verdict.Violations, func(a, b violation) int {
		return cmp.Compare(a.At, b.At)
	})
	seen := map[string]int{}
	for i := range r.verdict.Violations {
		v := &r.verdict.Violations[i]
		if seen[v.Invariant]++; seen[v.Invariant] <= shown {
			v.Excerpt = r.excerpt(v.key, v.from, v.to, v.owners)
		}
	}
	return r.verdict
}

// workerLife is one life of a worker.
type workerLife struct{ worker, life int }

// owner is a goroutine of a process.
type owner struct {
	workerLife
	goroutine int
}

func ownerOf(e Event) owner {
	return owner{workerLife{e.Worker, e.Life}, e.Goroutine}
}

// section is what an owner did between a grant and its release.
type section struct {
	owner
	name, key string
	token     uint64
	shared    bool  // it only reads, and other such ones may be inside
	called    int64 // the call that was granted
	held      int64 // when it returned: the belief begins
	over      int64 // the belief's end, forever when it never ends
}

const forever = int64(1)<<62 - 1

// call is an operation of a lock.
type call struct {
	Event
	returned *Event
}

// record is a run as the judge sees it.
type record struct {
	setup    setup
	events   []Event
	sections []*section // in the order of held
	byName   map[string]*section
	requests []*call
	killed   map[workerLife]int64
	excuses  map[int][]span // by worker; those of everyone: a server was late
	modes    int64          // since then data was lost on purpose
	end      int64
	verdict  verdict
}

func newRecord(s setup, events []Event) *record {
	r := &record{setup: s, events: events, byName: map[string]*section{},
		killed: map[workerLife]int64{}, modes: forever,
		verdict: verdict{Setup: s, Faults: map[string]int{}, Latest: map[driver]time.Duration{}}}
	r.excuses = findExcuses(len(s.Drivers), events)
	open := map[owner]*call{}
	for i := range events {
		e := &events[i]
		r.end = e.At
		switch e.Kind {
		case Call:
			c := &call{Event: *e}
			r.requests = append(r.requests, c)
			open[ownerOf(*e)] = c
		case Return:
			if c := open[ownerOf(*e)]; c != nil && c.N == e.N {
				c.returned = e
			}
			if e.Granted && e.Op != Enter {
				r.verdict.Grants++
			}
		case Hold:
			held := &section{owner: ownerOf(*e), name: e.Section, key: e.Key,
				token: e.Token, shared: e.Shared, called: e.At, held: e.At, over: forever}
			if c := open[ownerOf(*e)]; c != nil && c.returned != nil {
				held.called, held.held = c.At, c.returned.At
			}
			r.sections = append(r.sections, held)
			r.byName[e.Section] = held
			r.verdict.Sections++
		case Lost, Leave:
			if held := r.byName[e.Section]; held != nil {
				held.over = min(held.over, e.At)
			}
		case Kill:
			r.killed[workerLife{e.Worker, e.Life}] = e.At
			r.verdict.Faults["kill"]++
		case Stop:
			r.verdict.Faults["stop"]++
		case FaultBegin:
			r.verdict.Faults[e.Op]++
			if e.Op == "flushall" || e.Op == "restart-empty" {
				r.modes = min(r.modes, e.At)
			}
		case Write:
			r.verdict.Writes++
		case Refused:
			r.verdict.Refused++
		case Calm:
			r.verdict.Calm = true
		}
	}
	slices.SortStableFunc(r.sections, func(a, b *section) int {
		return cmp.Compare(a.held, b.held)
	})
	for _, held := range r.sections {
		if at, ok := r.killed[held.workerLife]; ok {
			held.over = min(held.over, at)
		}
	}
	return r
}

// violated adds a violation between two moments. The excerpt has what these owners
// did at the key, and the faults.
func (r *record) violated(invariant, text, key string, from, to int64, owners ...owner) {
	r.verdict.Violations = append(r.verdict.Violations, violation{
		Invariant: invariant, At: to, Text: text,
		Documents: r.documents(invariant, to),
		key:       key, from: from, to: to, owners: owners})
}

// open says what could not be judged.
func (r *record) open(what string) { r.verdict.Open = append(r.verdict.Open, what) }

// documents is the page that documents a violation, and the scenarios there. A violation here is
// a documented flaw in these cases only: the server lost its data on purpose, the lock releases
// another owner's grant, or it has no lease. The others need a clock that jumps, a replica, or a
// worker that hangs, or the worker avoids them when it counts the lease by itself.
func (r *record) documents(invariant string, at int64) string {
	var scenarios []string
	for _, flaw := range r.setup.Flaws {
		scenario, broken, _ := strings.Cut(flaw, ": ")
		overlap := invariant == twoHolders || invariant == lostUpdate || invariant == oldToken
		stays := invariant == notHad || invariant == leftBehind
		if overlap && (broken == "foreign release" ||
			scenario == "node_restart" && r.modes < at) ||
			stays && broken == "orphaned" && scenario != "hung_worker" {
			scenarios = append(scenarios, scenario)
		}
	}
	if len(scenarios) == 0 {
		return ""
	}
	return r.setup.Page + " (" + strings.Join(scenarios, ", ") + ")"
}

// place tells faults apart that are under way at the same time.
func place(e Event) string { return fmt.Sprint(e.Op, e.Worker) }

// around is how much before and after is shown.
const around = int64(20 * time.Millisecond)

func (r *record) excerpt(key string, from, to int64, owners []owner) []Event {
	var shown []Event
	begun := map[string]Event{} // faults that have not ended
	for _, e := range r.events {
		concerns := e.Worker == everyone || slices.ContainsFunc(owners,
			func(o owner) bool { return o.worker == e.Worker })
		switch e.Kind {
		case FaultBegin, Stop, FaultEnd, Continue,
			Kill, Calm:
			if !concerns {
				continue
			}
		default:
			if !slices.Contains(owners, ownerOf(e)) || key != "" && e.Key != key {
				continue
			}
		}
		switch {
		case e.At > to+around:
		case e.At >= from-around:
			shown = append(shown, e)
		case e.Kind == FaultBegin || e.Kind == Stop:
			begun[place(e)] = e
		case e.Kind == FaultEnd || e.Kind == Continue:
			delete(begun, place(e))
		}
	}
	shown = slices.AppendSeq(shown, maps.Values(begun))
	slices.SortStableFunc(shown, func(a, b Event) int {
		return cmp.Compare(a.At, b.At)
	})
	return shown
}

// span is a time during which a process could not act, from until end, and a
// moment after it, until to, for it to notice what has happened meanwhile.
type span struct{ from, end, to int64 }

// findExcuses finds, for each worker, when its process was stopped, or got no CPU
// for a while. A pause of the soak's own process, which has the proxies and the
// storage, is one of all workers. That a server was late excuses everyone.
func findExcuses(workers int, events []Event) map[int][]span {
	all, stopped := map[int][]span{}, map[int]int64{}
	var end int64
	for _, e := range events {
		end = e.At
		switch e.Kind {
		case Stop:
			stopped[e.Worker] = e.At
		case Continue:
			all[e.Worker] = append(all[e.Worker], span{stopped[e.Worker], e.At, e.At + int64(recovery)})
			delete(stopped, e.Worker)
		case Late:
			all[everyone] = append(all[everyone], span{e.At - int64(e.For), e.At, e.At})
		case Pause:
			s := span{e.At - int64(e.For) - int64(slack), e.At,
				e.At + int64(min(e.For, 100*time.Millisecond)) + int64(slack)}
			if e.Worker != everyone {
				all[e.Worker] = append(all[e.Worker], s)
				continue
			}
			for w := range workers {
				all[w] = append(all[w], s)
			}
		}
	}
	for w, from := range stopped {
		all[w] = append(all[w], span{from, end, end})
	}
	return all
}

// of are the excuses of a section's process: those of stops that ended before the
// section began explain nothing, because the lock could have seen what they did.
func (r *record) of(s *section) []span {
	return slices.DeleteFunc(slices.Clone(r.excuses[s.worker]), func(one span) bool {
		return one.end < s.held || one.from > s.over
	})
}

// covered is how much of a time the spans cover.
func covered(spans []span, from, to int64) (sum int64) {
	near := slices.DeleteFunc(slices.Clone(spans), func(s span) bool {
		return s.from >= to || s.to <= from
	})
	slices.SortFunc(near, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range near {
		// Until from all is counted: spans may overlap.
		if end := min(s.to, to); end > from {
			sum += end - max(s.from, from)
			from = end
		}
	}
	return sum
}

// touched says whether a span has a moment in common with a time.
func touched(spans []span, from, to int64) bool {
	return slices.ContainsFunc(spans, func(s span) bool {
		return s.from <= to && from <= s.to
	})
}
