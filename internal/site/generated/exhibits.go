package generated

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Exhibit is a lock beside the ladder whose broken scenario a page shows.
type Exhibit struct {
	Name    string
	Command string // lets its assertions through; %s is the scenario's name
	Build   lock.Build
}

// find returns what a lock breaks in a scenario: "gold/overrun_release". After ": " the
// name may say which invariant is meant, and then its run is shown also when it holds:
// "reentrant/fenced/failover: stale write".
func (g *Generator) find(name string) (found scenarios.Report, err error) {
	run, invariant, one := strings.Cut(name, ": ")
	all, err := g.recordings.results(path.Dir(run), path.Base(run))
	for _, r := range all {
		if one && r.Invariant == invariant || !one && r.Verdict == scenarios.Breaks {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil, cmp.Or(err, fmt.Errorf("no flaw is called %q", name))
	}
	return found, nil
}

// red is a command, and what the test prints of the assertions that it lets through,
// without the lines of go test around it.
func (g *Generator) red(name string) (string, error) {
	found, err := g.find(name)
	lock, scenario := path.Split(name)
	command := "go test ./" + path.Clean(lock) + " -red=%s"
	for _, e := range g.recordings.exhibits {
		if e.Name == path.Clean(lock) {
			command = e.Command
		}
	}
	return Fence("console", fmt.Sprintf("$ "+command+"\n", scenario)+found.Failures()), err
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
