package scenarios_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

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

var mutantsDir = flag.String("mutants", "", "run the mutants of this directory's plan in"+
	" TestMutantsInADirectory")

// notJudged stands for the verdict on an invariant that has none.
const notJudged = "was not judged"

// fails stands for an invariant when the scenario itself fails.
const fails = "fails"

// edited are the mutants that are a rung with a mistake, and that scenarios kill:
// those that -run asks for, because each has to be compiled.
func edited() []wrong.Mutant {
	_, asked, _ := strings.Cut(flag.Lookup("test.run").Value.String(), "/")
	asked, _, _ = strings.Cut(asked, "/")
	named := regexp.MustCompile(strings.ReplaceAll(asked, " ", "_"))
	return slices.DeleteFunc(slices.Clone(wrong.All),
		func(m wrong.Mutant) bool {
			return m.Rung == "" || m.Killers == nil ||
				!named.MatchString(strings.ReplaceAll(m.Name, " ", "_"))
		})
}

// Every mutant is killed by the scenario that was written for its mistake. With
// -v each is run through all scenarios, and all that kill it are named.
func TestEveryMutantIsKilled(t *testing.T) {
	locktest.Long(t, "it compiles every mutant")
	t.Parallel()
	require.NotEmpty(t, edited(), "no rung with a mistake has the name that -run asks for")
	judged := runMutants(t, testing.Verbose())
	for _, m := range edited() {
		t.Run(m.Name, func(t *testing.T) {
			rung := locktest.Find(t, m.Rung)
			killer := m.Killers[0]
			scenario, invariant, _ := strings.Cut(killer, ": ")
			killing, err := scenarios.Find(scenario)
			require.NoError(t, err)
			require.Contains(t, killing.Judged(), invariant, "the killer %q is no"+
				" invariant of a scenario", killer)
			control := judged.find(m.Rung, scenario, invariant)
			unharmed := []scenarios.Verdict{scenarios.Holds, scenarios.DoesNotArise}
			if !slices.Contains(killing.Invariants, invariant) {
				unharmed = append(unharmed, notJudged) // it has a result where it breaks
			}
			require.Contains(t, unharmed, control.Verdict,
				"the rung itself breaks %s or fails: %s", killer, control.Event)
			killed := judged.find(m.Name, scenario, invariant)
			require.NotEqual(t, fails, string(killed.Verdict), "%s fails before it can"+
				" judge %s; the mutant must get that far: %s", scenario, invariant,
				killed.Event)
			if assert.Equal(t, scenarios.Breaks, killed.Verdict,
				"it lives through %s %s", killer, killed.Event) {
				t.Logf("killed by %s\n%s", killer, killed.Event)
			}
			alone := testing.Verbose() // or nothing else was run
			for _, v := range judged {
				if v.Mutant != m.Name || v.key() == killer {
					continue
				}
				known := slices.Contains(rung.Flaws, lock.Flaw{
					Scenario: v.Scenario, Invariant: v.Invariant})
				if (v.Verdict == scenarios.Breaks) != known {
					alone = false
					t.Logf("also %s: %s %s", v.key(), v.Verdict, v.Event)
				}
			}
			if alone {
				t.Log("nothing else kills it")
			}
		})
	}
}

// controls are the rungs without a mistake, under their own names.
func controls() []wrong.Mutant {
	var rungs []wrong.Mutant
	for _, m := range edited() {
		if !slices.ContainsFunc(rungs, func(c wrong.Mutant) bool {
			return c.Rung == m.Rung
		}) {
			rungs = append(rungs, wrong.Mutant{Name: m.Rung, Rung: m.Rung})
		}
	}
	return rungs
}

// verdict is what one scenario says of a mutant.
type verdict struct {
	Mutant, Scenario, Invariant, Event string
	Verdict                            scenarios.Verdict
}

func (v verdict) key() string { return v.Scenario + ": " + v.Invariant }

type verdicts []verdict

func (all verdicts) find(mutant, scenario, invariant string) verdict {
	for _, v := range all {
		if v.Mutant == mutant && v.Scenario == scenario &&
			(v.Invariant == invariant || v.Verdict == fails) {
			return v
		}
	}
	return verdict{Verdict: notJudged}
}

// runMutants compiles the mutants into this test binary, which runs them through their
// scenarios in a process of its own: the killer's, or the whole catalogue. A mistake in
// a script alone needs no compiler: the rung is given the script. Nothing is written
// into the module: an overlay shows the mutants to the compiler as packages of it.
func runMutants(t *testing.T, catalogue bool) verdicts {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	files := map[string]string{}
	show := func(path, content string) {
		files[filepath.Join(root, filepath.FromSlash(path))] = content
	}

	var plan []planned
	for i, m := range slices.Concat(edited(), controls()) {
		p := planned{Package: fmt.Sprintf("m%02d", i), Name: m.Name, Rung: m.Rung}
		for _, other := range edited() {
			scenario, _, _ := strings.Cut(other.Killers[0], ": ")
			if (other.Name == m.Name || other.Rung == m.Name) &&
				!slices.Contains(p.Scenarios, scenario) {
				p.Scenarios = append(p.Scenarios, scenario)
			}
		}
		if catalogue {
			p.Scenarios = nil
			for _, s := range scenarios.Catalogue {
				p.Scenarios = append(p.Scenarios, s.Name)
			}
		}
		source, err := m.Files(root)
		require.NoError(t, err)
		p.Compiled = slices.ContainsFunc(m.Edits, func(e wrong.Edit) bool {
			return path.Ext(e.File) == ".go"
		})
		if p.Compiled {
			here := "scenarios/mutants/" + p.Package
			for name, content := range source {
				show(here+"/"+name, strings.ReplaceAll(content,
					module+"/reentrant/internal", module+"/"+here+"/internal"))
			}
			on := "On"
			if p.Rung == "redlock" {
				on = "OnAll"
			}
			show("scenarios/"+p.Package+"_test.go", fmt.Sprintf(compiling, p.Package, on))
		} else {
			scripts := filepath.Join(dir, p.Package)
			require.NoError(t, os.Mkdir(scripts, 0o700))
			for _, e := range m.Edits {
				require.NoError(t, os.WriteFile(filepath.Join(scripts, e.File),
					[]byte(source[e.File]), 0o600))
			}
		}
		plan = append(plan, p)
	}
	overlay, err := wrong.Overlay(dir, files)
	require.NoError(t, err)
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plan.json"), text, 0o600))

	binary := filepath.Join(dir, "mutants.exe")
	build := exec.Command("go", "test", "-c", "-vet=off", "-o", binary,
		"-gcflags="+module+"/scenarios/mutants/...=-N -l", // compiled sooner
		"-ldflags=-s -w", // and linked
		"-overlay", overlay, "./scenarios")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "the mutants do not compile:\n%s", out)
	run := exec.Command(binary, "-test.run=^TestMutantsInADirectory$",
		"-test.timeout=5m", "-mutants="+dir)
	run.Dir = dir
	out, err = run.CombinedOutput()
	require.NoError(t, err, "the mutants' run ends with:\n%s", out)

	var judged verdicts
	report, err := os.ReadFile(filepath.Join(dir, "verdicts.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(report, &judged))
	return judged
}

// planned is a mutant as that process knows it.
type planned struct {
	Package, Name, Rung string
	Compiled            bool // else it is its rung with the scripts in a directory
	Scenarios           []string
}

// compiled are the mutants that this test binary has, by their packages.
var compiled = map[string]lock.Build{}

// compiling is a file that adds one, made of its package and of what builds it.
const compiling = `package scenarios_test

import (
	"github.com/lockladder/lockladder/lock"
	%[1]s "github.com/lockladder/lockladder/scenarios/mutants/%[1]s"
)

func init() { compiled[%[1]q] = lock.%[2]s(%[1]s.New) }
`

// TestMutantsInADirectory runs the mutants of a plan through their scenarios. It never
// fails: the test that reads a verdict says what it means.
func TestMutantsInADirectory(t *testing.T) {
	if *mutantsDir == "" {
		t.Skip("it is run by TestEveryMutantIsKilled")
	}
	var plan []planned
	text, err := os.ReadFile(filepath.Join(*mutantsDir, "plan.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &plan))
	var judged verdicts
	var mu sync.Mutex
	t.Run("", func(t *testing.T) {
		for _, m := range plan {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				rung := locktest.Find(t, m.Rung)
				build := compiled[m.Package]
				if build == nil {
					build = exercise.WithScripts(rung.Build,
						os.DirFS(filepath.Join(*mutantsDir, m.Package)))
				}
				for _, name := range m.Scenarios {
					results, err := scenarios.RunOne(t, name, build,
						locktest.Options(rung)...)
					if err != nil {
						results = []scenarios.Result{{Event: err.Error(), Verdict: fails}}
					}
					mu.Lock()
					for _, r := range results {
						judged = append(judged, verdict{m.Name, name, r.Invariant,
							r.Event, r.Verdict})
					}
					mu.Unlock()
				}
			})
		}
	})
	text, err = json.Marshal(judged)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(*mutantsDir, "verdicts.json"), text,
		0o600))
}

// A scenario that no rung breaks could be one that nothing can break.
func TestWrongLocksBreakWhatNoRungBreaks(t *testing.T) {
	locktest.Long(t, "it runs a scenario of every mutant")
	for _, m := range wrong.All {
		if m.Build == nil {
			continue
		}
		for _, pair := range m.Killers {
			t.Run(m.Name+" breaks "+pair, func(t *testing.T) {
				scenario, invariant, _ := strings.Cut(pair, ": ")
				results, err := scenarios.RunOne(t, scenario, m.Build(),
					scenarios.Nodes(max(m.Nodes, 1)))
				require.NoError(t, err)
				verdict := scenarios.Report(results).Verdict(scenario, invariant)
				assert.Equal(t, scenarios.Breaks, verdict)
			})
		}
		for _, pair := range m.Spares {
			t.Run(m.Name+" does not break "+pair, func(t *testing.T) {
				scenario, invariant, _ := strings.Cut(pair, ": ")
				results, err := scenarios.RunOne(t, scenario, m.Build(),
					scenarios.Nodes(max(m.Nodes, 1)))
				require.NoError(t, err)
				assert.NotEqual(t, scenarios.Breaks,
					scenarios.Report(results).Verdict(scenario, invariant))
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
		assert.False(t, m.Killers == nil && m.Row == "" && m.Walk == nil &&
			m.Soak == nil && m.Says == "", "nothing kills the mutant %q", m.Name)
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
