package generated

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"testing"

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
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "\t")
		err := e.Encode(locks)
		if err == nil {
			err = write(Results(name), "", b.String())
		}
		if err != nil {
			t.Fatalf("write docs/%s: %v", Results(name), err)
		}
		return
	}
	var kept []Lock
	if err := json.Unmarshal([]byte(Text(t, Results(name), "")), &kept); err != nil {
		t.Fatal(err)
	}
	for _, difference := range differences(kept, locks) {
		t.Errorf("docs/%s is stale, run go run ./docs -generate %s: %s", Results(name),
			name, difference)
	}
}

// differences are what a lock breaks and has not broken, and the other way round.
func differences(kept, locks []Lock) (all []string) {
	names := func(locks []Lock) (names []string) {
		for _, l := range locks {
			names = append(names, l.Name)
		}
		return names
	}
	if is, was := names(locks), names(kept); !slices.Equal(is, was) {
		return []string{fmt.Sprintf("the locks are %q, and %q are kept", is, was)}
	}
	for i, lock := range locks {
		for invariant, verdict := range lock.Verdicts {
			was := kept[i].Verdicts[invariant]
			if (verdict == scenarios.Breaks) != (was == scenarios.Breaks) {
				all = append(all, fmt.Sprintf("%s, %s: %q is kept, it is %q", lock.Name,
					invariant, was, verdict))
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
