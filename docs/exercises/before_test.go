package exercises_test

import (
	"strings"
	"testing"

	"github.com/lockladder/lockladder/docs/exercises"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

var red = locktest.RedFlag("^Test(Mutex|Variable|Transaction|Pipeline)$")

func TestMutex(t *testing.T) {
	breaks(t, exercises.Services(), "mutual_exclusion: two holders")
}

func TestVariable(t *testing.T) {
	breaks(t, exercises.BuildVariable, "mutual_exclusion: two holders")
}

func TestTransaction(t *testing.T) {
	breaks(t, exercises.BuildTransaction, "crash_holding: orphaned, foreign renewal")
}

func TestPipeline(t *testing.T) {
	breaks(t, exercises.BuildPipeline, "crash_holding: orphaned, foreign renewal")
}

// breaks says which flaw of a lock a page shows.
func breaks(t *testing.T, build lock.Build, flaw string) {
	scenario, _, _ := strings.Cut(flaw, ":")
	flaws := lock.Flaws(flaw)
	scenarios.Run(t, build, append([]scenarios.Option{scenarios.Only(scenario),
		scenarios.Flaws(flaws...)}, red.Options(t, flaws)...)...)
}
