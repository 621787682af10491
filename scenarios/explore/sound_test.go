package explore

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
)

var long = flag.Bool("sound", false, "hold the search against the plain one with"+
	" a crash and for locks that renew: minutes")

func TestMain(m *testing.M) {
	locktest.CollectLess()
	flag.Parse()
	if !*long {
		locktest.OneProcessor() // long walks are taken at the same time
	}
	m.Run()
}

// The plain search takes every schedule in a run of its own, and executes every
// script. It finds the same schedules, none more and none less.
func TestTheSearchFindsWhatTakingEveryScheduleFinds(t *testing.T) {
	locktest.Long(t, "it takes every schedule")
	t.Parallel()
	for _, test := range []struct {
		rung   string
		bounds Bounds
		long   bool
	}{
		{"bronze", Bounds{Expiries: 1, Crashes: 1}, false},
		{"gold", Bounds{Expiries: 1, Crashes: 1}, true},
		{"platinum", Bounds{Expiries: 1, Crashes: 1, Attempts: 1}, true}, // 221,826 otherwise
		{"diamond", Bounds{Expiries: 1, Crashes: 1}, true},
		{"diamond/watchdog", Bounds{Expiries: 1}, true},
		{"reentrant", Bounds{Expiries: 1, Attempts: 1}, true}, // asks as the watchdog does
	} {
		t.Run(test.rung, func(t *testing.T) {
			if test.long && !*long {
				t.Skip("go test ./scenarios/explore -run Search -sound")
			}
			t.Parallel()
			rung := locktest.Find(t, test.rung)
			test.bounds.Programs = []Program{Once}
			whole, err := explore(t, rung.Build, test.bounds, false, plain)
			require.NoError(t, err)
			reduced := Run(t, rung.Build, test.bounds)
			w, r := whole.Walks[0], reduced.Walks[0]
			t.Logf("plain: %d schedules, %d steps; reduced: %v schedules in %d"+
				" states, %d runs, %d steps", w.Runs, w.Steps, r.Schedules(),
				r.States, r.Runs, r.Steps)
			assert.EqualValues(t, w.Runs, r.Schedules().Int64(), "schedules")
			for _, invariant := range Invariants {
				p, broken := w.Found[invariant]
				f, found := r.Found[invariant]
				assert.Equal(t, broken, found, invariant)
				assert.Equal(t, p.Adversary, f.Adversary, invariant)
				assert.Equal(t, p.Steps, f.Steps, invariant)
			}
		})
	}
}

// plain takes every schedule in a run of its own, one after the other, and knows no
// states; its Runs are the schedules.
func plain(r *run) (Walk, error) {
	walk := Walk{Program: r.program, Found: map[Invariant]Failure{}}
	// What is taken in the next run, and at each step what was not taken there yet.
	var path []action
	var left [][]action
	for next := true; next; {
		quiet, err := through(r, &walk, &path, &left)
		if err != nil {
			return walk, err
		}
		if !quiet {
			walk.Runs++
		}
		last := len(path) - 1
		for last >= 0 && len(left[last]) == 0 {
			last--
		}
		path, left = path[:last+1], left[:last+1]
		if next = last >= 0; next {
			path[last], left[last] = left[last][0], left[last][1:]
		}
	}
	return walk, nil
}

// through takes a path and goes on to an end, or to a timer that does nothing.
func through(r *run, walk *Walk, path *[]action, left *[][]action) (quiet bool, err error) {
	if err := r.begin(); err != nil {
		return false, err
	}
	var c Failure
	for i := 0; ; i++ {
		if i == len(*path) {
			enabled := r.enabled()
			if len(enabled) == 0 {
				return false, nil
			}
			*path, *left = append(*path, enabled[0]), append(*left, enabled[1:])
		}
		broken, err := r.take((*path)[i])
		if errors.Is(err, errQuiet) {
			*path, *left = (*path)[:i+1], (*left)[:i+1]
			return true, nil
		}
		if err != nil {
			return false, err
		}
		walk.Steps++
		c = c.after((*path)[i])
		for _, b := range slices.Concat(broken, r.broken()) {
			f, ok := walk.Found[b.Invariant]
			if !ok || c.cost(f) < 0 {
				walk.Found[b.Invariant] = c
			}
		}
	}
}

// The graph does not depend on how many processors there are.
func TestTheGraphIsTheSameBytesEverywhere(t *testing.T) {
	name := "diamond/watchdog"
	if testing.Short() || locktest.Race {
		name = "gold"
	}
	rung := locktest.Find(t, name)
	bounds := Bounds{Expiries: 1, Programs: []Program{Once}, Attempts: 1}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	drawn := func() string {
		dir := t.TempDir()
		Run(t, rung.Build, bounds, Record(dir))
		graph, err := os.ReadFile(filepath.Join(dir, "once.json"))
		require.NoError(t, err)
		return string(graph)
	}
	one := drawn()
	for _, processors := range []int{2, 8} {
		runtime.GOMAXPROCS(processors)
		assert.Equal(t, one, drawn())
	}
}
