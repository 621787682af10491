package before_test

import (
	"flag"
	"os"
	"testing"

	"github.com/lockladder/lockladder/docs/before"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

var red = flag.Bool("red", os.Getenv("RED") != "",
	"let the failing assertions of the known flaws through")

func TestMutex(t *testing.T) { breaks(t, before.Services()) }

func TestVariable(t *testing.T) { breaks(t, before.BuildVariable) }

// breaks says that even the plainest story has two holders.
func breaks(t *testing.T, build lock.Build) {
	scenarios.Run(t, build, scenarios.Only("mutual_exclusion"),
		scenarios.Red(*red),
		scenarios.Flaws(lock.Flaws("mutual_exclusion: two holders")...))
}
