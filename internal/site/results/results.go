// Package results has the verdicts on locks in the scenarios, as the pages show
// them. Those on the locks of other modules are kept in docs/results, because
// running them takes minutes and needs servers.
package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios"
)

// Lock is what one lock did.
type Lock struct {
	Name string `json:"name"`

	// Verdicts are by "scenario: invariant".
	Verdicts map[string]scenarios.Verdict `json:"verdicts"`

	// NotRun says by scenario why the lock's servers can't take part in it.
	NotRun map[string]string `json:"not_run,omitempty"`

	// Run is the address of the run in which an invariant is broken; nil: none
	// is kept.
	Run func(scenario, invariant string) string `json:"-"`
}

// Of is what a lock did according to a report.
func Of(name string, report scenarios.Report) Lock {
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

// Read returns the locks of docs/results/NAME.json; root is the module.
func Read(root fs.FS, name string) ([]Lock, error) {
	file := "docs/" + generated.Results(name)
	content, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	locks, err := Decode(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return locks, nil
}

// Decode reads what Encode wrote.
func Decode(content []byte) (locks []Lock, err error) {
	return locks, json.Unmarshal(content, &locks)
}

// Encode writes what locks did, as docs/results keeps it.
func Encode(locks []Lock) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	err := e.Encode(locks)
	return b.String(), err
}

// Compare holds docs/results/NAME.json against what the locks just did, or
// gives it to the generator that runs the test. In real time it may depend on
// the machine whether a scenario arises: a lock that holds where nothing arose
// before, or the other way round, does not make the file stale. When -run names
// a few scenarios, only these are compared.
func Compare(t testing.TB, name string, locks ...Lock) {
	t.Helper()
	text, err := Encode(locks)
	if err != nil {
		t.Fatal(err)
	}
	if whole(locks) && generated.Deliver(t, generated.Results(name), "", text) {
		return
	}
	kept, err := Decode([]byte(generated.Text(t, generated.Results(name), "")))
	if err != nil {
		t.Fatal(err)
	}
	if stale := Differences(kept, locks); stale != "" {
		t.Errorf("docs/%s is stale, run go run ./docs -generate %s:\n%s",
			generated.Results(name), name, stale)
	}
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

// whole says whether every scenario was run against every lock.
func whole(locks []Lock) bool {
	return !slices.ContainsFunc(locks, func(l Lock) bool { return l.Missing() != nil })
}

// Differences has a line for each verdict and each reason that is not the kept
// one.
func Differences(kept, locks []Lock) string {
	var b bytes.Buffer
	if len(kept) != len(locks) {
		return fmt.Sprintf("%d locks are kept, there are %d\n", len(kept),
			len(locks))
	}
	for i, lock := range locks {
		if lock.Name != kept[i].Name {
			fmt.Fprintf(&b, "%s is kept, there is %s\n", kept[i].Name, lock.Name)
			continue
		}
		for invariant, verdict := range lock.Verdicts {
			was := kept[i].Verdicts[invariant]
			if verdict != was && !(harmless(verdict) && harmless(was)) {
				fmt.Fprintf(&b, "%s, %s: %q is kept, it is %q\n", lock.Name,
					invariant, was, verdict)
			}
		}
		if whole(locks) && (len(lock.Verdicts) != len(kept[i].Verdicts) ||
			!maps.Equal(lock.NotRun, kept[i].NotRun)) {
			fmt.Fprintf(&b, "%s has other scenarios, or other reasons why some"+
				" can't be run\n", lock.Name)
		}
	}
	return b.String()
}

// harmless says that nothing broke.
func harmless(v scenarios.Verdict) bool {
	return v == scenarios.Holds || v == scenarios.DoesNotArise
}

// signs are the verdicts in the tables.
var signs = map[scenarios.Verdict]string{
	scenarios.Breaks:       "**✗**",
	scenarios.Holds:        "✓",
	scenarios.DoesNotArise: "·",
	scenarios.NotOffered:   "–",
	scenarios.CannotRun:    "?",
}

// Table has a column for each lock and a line for each invariant that a scenario lists
// or a lock breaks there. So many of its first columns are left-aligned.
func Table(left int, locks []Lock) string {
	head := []string{"scenario", "invariant"}
	for _, lock := range locks {
		head = append(head, lock.Name)
	}
	var rows [][]string
	for _, s := range scenarios.Catalogue {
		for i, invariant := range s.Judged() {
			row := []string{s.Name, invariant}
			if i >= len(s.Invariants) && !slices.ContainsFunc(locks, func(l Lock) bool {
				return l.Verdicts[s.Name+": "+invariant] == scenarios.Breaks
			}) {
				continue
			}
			for _, lock := range locks {
				row = append(row, lock.sign(s, invariant))
			}
			rows = append(rows, row)
		}
	}
	return generated.Table(left, head, rows)
}

// Worst has a column for each lock and a line for each of the given scenarios, with the
// worst of its verdicts.
func Worst(shown []scenarios.Scenario, locks []Lock) string {
	head := []string{"scenario"}
	for _, lock := range locks {
		head = append(head, lock.Name)
	}
	var rows [][]string
	for _, s := range shown {
		row := []string{fmt.Sprintf("**%s**. %s", s.Name, s.Summary)}
		for _, lock := range locks {
			row = append(row, lock.worst(s))
		}
		rows = append(rows, row)
	}
	return generated.Table(1, head, rows)
}

// worst is the sign of an invariant that breaks, or else of one that holds.
func (l Lock) worst(s scenarios.Scenario) string {
	for _, verdict := range []scenarios.Verdict{scenarios.Breaks, scenarios.Holds} {
		for _, invariant := range s.Invariants {
			if l.Verdicts[s.Name+": "+invariant] == verdict {
				return l.sign(s, invariant)
			}
		}
	}
	return l.sign(s, s.Invariants[0])
}

// sign is a verdict in a table. It leads to the run that breaks, where one is kept.
func (l Lock) sign(s scenarios.Scenario, invariant string) string {
	verdict := cmp.Or(l.Verdicts[s.Name+": "+invariant], l.best(s))
	if l.Run != nil && verdict == scenarios.Breaks {
		return fmt.Sprintf("[%s](%s)", signs[verdict], l.Run(s.Name, invariant))
	}
	return signs[verdict]
}

// best is the verdict on an invariant that a scenario doesn't list, of a lock that has
// not broken it there: it holds if any that is listed could be judged.
func (l Lock) best(s scenarios.Scenario) (best scenarios.Verdict) {
	for _, invariant := range s.Invariants {
		switch v := l.Verdicts[s.Name+": "+invariant]; {
		case v == scenarios.Breaks || v == scenarios.Holds:
			return scenarios.Holds
		default:
			best = v
		}
	}
	return best
}

// NotRun is a line for each scenario that some lock's servers can't take part
// in.
func NotRun(locks []Lock) string {
	var b strings.Builder
	for _, s := range scenarios.Catalogue {
		last := ""
		for _, lock := range locks {
			why, notRun := lock.NotRun[s.Name]
			line := fmt.Sprintf("- `%s`: %s.\n", s.Name, why)
			if notRun && line != last {
				b.WriteString(line)
				last = line
			}
		}
	}
	return b.String()
}
