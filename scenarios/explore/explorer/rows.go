package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// row is a walk of a rung with one program, a line of a table.
type row struct {
	rung   ladder.Rung
	family string // which bounds; "": as they are written
	bounds explore.Bounds
	quick  bool // it is walked in every test run
	slow   bool // but not with -short and -race
}

// name is the row's name as a subtest.
func (r row) name() string {
	return fmt.Sprintf("%s/%s/%s", r.rung.Name, cmp.Or(r.family, r.bounds.String()),
		r.bounds.Programs[0])
}

// rungBounds is what the explorer must know of a rung.
func rungBounds(rung ladder.Rung) explore.Bounds {
	b := explore.Bounds{Clients: 2, Nodes: 1}
	switch rung.Name {
	case "silver/timestamp":
		b.LeaseInValue = locktest.Deadline
	case "redlock":
		b.Nodes = 3
	case "reentrant/readwrite":
		b.Readers = locktest.Readers
	}
	return b
}

// standardBounds are those of a rung in which all rungs are compared.
func standardBounds(rung ladder.Rung) explore.Bounds {
	b := rungBounds(rung)
	b.Expiries, b.Crashes, b.Programs = 1, 1, []explore.Program{explore.Once}
	if rung.Nodes > 1 {
		b.Attempts = 1 // as in the table
	}
	return b
}

// rows are all walks, with two clients and one expiry. The standard ones have one crash, and
// the pause of a process where the lock tells its holder of a loss. A lock that renews gives up
// what takes longer than a lease: so there are stray commands. Redlock's clients ask again and
// again while others do, so they ask twice without a crash and once with one.
func rows() []row {
	var rows []row
	for _, rung := range ladder.Rungs {
		add := func(family string, quick bool, set func(b *explore.Bounds),
			programs ...explore.Program) {
			for _, program := range programs {
				b := rungBounds(rung)
				b.Expiries = 1
				b.Programs = []explore.Program{program}
				set(&b)
				rows = append(rows, row{rung: rung, family: family, bounds: b,
					quick: quick, slow: rung.Name != "bronze" && rung.Name != "gold"})
			}
		}
		if rung.Name == "redlock" {
			add("standard", false, func(b *explore.Bounds) {
				b.Attempts = 2
			}, explore.Once)
			add("a crash", false, func(b *explore.Bounds) {
				b.Crashes, b.Attempts = 1, 1
			}, explore.Once)
			add("one attempt", false, func(b *explore.Bounds) {
				b.Attempts = 1
			}, explore.Nested, explore.Twice)
			continue
		}
		crash := func(b *explore.Bounds) { b.Crashes = 1 }
		// The re-entrant rungs have much in common, so they aren't walked every
		// time. The explorer's clients have one owner each, so a cohort has one.
		alike := strings.HasPrefix(rung.Name, "reentrant")
		add("standard", !alike, func(b *explore.Bounds) {
			crash(b)
			if rung.Renews {
				b.Pauses = 1
			}
		}, explore.Once)
		add("standard", false, crash, explore.Twice, explore.Nested)
		lost := []explore.Program{explore.Once}
		if alike { // an inner call whose reply is lost must not count twice
			lost = append(lost, explore.Nested)
		}
		add("lost replies", false, func(b *explore.Bounds) {
			b.LostReplies = 1
		}, lost...)
		if rung.Renews {
			add("strays", false, func(b *explore.Bounds) {
				b.Crashes, b.Strays = 1, 1
			}, explore.Once)
			add("timers", false, func(b *explore.Bounds) {
				b.Timers, b.Strays = 1, 1
			}, explore.Once)
		}
	}
	return rows
}

// moreRows are the walks with another name, one Unlock too many and an error reply. Redlock's
// clients ask once.
func moreRows() (rows []row) {
	for _, rung := range ladder.Rungs {
		for i, program := range []explore.Program{explore.Names, explore.Extra, explore.Once} {
			b := rungBounds(rung)
			b.Programs = []explore.Program{program}
			if program == explore.Once {
				b.Errors = 1
			}
			if rung.Nodes > 1 {
				b.Attempts = 1
			}
			rows = append(rows, row{rung: rung, bounds: b, quick: i == 1 && rung.Nodes < 2, slow: true})
		}
	}
	return rows
}

// asking are the invariants that programs with TryLock can break.
var asking = slices.DeleteFunc(slices.Clone(explore.Invariants),
	func(i explore.Invariant) bool { return i == explore.LostWakeUp })

// ofEachRung walks every rung in the standard bounds.
func ofEachRung(out io.Writer) (all []testing.InternalTest) {
	for _, rung := range ladder.Rungs {
		all = append(all, testing.InternalTest{Name: rung.Name, F: func(t *testing.T) {
			fmt.Fprintf(out, "%s: %s", rung.Name, walks(t, rung, standardBounds(rung)))
		}})
	}
	return all
}

// walks explores a lock within bounds, and says meanwhile in a terminal for how long.
func walks(t *testing.T, rung ladder.Rung, b explore.Bounds) explore.Report {
	began := time.Now()
	defer terminal.Progress(os.Stderr, func() string {
		return fmt.Sprintf("%s: every schedule is tried, %v", rung.Name, time.Since(began).Round(time.Second))
	})()
	return explore.Run(t, rung.Build, b)
}

// legend explains a schedule and its timeline.
const legend = `
A schedule says what happens next: A> a command of A arrives, A< its reply,
A= a request to the storage and its reply, E a lease ends, Ax A crashes, A! a
reply is lost. docs/explorer.md has all actions.
` + history.Legend

// why prints the cheapest schedule of all these rows that breaks each invariant.
func why(t *testing.T, rung ladder.Rung, rows []row, out io.Writer) {
	fmt.Fprintf(out, "%s: two clients lock, increment a counter, and unlock.\n"+
		"Every schedule, an order of these steps, of\n", rung.Name)
	var whole explore.Report
	for _, row := range rows {
		if row.rung.Name != rung.Name || row.family == "timers" {
			continue
		}
		report := walks(t, rung, row.bounds)
		walk := report.Walks[0]
		fmt.Fprintf(out, "  the program %s, %s:\n    %v schedules in %d states\n",
			walk.Program, report.Bounds, walk.Schedules(), walk.States)
		whole.Walks = append(whole.Walks, report.Walks...)
	}
	fmt.Fprint(out, legend)
	for _, invariant := range asking {
		f, found := whole.Failure(invariant)
		if !found {
			fmt.Fprintf(out, "\n%s: none of them breaks it\n", invariant)
			continue
		}
		replay(t, rung, f.Schedule, fmt.Sprintf("\n%s: %s\n\n", invariant, f.Schedule), out)
	}
}

// replay prints the timeline of a schedule below a title.
func replay(t *testing.T, rung ladder.Rung, schedule, title string, out io.Writer) {
	replayed := explore.Replay(t, rung.Build, rungBounds(rung), schedule)
	fmt.Fprint(out, title, replayed.Timeline)
	if len(replayed.Broken) == 0 {
		fmt.Fprintln(out, "nothing is broken")
	}
}
