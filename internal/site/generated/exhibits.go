package generated

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/site"
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

// keep keeps what a lock did. The command lets the assertions of a scenario through.
func (g *Generator) keep(lock, command string, report scenarios.Report) {
	g.commands[lock] = command
	for _, r := range report {
		name := lock + "/" + r.Scenario
		g.did[name] = append(g.did[name], r)
	}
}

// find returns what a lock breaks in a scenario: "gold/overrun_release". After ": " the
// name may say which invariant is meant, and then its run is shown also when it holds:
// "reentrant/fenced/failover: stale write".
func (g *Generator) find(name string) (found scenarios.Report, err error) {
	scenario, invariant, one := strings.Cut(name, ": ")
	for _, r := range g.did[scenario] {
		if one && r.Invariant == invariant || !one && r.Verdict == scenarios.Breaks {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no flaw is called %q", name)
	}
	return found, nil
}

// red is a command, and what the test prints of the assertions that it lets through,
// without the lines of go test around it.
func (g *Generator) red(name string) (string, error) {
	found, err := g.find(name)
	if err != nil {
		return "", err
	}
	lock, _, _ := strings.Cut(name, "/"+found[0].Scenario)
	return Fence("console", fmt.Sprintf("$ "+g.commands[lock]+"\n",
		found[0].Scenario)+found.Failures()), nil
}

// gold is what the README shows of a failing run: nine lines of its table, up to the
// first break.
func (g *Generator) gold(string) (string, error) {
	found, err := g.find("gold/overrun_release")
	if err != nil {
		return "", err
	}
	_, rows, _ := strings.Cut(found.Failures(), "by    by\n")
	return Fence("", strings.Join(strings.SplitAfterN(rows, "\n", 10)[:9], "")), nil
}

func (g *Generator) sequence(name string) (string, error) {
	found, err := g.find(name)
	if err != nil {
		return "", err
	}
	text, err := site.Sequence(found[0])
	return Fence("mermaid", text), err
}
