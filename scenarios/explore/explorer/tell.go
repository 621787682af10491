package main

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// ofEachRung walks every rung in the standard bounds, and records the graphs below dir,
// if that isn't empty.
func ofEachRung(dir string, out io.Writer) (all []testing.InternalTest) {
	var options []explore.Option
	began := time.Now()
	for i, rung := range ladder.Rungs {
		if dir != "" {
			options = []explore.Option{explore.Record(filepath.Join(dir, rung.Name))}
		}
		all = append(all, testing.InternalTest{Name: rung.Name, F: func(t *testing.T) {
			report := explore.Run(t, rung.Build, standardBounds(rung), options...)
			fmt.Fprintf(out, "%s: %s", rung.Name, report)
			if i == len(ladder.Rungs)-1 {
				fmt.Fprintf(out, "%d rungs in %v\n", i+1, time.Since(began))
			}
		}})
	}
	return all
}

// why prints the cheapest schedule of all rows that breaks each invariant.
func why(t *testing.T, rung ladder.Rung, out io.Writer) {
	fmt.Fprintf(out, "%s, every schedule of\n", rung.Name)
	var whole explore.Report
	for _, row := range rows() {
		if row.rung.Name != rung.Name || row.family == "timers" {
			continue
		}
		report := explore.Run(t, rung.Build, row.bounds)
		walk := report.Walks[0]
		fmt.Fprintf(out, "  %s, the program %s: %v schedules in %d states\n",
			report.Bounds, walk.Program, walk.Schedules(), walk.States)
		whole.Walks = append(whole.Walks, report.Walks...)
	}
	for _, invariant := range asking {
		f, found := whole.Failure(invariant)
		if !found {
			fmt.Fprintf(out, "\n%s: none of them breaks it\n", invariant)
			continue
		}
		fmt.Fprintf(out, "\n%s: %s\n\n", invariant, f.Schedule)
		replay(t, rung, f.Schedule, out)
	}
}

// replay prints the timeline of a schedule.
func replay(t *testing.T, rung ladder.Rung, schedule string, out io.Writer) {
	replayed := explore.Replay(t, rung.Build, rungBounds(rung), schedule)
	fmt.Fprint(out, replayed.Timeline)
	if len(replayed.Broken) == 0 {
		fmt.Fprintln(out, "nothing is broken")
	}
}
