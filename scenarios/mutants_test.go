package scenarios_test

import (
	"flag"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

const module = "github.com/lockladder/lockladder"

// edited are the mutants that are a rung with a mistake, and that scenarios kill: those
// that -run asks for, because many have to be compiled.
func edited() (asked string, mutants []wrong.Mutant) {
	_, asked, _ = strings.Cut(flag.Lookup("test.run").Value.String(), "/")
	asked, _, _ = strings.Cut(asked, "/")
	named := regexp.MustCompile(strings.ReplaceAll(asked, " ", "_"))
	return asked, slices.DeleteFunc(slices.Clone(wrong.All), func(m wrong.Mutant) bool {
		return m.Rung == "" || m.Killers == nil ||
			!named.MatchString(strings.ReplaceAll(m.Name, " ", "_"))
	})
}

// Every mutant is killed by the scenario that was written for its mistake.
func TestEveryMutantIsKilled(t *testing.T) {
	locktest.Long(t, "it compiles every mutant")
	t.Parallel()
	eachEdited(t, func(t *testing.T, m wrong.Mutant, rung ladder.Rung, build lock.Build) {
		killer := m.Killers[0]
		require.NotContains(t, rung.Flaws, lock.Flaws(killer)[0], "the rung itself breaks it")
		r := judged(t, build, killer, locktest.Options(rung)...)
		if assert.Equal(t, scenarios.Breaks, r.Verdict, "it lives through %s", killer) {
			t.Logf("killed by %s\n%s", killer, r.Event)
		}
	})
}

// eachEdited runs a subtest for each mutant that is a rung with a mistake. Where some have
// to be compiled, a binary with them runs the test instead.
func eachEdited(t *testing.T, do func(t *testing.T, m wrong.Mutant, rung ladder.Rung,
	build lock.Build)) {
	t.Helper()
	asked, mutants := edited()
	require.NotEmpty(t, mutants, "no rung with a mistake has the name that -run asks for")
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	files := map[string]string{} // to compile
	for i, m := range mutants {
		if needsCompiler(m) && compiled[m.Name] == nil {
			require.NoError(t, compile(files, root, fmt.Sprintf("m%02d", i), m))
		}
	}
	if len(files) > 0 {
		out, err := runWith(t, files, root, "^"+t.Name()+"$/"+asked)
		require.NoError(t, err, "with the mutants compiled into it this test fails:\n%s", out)
		t.Logf("%s", out)
		return
	}
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			rung := locktest.Find(t, m.Rung)
			build := compiled[m.Name]
			if build == nil {
				build = exercise.WithScripts(rung.Build, scripts(t, m, root))
			}
			do(t, m, rung, build)
		})
	}
}

// judged is what a scenario says of a lock, for a pair of "scenario: invariant".
func judged(t *testing.T, build lock.Build, pair string,
	options ...scenarios.Option) scenarios.Result {
	t.Helper()
	scenario, invariant, _ := strings.Cut(pair, ": ")
	results, err := scenarios.RunOne(t, scenario, build, options...)
	require.NoError(t, err, "the mutant must get so far that %s can be judged", pair)
	for _, r := range results {
		if r.Invariant == invariant {
			return r
		}
	}
	return scenarios.Result{}
}

// needsCompiler says whether a mutant is more than its rung with other scripts.
func needsCompiler(m wrong.Mutant) bool {
	return slices.ContainsFunc(m.Edits, func(e wrong.Edit) bool {
		return path.Ext(e.File) == ".go"
	})
}

// scripts are those of a mutant that is its rung with other scripts.
func scripts(t *testing.T, m wrong.Mutant, root string) fstest.MapFS {
	t.Helper()
	source, err := m.Files(root)
	require.NoError(t, err)
	edited := fstest.MapFS{}
	for _, e := range m.Edits {
		edited[e.File] = &fstest.MapFile{Data: []byte(source[e.File])}
	}
	return edited
}

// compiled are the mutants that this test binary has, by their names.
var compiled = map[string]lock.Build{}

// compiling is a file that adds one, made of its package, its name and what builds it.
const compiling = `package scenarios_test

import (
	"github.com/lockladder/lockladder/lock"
	%[1]s "github.com/lockladder/lockladder/scenarios/mutants/%[1]s"
)

func init() { compiled[%[2]q] = lock.%[3]s(%[1]s.New) }
`

// compile adds the files of a mutant, as a package below this one.
func compile(files map[string]string, root, name string, m wrong.Mutant) error {
	source, err := m.Files(root)
	if err != nil {
		return err
	}
	here := "scenarios/mutants/" + name
	for file, content := range source {
		files[filepath.Join(root, filepath.FromSlash(here+"/"+file))] = strings.ReplaceAll(
			content, module+"/reentrant/internal", module+"/"+here+"/internal")
	}
	on := "On"
	if m.Rung == "redlock" {
		on = "OnAll"
	}
	files[filepath.Join(root, "scenarios", name+"_test.go")] = fmt.Sprintf(compiling, name,
		m.Name, on)
	return nil
}

// runWith compiles this test binary once more, with other files, and runs a test of it.
// Nothing is written into the module: an overlay shows the files to the compiler.
func runWith(t *testing.T, files map[string]string, root, test string) (out []byte, err error) {
	t.Helper()
	dir := t.TempDir()
	overlay, err := wrong.Overlay(dir, files)
	require.NoError(t, err)
	binary := filepath.Join(dir, "mutants.exe")
	build := exec.Command("go", "test", "-c", "-vet=off", "-o", binary,
		"-gcflags="+module+"/scenarios/mutants/...=-N -l", // compiled sooner
		"-ldflags=-s -w", // and linked
		"-overlay", overlay, "./scenarios")
	build.Dir = root
	out, err = build.CombinedOutput()
	require.NoError(t, err, "the mutants do not compile:\n%s", out)
	return exec.Command(binary, "-test.run="+test, "-test.timeout=2h",
		fmt.Sprintf("-test.v=%v", testing.Verbose()),
		fmt.Sprintf("-swarm.worlds=%d", enough())).CombinedOutput()
}

// A scenario that no rung breaks could be one that nothing can break.
func TestWrongLocksBreakWhatNoRungBreaks(t *testing.T) {
	locktest.Long(t, "it runs a scenario of every mutant")
	for _, m := range wrong.All {
		if m.Build == nil {
			continue
		}
		for _, pair := range slices.Concat(m.Killers, m.Spares) {
			breaks := slices.Contains(m.Killers, pair)
			t.Run(fmt.Sprintf("%s: %s: %v", m.Name, pair, breaks), func(t *testing.T) {
				r := judged(t, m.Build(), pair, scenarios.Nodes(max(m.Nodes, 1)))
				assert.Equal(t, breaks, r.Verdict == scenarios.Breaks, r.Event)
			})
		}
	}
}

// An invariant that no rung breaks needs a mutant that breaks it.
func TestEveryInvariantIsBrokenBySomething(t *testing.T) {
	var broken []string
	for _, rung := range ladder.Rungs {
		for _, flaw := range rung.Flaws {
			broken = append(broken, flaw.Scenario+": "+flaw.Invariant)
		}
	}
	for _, m := range wrong.All {
		broken = append(broken, m.Killers...)
		assert.False(t, m.Killers == nil && m.Row == "" && m.Walk == nil && m.Says == "",
			"nothing kills the mutant %q", m.Name)
	}
	for _, scenario := range scenarios.Catalogue {
		for _, invariant := range scenario.Invariants {
			assert.True(t, slices.Contains(broken,
				scenario.Name+": "+invariant), "no rung and no mutant breaks"+
				" %s: %s (see step 2 of a new scenario in CONTRIBUTING.md)",
				scenario.Name, invariant)
		}
	}
}
