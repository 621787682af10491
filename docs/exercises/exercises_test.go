package exercises_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/docs/exercises"
	bronze "github.com/lockladder/lockladder/docs/exercises/bronze"
	cohort "github.com/lockladder/lockladder/docs/exercises/cohort"
	diamond "github.com/lockladder/lockladder/docs/exercises/diamond"
	fair "github.com/lockladder/lockladder/docs/exercises/fair"
	fenced "github.com/lockladder/lockladder/docs/exercises/fenced"
	gold "github.com/lockladder/lockladder/docs/exercises/gold"
	notify "github.com/lockladder/lockladder/docs/exercises/notify"
	platinum "github.com/lockladder/lockladder/docs/exercises/platinum"
	readwrite "github.com/lockladder/lockladder/docs/exercises/readwrite"
	redlock "github.com/lockladder/lockladder/docs/exercises/redlock"
	reentrant "github.com/lockladder/lockladder/docs/exercises/reentrant"
	script "github.com/lockladder/lockladder/docs/exercises/script"
	silver "github.com/lockladder/lockladder/docs/exercises/silver"
	timestamp "github.com/lockladder/lockladder/docs/exercises/timestamp"
	watchdog "github.com/lockladder/lockladder/docs/exercises/watchdog"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// starts are the locks that the exercises begin with, by rung.
var starts = map[string]lock.Build{
	"bronze":           lock.On(bronze.New),
	"silver":           lock.On(silver.New),
	"silver/timestamp": lock.On(timestamp.New),
	"gold":             lock.On(gold.New),
	"gold/script":      lock.On(script.New),
	"platinum":         lock.On(platinum.New),
	"diamond":          lock.On(diamond.New),
	"diamond/watchdog": lock.On(watchdog.New),
	"reentrant":        lock.On(reentrant.New),
	"reentrant/notify": lock.On(notify.New),
	"diamond/fenced":   fenced.Build,
	"reentrant/fair":   lock.On(fair.New),
	"reentrant/cohort": lock.On(cohort.New),
	"redlock":          lock.OnAll(redlock.New),

	"reentrant/readwrite": readwrite.Build,
}

func TestMain(m *testing.M) {
	locktest.CollectLess()
	locktest.OneProcessor()
	os.Exit(m.Run())
}

// Every rung has an exercise, in the order of the ladder. The one that puts two others
// together has none.
func TestEveryRungHasAnExercise(t *testing.T) {
	var rungs, solved []string
	for _, rung := range ladder.Rungs {
		if rung.Name != "reentrant/fenced" {
			rungs = append(rungs, rung.Name)
		}
	}
	for _, e := range exercise.All {
		solved = append(solved, e.Rung)
		assert.NotNil(t, starts[e.Rung], "the start of the exercise %s", e.Name())
		assert.Positive(t, e.Effort().Minutes, "the effort of exercise %s", e.Name())
		source := "lock.go"
		if e.OnlyScripts() {
			source = theRungs
		}
		for _, file := range []string{"README.md", source, "exercise_test.go"} {
			assert.FileExists(t, filepath.Join(e.Name(), file))
		}
	}
	assert.Equal(t, rungs, solved)
}

// fails says that a lock breaks exactly this, or fails at the check.
func fails(t *testing.T, e exercise.Exercise, build lock.Build,
	breaks []lock.Flaw, options ...scenarios.Option) {
	if len(breaks) == 0 { // the check is all that can tell
		require.NotNil(t, e.Check)
		var report scenarios.Report
		if e.Name() != "script" {
			report = exercise.RunScenarios(t, e, build)
		}
		err := e.Check(t, build, report)
		require.Error(t, err, "the check lets it pass")
		t.Log(err)
		return
	}
	for _, r := range exercise.RunScenarios(t, e, build,
		append(options, scenarios.Flaws(breaks...))...) {
		if r.Verdict == scenarios.Breaks {
			assert.Contains(t, scenarios.Report{r}.Failures(), "^^^ "+r.Invariant+": ",
				"the mark names what the headline names")
		}
	}
}

// An exercise begins with a test that fails.
func TestTheStartFails(t *testing.T) {
	locktest.Long(t, "it runs the scenarios of every exercise")
	for _, e := range exercise.All {
		t.Run(e.Name(), func(t *testing.T) {
			orSolved(t, e)
			fails(t, e, starts[e.Rung], e.Start)
		})
	}
}

var (
	unchanged = flag.Bool("starts", false,
		"the exercises must be their starts")
	update = flag.Bool("update", false, "the present exercises are the starts")
)

const digests = "testdata/starts.sha256"

// orSolved skips an exercise that its reader has changed: whether it is solved, its
// own test says.
func orSolved(t *testing.T, e exercise.Exercise) {
	t.Helper()
	known, err := os.ReadFile(digests)
	require.NoError(t, err)
	if strings.Contains(string(known), digest(t, e)) {
		return
	}
	t.Skipf("exercise %s was changed, so this is yours to test: go test"+
		" ./docs/exercises/%[1]s -tags exercise; git checkout -- docs/exercises/%[1]s and"+
		" git clean -fd docs/exercises/%[1]s bring the start back", e.Name())
}

// digest is the line of an exercise in the file of digests.
func digest(t *testing.T, e exercise.Exercise) string {
	t.Helper()
	hash := sha256.New()
	files := code(t, e.Name())
	for _, file := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(hash, "%s\n%s\n", file, files[file])
	}
	return fmt.Sprintf("%x  %s\n", hash.Sum(nil), e.Name())
}

func TestTheStartsHaveDigests(t *testing.T) {
	var want strings.Builder
	for _, e := range exercise.All {
		want.WriteString(digest(t, e))
	}
	if *update {
		require.NoError(t, os.WriteFile(digests, []byte(want.String()), 0o644))
	}
	if !*unchanged {
		t.Skip("an exercise may be changed; -starts lets no change pass")
	}
	known, err := os.ReadFile(digests)
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(known), "git checkout -- docs/exercises and git"+
		" clean -fd docs/exercises bring the starts back; -update if they were meant to change")
}

// theRungs is the code of a start that differs from its rung in scripts alone: it
// builds the rung with them.
const theRungs = "scripts.go"

// A page names the files in which to look. That a package's comment calls it a
// start is no difference.
func TestAnExerciseNamesTheFilesThatItsSolutionChanges(t *testing.T) {
	for _, e := range exercise.All {
		t.Run(e.Name(), func(t *testing.T) {
			orSolved(t, e)
			start := code(t, e.Name())
			solution := code(t, filepath.Join("..", "..",
				filepath.FromSlash(e.Rung)))
			var changed []string
			for _, file := range slices.Sorted(maps.Keys(start)) {
				if file != theRungs && start[file] != solution[file] {
					changed = append(changed, file)
				}
			}
			assert.Equal(t, e.Files, changed)
			for _, file := range e.Adds {
				assert.NotContains(t, start, file)
				assert.Contains(t, solution, file)
			}
		})
	}
}

// code is a lock's code by the names of its files, without the comments on its
// package.
func code(t *testing.T, directory string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, ending := range []string{"*.go", "*.lua"} {
		files, err := filepath.Glob(filepath.Join(directory, ending))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			text := strings.ReplaceAll(string(content), "\r\n", "\n")
			if _, after, ok := strings.Cut(text, "\npackage "); ok {
				text = "package " + after
			}
			all[filepath.Base(file)] = text
		}
	}
	require.NotEmpty(t, all, directory)
	return all
}

// Nobody gets through with what was right one rung ago: neither the rung before, in its
// arc, nor the one that the solution is read beside.
func TestThePreviousSolutionFails(t *testing.T) {
	locktest.Long(t, "it solves every exercise with an older rung")
	for i, e := range exercise.All {
		t.Run(e.Name(), func(t *testing.T) {
			if i == 0 {
				fails(t, e, exercises.BuildVariable, e.Previous)
				return
			}
			solution := locktest.Find(t, e.Rung)
			previous := []string{solution.Parent}
			before := locktest.Find(t, exercise.All[i-1].Rung)
			if before.Arc == solution.Arc && before.Name != solution.Parent {
				previous = append(previous, before.Name)
			}
			for _, name := range previous {
				t.Run(name, func(t *testing.T) {
					rung := locktest.Find(t, name)
					var options []scenarios.Option
					if name == "silver/timestamp" {
						options = append(options, scenarios.LeaseInValue(locktest.Deadline))
					}
					fails(t, e, rung.Build, previously(e, rung), options...)
				})
			}
		})
	}
}

// previously is what a rung breaks of an exercise's scenarios.
func previously(e exercise.Exercise, rung ladder.Rung) []lock.Flaw {
	if e.Previous != nil {
		return e.Previous
	}
	return slices.DeleteFunc(slices.Clone(rung.Flaws), func(f lock.Flaw) bool {
		return !slices.Contains(e.Scenarios, f.Scenario)
	})
}

// The explorer finds in a start what the exercise is about, where it can, and nothing of
// it in the solution.
func TestTheExplorerFindsTheFlawOfAStart(t *testing.T) {
	locktest.WhenNamed(t, "it walks every schedule of the starts and of their solutions,"+
		" which takes five seconds: go test ./docs/exercises -run FlawOfAStart")
	for _, e := range exercise.All {
		t.Run(e.Name(), func(t *testing.T) {
			walk := e.Walk()
			require.NotEmpty(t, walk.Holds)
			rung := locktest.Find(t, e.Rung)
			report, breaks := exercise.Explore(t, e.Name(), rung.Build)
			assert.Empty(t, breaks, "%s", report)
			orSolved(t, e)
			if walk.Stays {
				t.Skip("the explorer can't run a lock that stays in its process" +
					" from one run to the next")
			}
			report, breaks = exercise.Explore(t, e.Name(), starts[e.Rung])
			assert.Equal(t, walk.Start, breaks, "%s", report)
		})
	}
}

// The test above lets the explorer look at the solutions.
func TestTheSolutionPasses(t *testing.T) {
	locktest.Long(t, "it runs the scenarios of every exercise")
	for _, e := range exercise.All {
		t.Run(e.Name(), func(t *testing.T) {
			rung := locktest.Find(t, e.Rung)
			var built sync.Map
			checked, check := e.Check == nil, e.Check
			if check != nil {
				e.Check = func(t *testing.T, build lock.Build, r scenarios.Report) error {
					checked = true
					return check(t, build, r)
				}
			}
			exercise.RunChecked(t, e, func(env lock.Env) (lock.Lock, error) {
				built.Store(fmt.Sprint(env.Key, " ", env.TTL), true)
				return rung.Build(env)
			})
			assert.True(t, checked, "its check was run")
			for _, other := range []string{"another stock 1.5s", "another 5m0s"} {
				_, ok := built.Load(other)
				assert.True(t, ok, "it was run with another name and lease: %s", other)
			}
		})
	}
}
