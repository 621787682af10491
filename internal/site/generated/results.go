package generated

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/scenarios"
)

// Lock is what one lock did in the scenarios. What the locks of other modules did is kept
// in docs/results, because running them takes minutes and needs servers.
type Lock struct {
	Name string `json:"name"`

	// Verdicts are by "scenario: invariant".
	Verdicts map[string]scenarios.Verdict `json:"verdicts"`

	// NotRun says by scenario why the lock's servers can't take part in it.
	NotRun map[string]string `json:"not_run,omitempty"`
}

// Did is what a lock did according to a report.
func Did(name string, report scenarios.Report) Lock {
	l := Lock{Name: name, Verdicts: map[string]scenarios.Verdict{},
		NotRun: map[string]string{}}
	for _, r := range report {
		l.Verdicts[r.Scenario+": "+r.Invariant] = r.Verdict
		if r.Verdict == scenarios.CannotRun {
			l.NotRun[r.Scenario] = r.Event
		}
	}
	return l
}

// Grade is computed from the verdicts. A scenario that is newer than they are doesn't count.
func (l Lock) Grade() scenarios.Grade {
	verdicts := maps.Clone(l.Verdicts)
	for _, name := range l.Missing() {
		verdicts[name] = scenarios.CannotRun
	}
	return scenarios.GradeOf(verdicts)
}

// grades is a table of where those locks of docs/results/NAME.json stand whose names begin
// like that.
func grades(name, begins string) func(*Generator, string) (string, error) {
	return func(g *Generator, _ string) (string, error) {
		locks, err := Kept(g.root, name)
		var b strings.Builder
		fmt.Fprint(&b, "| lock | stands on | to reach the next | beyond its rung |\n|---|---|---|---|\n")
		for _, l := range locks {
			if !strings.HasPrefix(l.Name, begins) {
				continue
			}
			grade, next := l.Grade(), ""
			if len(grade.Next) > 0 {
				next = fmt.Sprintf("%s: %s", grade.Next[0].Rung, grade.Next[0].Asks())
			}
			fmt.Fprintf(&b, "| %s | **%s** | %s | %s |\n", l.Name, grade.Rung, next,
				strings.Join(grade.Beyond, ", "))
		}
		return b.String(), err
	}
}

// grade says where one lock of docs/results stands.
func (g *Generator) grade(name string) (string, error) {
	for _, file := range []string{"libraries", "programs"} {
		locks, err := Kept(g.root, file)
		if err != nil {
			return "", err
		}
		for _, l := range locks {
			if l.Name == name {
				return strings.Join(l.Grade().Sentences("`"+name+"`"), " ") + "\n", nil
			}
		}
	}
	return "", errUnknown
}

// Results is the file below docs with what the locks of a test did.
func Results(name string) string { return "results/" + name + ".json" }

// Kept returns the locks of docs/results/NAME.json; root is the module.
func Kept(root fs.FS, name string) (locks []Lock, err error) {
	content, err := fs.ReadFile(root, "docs/"+Results(name))
	if err == nil {
		err = json.Unmarshal(content, &locks)
	}
	if err != nil {
		return nil, fmt.Errorf("docs/%s: %w", Results(name), err)
	}
	return locks, nil
}

// CompareResults holds what the kept locks break against what they just broke, or writes
// docs/results/NAME.json. Whether another verdict is that nothing arose may depend on the
// machine. When -run names some scenarios, only these are compared.
func CompareResults(t testing.TB, name string, locks ...Lock) {
	t.Helper()
	if *Update && !slices.ContainsFunc(locks, func(l Lock) bool { return l.Missing() != nil }) {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "\t")
		if err := e.Encode(locks); err != nil {
			t.Fatal(err)
		}
		replace(t, Results(name), "", b.String())
		return
	}
	var kept []Lock
	if err := json.Unmarshal([]byte(Text(t, Results(name), "")), &kept); err != nil {
		t.Fatal(err)
	}
	assert.Equal(t, broken(kept, locks), broken(locks, locks),
		"docs/%s is stale, run go run ./docs -generate %s", Results(name), name)
}

// broken is what each lock breaks, of what others have verdicts of.
func broken(locks, others []Lock) map[string][]string {
	all := map[string][]string{}
	for i, lock := range locks {
		all[lock.Name] = []string{}
		for _, invariant := range slices.Sorted(maps.Keys(lock.Verdicts)) {
			if i < len(others) && others[i].Verdicts[invariant] != "" &&
				lock.Verdicts[invariant] == scenarios.Breaks {
				all[lock.Name] = append(all[lock.Name], invariant)
			}
		}
	}
	return all
}

// Missing are what the lock has no verdict of.
func (l Lock) Missing() (missing []string) {
	for _, s := range scenarios.Catalogue {
		for _, invariant := range s.Invariants {
			if name := s.Name + ": " + invariant; l.Verdicts[name] == "" {
				missing = append(missing, name)
			}
		}
	}
	return missing
}
