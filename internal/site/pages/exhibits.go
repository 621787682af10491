package pages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Exhibit is a lock beside the ladder whose broken scenario a page shows.
type Exhibit struct {
	Name    string
	Command string // lets its assertions through; %s is the scenario's name
	Build   lock.Build
	Flaw    string // "SCENARIO: INVARIANT, ..."
}

// report runs the scenario of the exhibit's flaw.
func (e Exhibit) report(t *testing.T) scenarios.Report {
	scenario, _, _ := strings.Cut(e.Flaw, ":")
	return scenarios.Run(t, e.Build, scenarios.Only(scenario),
		scenarios.Flaws(lock.Flaws(e.Flaw)...))
}

// exhibit is a scenario that a lock breaks.
type exhibit struct {
	name    string // "gold/overrun_release"
	command string
	result  scenarios.Result
}

// exhibit keeps what a lock broke.
func (g *Generator) exhibit(name, command string, report scenarios.Report) {
	for _, r := range report {
		if r.Verdict == scenarios.Breaks {
			g.exhibits = append(g.exhibits, exhibit{name + "/" + r.Scenario,
				fmt.Sprintf(command, r.Scenario), r})
		}
	}
}

// find returns what a scenario breaks. After ": " the name may say which invariant
// is meant: "reentrant/fenced/failover: stale write".
func (g *Generator) find(name string) ([]exhibit, error) {
	scenario, invariant, one := strings.Cut(name, ": ")
	var found []exhibit
	for _, e := range g.exhibits {
		if e.name == scenario && (!one || e.result.Invariant == invariant) {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no flaw is called %q", name)
	}
	return found, nil
}

// failures are what a test prints of them, without the lines of go test around it.
func failures(found []exhibit) string {
	var results scenarios.Report
	for _, e := range found {
		results = append(results, e.result)
	}
	return results.Failures()
}

func (g *Generator) red(name string) (string, error) {
	found, err := g.find(name)
	if err != nil {
		return "", err
	}
	return generated.Fence("console", "$ "+found[0].command+"\n"+
		failures(found)), nil
}

func (g *Generator) gold(string) (string, error) {
	found, err := g.find("gold/overrun_release")
	return generated.Fence("", failures(found)), err
}

func (g *Generator) sequence(name string) (string, error) {
	found, err := g.find(name)
	if err != nil {
		return "", err
	}
	text, err := site.Sequence(found[0].result)
	return generated.Fence("mermaid", text), err
}
