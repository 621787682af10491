// Package explore covers every schedule of a lock's real code, within bounds.
//
// A few clients lock, read a counter in a storage, write it back, and unlock. All that they send,
// and all that they are answered, waits until the explorer lets it arrive; the clock stands still
// until the explorer moves it. It tries every order: of commands, replies and requests to the
// storage, of leases that end, clients that die, replies that are lost and processes that stop.
// For each invariant it finds the cheapest schedule that breaks it, with the least bad luck and
// then the fewest steps, or it says how many schedules it has exhausted without one.
//
// Each run is the lock's code from its first command on, with a real driver, against Redis in
// the same process, in virtual time. Most schedules need no run. Two runs that reach the same
// state go on in the same way, so one of them is enough; the state of a client is the list of
// the answers it got, and when. And an answer to one client has the same effect whatever the
// others are doing. docs/explorer.md explains how to read the output.
package explore

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/lock"
)

// Run walks every schedule of the locks that build makes, within the bounds. It reports, and
// doesn't judge: the invariants that the schedules break are in the report, and it is for the
// test to fail because of them. Run itself fails the test only when there is nothing to report:
// when bounds make no sense, the graphs can't be recorded, the lock can't be built, panics,
// leaks, is never granted, sets none of the keys that stand for it, or does not do the same
// thing twice. With go test's -v it logs now and then how far it has come.
func Run(t *testing.T, build lock.Build, bounds Bounds, options ...Option) Report {
	t.Helper()
	report, err := recorded(t, build, bounds, options...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Option says what else a walk leaves behind.
type Option func(*settings)

type settings struct {
	dir string // where graphs are recorded; "": nowhere
}

// Record writes the state graph of each program into a directory, which is made, as
// PROGRAM.json, such as once.json, in place of one that is there. A relative path begins
// at the directory of the test's package. A file has the states, the actions between
// them, what these break, and the lock's code that they lead to. In a checkout of this
// module it is a level in a browser, whose player decides what happens next:
//
//	go run ./docs -open FILE
//
// With an empty path nothing is written.
func Record(dir string) Option { return func(s *settings) { s.dir = dir } }

// recorded explores, and records what it is told to.
func recorded(t *testing.T, build lock.Build, bounds Bounds, options ...Option) (Report, error) {
	t.Helper()
	var s settings
	for _, set := range options {
		set(&s)
	}
	if s.dir == "" {
		return explore(t, build, bounds, true, search)
	}
	if err := recording.Writable(s.dir); err != nil {
		return Report{}, fmt.Errorf("the graphs can't be recorded: %w", err)
	}
	report, err := explore(t, build, bounds, true, draw)
	if err == nil {
		err = record(t, s.dir, report)
	}
	return report, err
}

// explore walks in a world of its own. Reduced says that a known effect need not be tried again:
// that of a script, and of what one client was told while the others were at another point.
func explore(t *testing.T, build lock.Build, bounds Bounds, reduced bool,
	how func(*run) (Walk, error)) (Report, error) {
	t.Helper()
	report := Report{}
	err := inWorld(t, build, bounds, reduced, func(r *run) error {
		report.Bounds, r.tell = r.bounds, t.Logf
		for _, program := range r.bounds.Programs {
			r.program, r.facts = program, facts{}
			walk, err := how(r)
			walk.facts, walk.GaveUp = r.facts, r.gaveUp
			if errors.Is(err, errDiverged) && r.hidden != "" {
				err = fmt.Errorf("%w; %s", err, r.hidden)
			}
			if err != nil {
				return err
			}
			report.Walks = append(report.Walks, walk)
		}
		return nil
	})
	for i := range report.Walks {
		walk := &report.Walks[i]
		if walk.graph != nil {
			walk.find(report.Bounds)
		}
		err = cmp.Or(err, walk.unfit())
	}
	return report, err
}
