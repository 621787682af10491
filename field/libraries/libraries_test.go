package libraries_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/libraries"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios"
)

func TestMain(m *testing.M) {
	servers.Main(m, onRedis, len(libraries.Libraries))
}

var onRedis = servers.Flag()

// oneProcessor is what a test in virtual time runs on. rueidislock with one key
// has a race that loses a wake-up now and then, with or without a lost message:
// docs/libraries.md has it. On one processor the goroutine that must be first for
// it is not.
func oneProcessor(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func TestEveryLibraryBreaksTheSameOnRealServers(t *testing.T) {
	if *onRedis == "" {
		t.Skip("real servers are asked for with -redis auto")
	}
	all := servers.Asked(t, *onRedis)
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
		scenarios.Flaws(library.Flaws...), scenarios.Sometimes(library.Sometimes...),
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
		if len(library.Keys("")) > 1 {
			// The grant is a majority of keys, and random worlds ask the first who has it.
			options = append(options, scenarios.Worlds(0, 0))
		}
	}
	return scenarios.Run(t, library.Build, append(options, more...)...)
}

// late_grant gives the caller no deadline, and redislock then waits for one lease
// at most. With a later deadline a grant comes through whose lease has ended.
func TestRedislockBelievesALateGrantWhenTheCallerWaitsForIt(t *testing.T) {
	i := slices.IndexFunc(libraries.Libraries, func(l libraries.Library) bool {
		return l.Name == "redislock"
	})
	locktest.Run(t, locktest.Config{Build: libraries.Libraries[i].Build,
		Processes: []string{"A"}}, func(s *locktest.Scenario) {
		s.Owner("A1").Fails(lab.Acquire, 1, lab.Fault{Answer: 12 * time.Second}).
			LocksWithin(15 * time.Second).SinceAbout(12 * time.Second).Finds(true)
		s.Serves("A1")
	})
}

// page is the document about the libraries, among the ladder's.
const page = "libraries.md"

func TestTheDocumentIsFreshAndExplainsEveryVerdict(t *testing.T) {
	oneProcessor(t)
	var watchdog scenarios.Report
	var shown []generated.Lock
	reports := map[string]scenarios.Report{}
	t.Run("locks", func(t *testing.T) {
		t.Run("watchdog", func(t *testing.T) {
			watchdog = locktest.Scenarios(t, "diamond/watchdog")
		})
		for _, library := range libraries.Libraries {
			if library.OnlyReal == "" {
				t.Run(library.Name, func(t *testing.T) {
					reports[library.Name] = run(t, library)
					shown = append(shown, generated.Did(library.Name, reports[library.Name]))
				})
			}
		}
	})
	if t.Failed() {
		t.Fatal("the document is made from a run that passes only")
	}
	generated.Compare(t, page, "versions", versions(t))
	generated.CompareResults(t, "libraries", shown...)

	for _, library := range libraries.Libraries {
		text := section(t, library.Path)
		for _, r := range reports[library.Name] {
			if surprises(watchdog.Verdict(r.Scenario, r.Invariant), r.Verdict) {
				assert.Contains(t, text, "`"+r.Scenario+"`", "the section on %s"+
					" does not say why %s %s in it", library.Path, library.Name,
					r.Verdict)
			}
		}
	}
}

// surprises says whether the document must explain a verdict: the library breaks
// the invariant, or holds it although the rung that renews and tells does not.
func surprises(rung, library scenarios.Verdict) bool {
	return library == scenarios.Breaks ||
		library == scenarios.Holds && rung == scenarios.Breaks
}

// section is the part of the document's reference that begins with a link to a
// package.
func section(t *testing.T, path string) string {
	t.Helper()
	for _, text := range strings.Split(generated.Text(t, page, ""), "\n## Reference: ")[1:] {
		if _, text, _ := strings.Cut(text, "\n\n"); strings.HasPrefix(text, "["+path+"](") {
			return text
		}
	}
	require.FailNow(t, "no section of the reference links to the package", "%s: %s", page, path)
	return ""
}

// versions is the table of the configurations. The versions are go.mod's.
func versions(t *testing.T) string {
	content, err := os.ReadFile(filepath.Join("..", "go.mod"))
	require.NoError(t, err)
	required := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(
		string(content), -1)
	var b strings.Builder
	fmt.Fprint(&b, "| column | package | version | nodes | what it is |\n"+
		"|---|---|---|:-:|---|\n")
	for _, library := range libraries.Libraries {
		version := ""
		for _, module := range required {
			if strings.HasPrefix(library.Path+"/", module[1]+"/") {
				version = module[2]
			}
		}
		require.NotEmpty(t, version, "go.mod does not require %s", library.Path)
		idea := library.Idea
		if library.OnlyReal != "" {
			idea += "; on real servers only"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s |\n", library.Name,
			library.Path, version, library.Nodes, idea)
	}
	return b.String()
}
