// Package judge says whether a lock has kept its promises in a soak. It knows the
// events that were written down, and nothing else: no server, no lock.
package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
)

// The invariants.
const (
	TwoHolders = "two holders"      // two owners believed they held a key
	LostUpdate = "lost update"      // a section overwrote what it had not read
	OldToken   = "token not rising" // a later grant has no higher fencing token
	LateReturn = "late return"      // a call overran its deadline
	NotHad     = "not to be had"    // a key was not to be had after the faults
	LeftBehind = "left behind"      // goroutines, connections, processes, keys
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

// Violation is a broken promise.
type Violation struct {
	Invariant string
	At        int64
	Text      string
	Documents string        // the page that documents it, "" when none does
	Excerpt   []event.Event // the events around it, of the first few

	key      string
	from, to int64
	owners   []owner
}

// Verdict is what a run shows.
type Verdict struct {
	Setup      event.Setup
	Violations []Violation

	Grants, Sections, Writes, Refused int

	Faults map[string]int // by name

	// Overlaps and Stale are two holders, and writes that came too late, that a
	// stop explains.
	Overlaps, Stale int

	// NotHeld counts the Unlocks that said ErrNotHeld before Lost had closed.
	NotHeld int

	// Latest is the longest that a call has overrun its deadline, by driver.
	Latest map[string]time.Duration

	// Open is what could not be judged, and why.
	Open []string

	// LongestProbe is the longest that a process waited for a key after the
	// nemesis had ended, 0 when a key was not to be had. Calm says that the nemesis
	// did end; else nothing was probed.
	LongestProbe time.Duration
	Calm         bool
}

// Judge judges a run. The events are in the order of time.
func Judge(s event.Setup, events []event.Event) Verdict {
	r := read(s, events)
	r.beliefs()
	r.tokens()
	r.updates()
	r.calls()
	r.probes()
	r.leftovers()
	slices.SortStableFunc(r.verdict.Violations, func(a, b Violation) int {
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

// process is one life of a worker.
type process struct{ worker, life int }

// owner is a goroutine of a process.
type owner struct {
	process
	goroutine int
}

func ownerOf(e event.Event) owner {
	return owner{process{e.Worker, e.Life}, e.Goroutine}
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
	lost      bool  // it was told that the lease is gone
}

const forever = int64(1)<<62 - 1

// call is an operation of a lock.
type call struct {
	event.Event
	returned *event.Event
}

// record is a run as the judge sees it.
type record struct {
	setup    event.Setup
	events   []event.Event
	sections []*section // in the order of held
	byName   map[string]*section
	requests []*call
	killed   map[process]int64
	excuses  map[int][]span // by worker
	late     []span         // when a server was
	modes    int64          // since then data was lost on purpose
	end      int64
	verdict  Verdict
}

func read(s event.Setup, events []event.Event) *record {
	r := &record{setup: s, events: events, byName: map[string]*section{},
		killed: map[process]int64{}, modes: forever,
		verdict: Verdict{Setup: s, Faults: map[string]int{},
			Latest: map[string]time.Duration{}}}
	r.excuses, r.late = findExcuses(len(s.Drivers), events), findLate(events)
	open := map[owner]*call{}
	for i := range events {
		e := &events[i]
		r.end = e.At
		switch e.Kind {
		case event.Call:
			c := &call{Event: *e}
			r.requests = append(r.requests, c)
			open[ownerOf(*e)] = c
		case event.Return:
			if c := open[ownerOf(*e)]; c != nil && c.N == e.N {
				c.returned = e
			}
			if e.Granted && e.Op != event.Enter {
				r.verdict.Grants++
			}
		case event.Hold:
			held := &section{owner: ownerOf(*e), name: e.Section, key: e.Key,
				token: e.Token, shared: e.Shared, called: e.At, held: e.At, over: forever}
			if c := open[ownerOf(*e)]; c != nil && c.returned != nil {
				held.called, held.held = c.At, c.returned.At
			}
			r.sections = append(r.sections, held)
			r.byName[e.Section] = held
			r.verdict.Sections++
		case event.Lost, event.Leave:
			if held := r.byName[e.Section]; held != nil {
				held.over = min(held.over, e.At)
				held.lost = held.lost || e.Kind == event.Lost
			}
		case event.Kill:
			r.killed[process{e.Worker, e.Life}] = e.At
			r.verdict.Faults["kill"]++
		case event.Stop:
			r.verdict.Faults["stop"]++
		case event.FaultBegin:
			r.verdict.Faults[e.Op]++
			if e.Op == "flushall" || e.Op == "restart-empty" {
				r.modes = min(r.modes, e.At)
			}
		case event.Write:
			r.verdict.Writes++
		case event.Refused:
			r.verdict.Refused++
		case event.Calm:
			r.verdict.Calm = true
		}
	}
	slices.SortStableFunc(r.sections, func(a, b *section) int {
		return cmp.Compare(a.held, b.held)
	})
	for _, held := range r.sections {
		if at, ok := r.killed[held.process]; ok {
			held.over = min(held.over, at)
		}
	}
	return r
}

// violated adds a violation between two moments. The excerpt has what these owners
// did at the key, and the faults.
func (r *record) violated(invariant, text, key string, from, to int64,
	owners ...owner) {
	r.verdict.Violations = append(r.verdict.Violations, Violation{
		Invariant: invariant, At: to, Text: text,
		Documents: r.documents(invariant, to),
		key:       key, from: from, to: to, owners: owners})
}

// open says what could not be judged.
func (r *record) open(what string) { r.verdict.Open = append(r.verdict.Open, what) }

// documents is the page that documents a violation, and the scenarios there. A
// violation here is a documented flaw in these cases only: the server lost its data
// on purpose, the lock releases another owner's grant, or it has no lease.
// The others need a clock that jumps, a replica, or a worker that hangs, or the
// worker avoids them when it counts the lease by itself.
func (r *record) documents(invariant string, at int64) string {
	var scenarios []string
	for _, flaw := range r.setup.Flaws {
		scenario, broken, _ := strings.Cut(flaw, ": ")
		overlap := invariant == TwoHolders || invariant == LostUpdate ||
			invariant == OldToken
		stays := invariant == NotHad || invariant == LeftBehind
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
func place(e event.Event) string { return fmt.Sprint(e.Op, e.Worker) }

// around is how much before and after is shown.
const around = int64(20 * time.Millisecond)

func (r *record) excerpt(key string, from, to int64, owners []owner) []event.Event {
	var shown []event.Event
	begun := map[string]event.Event{} // faults that have not ended
	for _, e := range r.events {
		concerns := e.Worker == event.Everyone || slices.ContainsFunc(owners,
			func(o owner) bool { return o.worker == e.Worker })
		switch e.Kind {
		case event.FaultBegin, event.Stop, event.FaultEnd, event.Continue,
			event.Kill, event.Calm:
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
		case e.Kind == event.FaultBegin || e.Kind == event.Stop:
			begun[place(e)] = e
		case e.Kind == event.FaultEnd || e.Kind == event.Continue:
			delete(begun, place(e))
		}
	}
	for _, e := range begun {
		shown = append(shown, e)
	}
	slices.SortStableFunc(shown, func(a, b event.Event) int {
		return cmp.Compare(a.At, b.At)
	})
	return shown
}
