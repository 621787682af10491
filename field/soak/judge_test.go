package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/locktest"
)

const key = "stock"

// history is a recorded run of two workers, in milliseconds.
type history struct {
	setup  setup
	events []Event
	calls  int64
}

func recorded() *history {
	return &history{setup: setup{Page: "docs/99-a-rung.md", terms: terms{
		Rung: "a rung", TTL: time.Second, Poll: 100 * time.Millisecond,
		Keys: []string{key}, Drivers: []driver{strict, defaults}}}}
}

func ms(at int) int64 { return int64(at) * int64(time.Millisecond) }

func (h *history) add(at int, e Event) {
	e.At = ms(at)
	h.events = append(h.events, e)
}

// call is an operation of worker's only goroutine.
func (h *history) call(worker, from, to int, op string, deadline int, granted bool,
	fault string) {
	h.calls++
	e := Event{Worker: worker, Goroutine: 1, N: h.calls, Key: key, Op: op}
	call := e
	call.Kind, call.Deadline = Call, ms(deadline)
	h.add(from, call)
	if to > 0 {
		e.Kind, e.Granted, e.Error = Return, granted, fault
		h.add(to, e)
	}
}

// grant lets a worker get the lock and begin a section.
func (h *history) grant(worker, at int, section string, token uint64) {
	h.call(worker, at-1, at, Lock, at+1000, true, "")
	h.add(at, Event{Kind: Hold, Worker: worker, Goroutine: 1, Key: key, Section: section, Token: token})
}

// shared is grant for a worker that only reads.
func (h *history) shared(worker, at int, section string) {
	h.grant(worker, at, section, 0)
	h.events[len(h.events)-1].Shared = true
}

// does is what a worker does in its section. What it reads, see verdict.
func (h *history) does(worker, at int, kind Kind, section string) {
	h.add(at, Event{Kind: kind, Worker: worker, Goroutine: 1, Key: key,
		Section: section, Looked: ms(at)})
}

// leave ends the section.
func (h *history) leave(worker, at int, section string) {
	h.does(worker, at, Leave, section)
	h.call(worker, at, at+1, Unlock, at+2000, false, "")
}

// section is a whole one that nothing disturbs.
func (h *history) section(worker, from, to int, name string, token uint64) {
	h.grant(worker, from, name, token)
	h.does(worker, from, Read, name)
	h.does(worker, to, Write, name)
	h.leave(worker, to, name)
}

func (h *history) stopped(worker, from, to int) {
	h.add(from, Event{Kind: Stop, Worker: worker})
	h.add(to, Event{Kind: Continue, Worker: worker})
}

// end lets the run end well.
func (h *history) end(at int) {
	h.add(at, Event{Kind: Calm, Worker: everyone})
	for w := range h.setup.Drivers {
		h.call(w, at+10*w, at+10*w+5, Probe, at+4000, true, "")
		h.add(at+1000, Event{Kind: Rest, Worker: w, Base: 20, Count: 20})
	}
}

// verdict is the judge's. The events come to it in the order of time, and a read
// with what was written last.
func (h *history) verdict() verdict {
	slices.SortStableFunc(h.events, func(a, b Event) int { return int(a.At - b.At) })
	value := ""
	for i := range h.events {
		switch e := &h.events[i]; e.Kind {
		case Read:
			e.Value = value
		case Write:
			value = e.Section
		}
	}
	return judge(h.setup, h.events)
}

// judged are the invariants that the judge finds broken.
func (h *history) judged() []string {
	var broken []string
	for _, v := range h.verdict().Violations {
		broken = append(broken, v.Invariant)
	}
	slices.Sort(broken)
	return slices.Compact(broken)
}

func TestTheJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		record func(*history)
		broken []string
	}{
		{"accepts sections one after the other", func(h *history) {
			h.section(0, 100, 200, "a", 0)
			h.section(1, 202, 300, "b", 0)
			h.section(0, 302, 400, "c", 0)
		}, nil},
		{"finds two holders and a lost update", func(h *history) {
			h.section(0, 100, 200, "a", 0)
			h.section(1, 150, 300, "b", 0)
		}, []string{lostUpdate, twoHolders}},
		{"lets readers overlap", func(h *history) {
			h.section(0, 50, 90, "w", 7)
			h.shared(0, 100, "a")
			h.shared(1, 150, "b")
			h.leave(0, 200, "a")
			h.leave(1, 250, "b")
			h.section(0, 260, 300, "x", 8)
			h.setup.Fenced = true
		}, nil},
		{"finds a writer beside a reader", func(h *history) {
			h.shared(0, 100, "a")
			h.section(1, 150, 300, "b", 0)
			h.leave(0, 310, "a")
		}, []string{twoHolders}},
		{"finds a reader beside a writer", func(h *history) {
			h.grant(0, 100, "a", 0)
			h.shared(1, 150, "b")
			h.leave(1, 200, "b")
			h.leave(0, 310, "a")
		}, []string{twoHolders}},
		{"lets a belief end with Lost", func(h *history) {
			h.grant(0, 100, "a", 0)
			h.does(0, 1100, Lost, "a")
			h.section(1, 1102, 1200, "b", 0)
			h.leave(0, 1300, "a")
		}, nil},
		{"lets a belief end with its process", func(h *history) {
			h.grant(0, 100, "a", 0)
			h.add(200, Event{Kind: Kill, Worker: 0})
			h.section(1, 1102, 1200, "b", 0)
		}, nil},
		{"doesn't let a belief end with another process", func(h *history) {
			h.grant(0, 100, "a", 0)
			h.add(200, Event{Kind: Kill, Worker: 0, Life: 1})
			h.section(1, 1102, 1200, "b", 0)
			h.leave(0, 1300, "a")
		}, []string{twoHolders}},
		{"explains two holders by a stop of one, and what its late write destroys", func(h *history) {
			h.grant(0, 100, "a", 0)
			h.does(0, 100, Read, "a")
			h.stopped(0, 150, 2150)
			h.section(1, 1102, 1200, "b", 0)
			h.grant(1, 2140, "c", 0)
			h.does(1, 2140, Read, "c")
			h.does(0, 2151, Write, "a")
			h.leave(0, 2160, "a")
			h.does(1, 2190, Write, "c")
			h.leave(1, 2190, "c")
			h.section(1, 2200, 2300, "d", 0)
		}, nil},
		{"doesn't explain it by a stop of a third", func(h *history) {
			h.setup.Drivers = append(h.setup.Drivers, strict)
			h.section(0, 100, 1300, "a", 0)
			h.stopped(2, 100, 1300)
			h.section(1, 1102, 1250, "b", 0)
		}, []string{lostUpdate, twoHolders}},
		{"doesn't explain it by a stop long ago", func(h *history) {
			h.stopped(0, 10, 90)
			h.section(0, 100, 200, "a", 0)
			h.section(1, 150, 300, "b", 0)
		}, []string{lostUpdate, twoHolders}},
		{"doesn't explain what goes on long after a stop", func(h *history) {
			h.grant(0, 100, "a", 0)
			h.stopped(0, 150, 1150)
			h.section(1, 1102, 1200, "b", 0)
			h.section(1, 1702, 1800, "c", 0)
			h.leave(0, 1900, "a")
		}, []string{twoHolders}},
		{"explains it by a pause that the process felt", func(h *history) {
			h.grant(0, 100, "a", 0)
			h.section(1, 1102, 1200, "b", 0)
			h.add(1210, Event{Kind: Pause, Worker: 0, For: 200 * time.Millisecond})
			h.leave(0, 1215, "a")
		}, nil},
		{"explains no lost update of a fenced lock", func(h *history) {
			h.setup.Fenced = true
			h.grant(0, 100, "a", 1)
			h.does(0, 100, Read, "a")
			h.stopped(0, 150, 2150)
			h.section(1, 1102, 1200, "b", 2)
			h.does(0, 2151, Write, "a")
			h.leave(0, 2160, "a")
		}, []string{lostUpdate}},
		{"accepts what a storage refused", func(h *history) {
			h.setup.Fenced = true
			h.grant(0, 100, "a", 1)
			h.does(0, 100, Read, "a")
			h.stopped(0, 150, 2150)
			h.section(1, 1102, 1200, "b", 2)
			h.add(2151, Event{Kind: Refused, Op: "write", Goroutine: 1, Key: key, Section: "a", Token: 1})
			h.leave(0, 2160, "a")
		}, nil},
		{"finds a token that comes twice", func(h *history) {
			h.setup.Fenced = true
			h.section(0, 100, 200, "a", 2)
			h.section(1, 202, 300, "b", 2)
		}, []string{oldToken}},
		// A killed process may write a grant down after its end was.
		{"takes no grant after the end of a process for a belief", func(h *history) {
			h.setup.Fenced = true
			h.section(1, 50, 60, "before", 6)
			h.add(99, Event{Kind: Kill, Worker: 0})
			h.grant(0, 100, "dying", 7)
			h.section(1, 1200, 1300, "after", 8)
		}, nil},
		{"finds a call that is late", func(h *history) {
			h.call(0, 100, 2101, Lock, 600, false, "deadline exceeded")
		}, []string{lateReturn}},
		{"finds that the driver's defaults have an end", func(h *history) {
			h.call(1, 100, 6601, Lock, 600, false, "deadline exceeded")
		}, []string{lateReturn}},
		{"counts neither a stop as lateness nor what the driver's defaults take", func(h *history) {
			h.call(0, 100, 2500, Lock, 600, false, "deadline exceeded")
			h.stopped(0, 500, 2400)
			h.call(1, 100, 6599, Lock, 600, false, "deadline exceeded")
		}, nil},
		{"finds a call that never returns", func(h *history) {
			h.call(0, 100, 0, Lock, 600, false, "")
		}, []string{lateReturn}},
		{"expects no return of a process that was killed", func(h *history) {
			h.call(0, 100, 0, Lock, 600, false, "")
			h.add(700, Event{Kind: Kill, Worker: 0})
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := recorded()
			c.record(h)
			h.end(8000)
			assert.Equal(t, c.broken, h.judged())
		})
	}
}

// What could not be judged is no violation, and nothing that held either.
func TestTheJudgeLooksAtTheEndOfARun(t *testing.T) {
	drop := func(h *history, which func(Event) bool) {
		h.events = slices.DeleteFunc(h.events, which)
	}
	// probes has the probes end later by so many milliseconds.
	probes := func(h *history, later int, granted bool, workers ...int) {
		for i := range h.events {
			if e := &h.events[i]; e.Op == Probe && e.Kind == Return &&
				slices.Contains(workers, e.Worker) {
				e.At, e.Granted = e.At+ms(later), granted
			}
		}
	}
	late := func(h *history, at int, long time.Duration) {
		h.add(at, Event{Kind: Late, Worker: everyone, For: long})
	}
	for name, c := range map[string]struct {
		change func(*history)
		broken string
		open   string
	}{
		"nothing is wrong": {func(*history) {}, "", ""},
		"something is left": {func(h *history) {
			h.add(2000, Event{Kind: Left, Text: "a process"})
		}, leftBehind, ""},
		"a goroutine is left": {func(h *history) {
			h.add(2000, Event{Kind: Rest, Base: 20, Count: 21})
		}, leftBehind, ""},
		"a worker never rests": {func(h *history) {
			drop(h, func(e Event) bool { return e.Kind == Rest && e.Worker == 1 })
		}, leftBehind, ""},
		"nobody has asked": {func(h *history) {
			drop(h, func(e Event) bool { return e.Op == Probe && e.Worker == 1 })
		}, notHad, ""},
		"a key is not to be had": {func(h *history) {
			probes(h, 4000, false, 0, 1)
		}, notHad, ""},
		"a key is had too late": {func(h *history) {
			probes(h, 2500, true, 0, 1)
		}, notHad, ""},
		"the server was late for so long": {func(h *history) {
			probes(h, 2500, true, 0, 1)
			late(h, 2000, 500*time.Millisecond)
		}, "", ""},
		"the run was broken off": {func(h *history) {
			drop(h, func(e Event) bool {
				return e.Op == Probe || e.Kind == Calm || e.Kind == Rest
			})
		}, "", "the run was broken off"},
		"a server was late for most of it": {func(h *history) {
			probes(h, 4000, false, 0, 1)
			late(h, 4900, 3*time.Second)
		}, "", "servers or processes were late"},
		"and one worker had its keys": {func(h *history) {
			probes(h, 4000, false, 1)
			late(h, 4900, 3*time.Second)
		}, "", "worker 1 could have had"},
	} {
		t.Run(name, func(t *testing.T) {
			h := recorded()
			h.section(0, 100, 200, "a", 0)
			h.end(1000)
			c.change(h)
			v := h.verdict()
			var b strings.Builder
			v.Write(&b)
			assert.Equal(t, c.broken != "", v.Broken())
			for _, violation := range v.Violations {
				assert.Equal(t, c.broken, violation.Invariant)
			}
			assert.Contains(t, strings.Join(v.Open, "\n"), c.open)
			assert.Equal(t, c.open != "", v.Undecided())
			switch {
			case c.open != "":
				assert.Contains(t, b.String(), "a rung: undecided,")
				assert.NotContains(t, b.String(), "every process had every key")
			case c.broken == "":
				assert.Contains(t, b.String(), "a rung: held,")
				assert.Contains(t, b.String(), "every process had every key within")
			}
		})
	}
}

func TestAVerdictSaysWhatAReaderNeeds(t *testing.T) {
	h := recorded()
	h.setup.Seed, h.setup.Again = 42, "soak -seed 42 -only late"
	h.add(140, Event{Kind: FaultBegin, Op: "late", Text: "replies"})
	h.section(0, 100, 200, "first", 0)
	h.section(1, 150, 300, "second", 0)
	h.end(1000)
	var b strings.Builder
	h.verdict().Write(&b)
	for _, wanted := range []string{"VIOLATED, seed 42", "two holders at",
		"first and second believed they held stock", "for 50ms",
		"fault    late replies", "not a documented flaw",
		"again: soak -seed 42 -only late", "lost update at"} {
		assert.Contains(t, b.String(), wanted)
	}

	documents := func() string { return h.verdict().Violations[0].Documents }
	h.setup.Flaws = []string{"node_restart: two holders",
		"overrun_overlap: two holders", "nested: orphaned"}
	assert.Empty(t, documents())
	h.add(50, Event{Kind: FaultBegin, Op: "flushall", Worker: everyone})
	assert.Equal(t, "docs/99-a-rung.md (node_restart)", documents())
	h.setup.Flaws = []string{"slow_get: foreign release"}
	assert.Equal(t, "docs/99-a-rung.md (slow_get)", documents())
}

// A long history is judged in a moment: a run of ten minutes has thousands of sections.
func TestALongHistoryIsJudged(t *testing.T) {
	locktest.Long(t, "the history has 20,000 sections")
	h := recorded()
	for n := range 20_000 {
		h.section(n%2, 100+10*n, 108+10*n, fmt.Sprint("s", n), 0)
	}
	h.end(300_000)
	assert.Empty(t, h.judged())
}
