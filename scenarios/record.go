package scenarios

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/site/recording"
)

// Record writes what each scenario has recorded into a directory, which is made: a
// file SCENARIO/INVARIANT.json for each invariant, such as
// overrun_release/foreign-release.json, in place of one that is there. A relative path
// begins at the directory of the test's package. A file has the timeline and the lock's
// code that it leads to. In a checkout of this module a browser plays it step by step:
//
//	go run ./docs -open FILE
//
// What breaks in a random world is in random_worlds/INVARIANT.json, with its shortest story.
//
// Scenarios that did not arise, or could not be judged, may have no timeline, and then
// have no file. With an empty path nothing is written.
func Record(dir string) Option { return func(s *settings) { s.dir = dir } }

// Recording is the run of a result as the site plays it, under a lock's name, with the
// locks whose run is worth a comparison.
func (r Result) Recording(lock string, beside ...string) *recording.Run {
	run := &recording.Run{Lock: lock, Scenario: r.Scenario, Invariant: r.Invariant,
		Beside: beside, Verdict: string(r.Verdict), Event: r.Event, Broken: r.BrokenAt}
	scenario, _ := Find(r.Scenario)
	run.Summary = cmp.Or(r.Story, scenario.Summary)
	run.Fill(r.Sequence)
	return run
}

// record writes a result's run, if that was asked for.
func (s *settings) record(t *testing.T, r Result) {
	t.Helper()
	if s.dir == "" || len(r.Sequence) == 0 {
		return
	}
	run := r.Recording(s.lock)
	file := &recording.File{Run: run, Sources: recording.Code(run.Lines, lab.Source)}
	if err := file.Write(filepath.Join(s.dir,
		filepath.FromSlash(recording.Name(r.Scenario, r.Invariant)))); err != nil {
		t.Errorf("record the run: %v", err)
	}
}

// recorded says where the runs are.
func (s *settings) recorded(t *testing.T) {
	t.Helper()
	if s.dir == "" {
		return
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		dir = s.dir
	}
	t.Logf("the runs are in %s: go run ./docs -open %s plays one, in a checkout of"+
		" Lock Ladder", dir, strings.Join([]string{dir, "SCENARIO", "INVARIANT.json"},
		string(filepath.Separator)))
}
