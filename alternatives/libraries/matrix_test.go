package libraries_test

import (
	"runtime"
	"testing"

	"github.com/lockladder/lockladder/alternatives/libraries"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
	"github.com/lockladder/lockladder/scenarios"
)

func TestMain(m *testing.M) {
	serverstest.Main(m, onRedis, len(libraries.Libraries))
}

var onRedis = serverstest.Flag()

// oneProcessor is what a test in virtual time runs on. rueidislock with one key
// has a race that loses a wake-up now and then, with or without a lost message:
// docs/libraries.md has it. On one processor the goroutine that must be first for
// it is not.
func oneProcessor(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func TestEveryLibraryBreaksWhatIsDeclaredAndNothingElse(t *testing.T) {
	oneProcessor(t)
	for _, library := range libraries.Libraries {
		t.Run(library.Name, func(t *testing.T) {
			if library.OnlyReal != "" {
				t.Skip("only on real servers: " + library.OnlyReal)
			}
			t.Parallel()
			run(t, library)
		})
	}
}

func TestEveryLibraryBreaksTheSameOnRealServers(t *testing.T) {
	if *onRedis == "" {
		t.Skip("real servers are asked for with -redis auto")
	}
	all := serverstest.Servers(t, *onRedis)
	for _, library := range libraries.Libraries {
		t.Run(library.Name, func(t *testing.T) {
			scenarios.Work(t, library.Build)
			t.Parallel()
			run(t, library, scenarios.OnServersOf(all))
		})
	}
}

// run runs every scenario against a library. None of them claims re-entry, and
// none knows the ladder's option FixedLease.
func run(t *testing.T, library libraries.Library, more ...scenarios.Option,
) scenarios.Report {
	t.Helper()
	options := []scenarios.Option{
		scenarios.Nodes(library.Nodes),
		scenarios.Flaws(library.Flaws...),
		scenarios.WithoutFeatures(scenarios.Reentry, scenarios.FixedLeases),
	}
	if !library.Renews {
		options = append(options, scenarios.WithoutFeatures(scenarios.Renewal))
	}
	if !library.Tells {
		options = append(options, scenarios.WithoutFeatures(scenarios.LossNotices))
	}
	if library.Keys != nil {
		options = append(options, scenarios.Keys(library.Keys))
	}
	return scenarios.Run(t, library.Build, append(options, more...)...)
}
