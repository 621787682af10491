package generated

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// code is declarations of a file: its name, and theirs.
func (g *Generator) code(argument string) (string, error) {
	words := strings.Fields(argument)
	source, err := g.source(words[0])
	if err != nil {
		return "", err
	}
	text, err := site.Extract(source, words[1:]...)
	return Fence("go", text), err
}

func (g *Generator) file(name string) (string, error) {
	source, err := g.source(name)
	return Fence(strings.TrimPrefix(path.Ext(name), "."), source), err
}

// diff is what a rung changes.
func (g *Generator) diff(name string) (string, error) {
	rung, err := ladder.Find(name)
	if err != nil {
		return "", err
	}
	was, err := g.source(rung.Parent + "/lock.go")
	is, failed := g.source(rung.Name + "/lock.go")
	if err = cmp.Or(err, failed); err != nil {
		return "", err
	}
	text, err := site.Diff(was, is, rung.Changes...)
	return Fence(fmt.Sprintf("diff %s/lock.go %s/lock.go", rung.Parent, rung.Name), text), err
}

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

// challenge is what a challenge of docs/challenges.md runs, and prints when it is passed.
func challenge(_ *Generator, number string) (string, error) {
	n, err := strconv.Atoi(number)
	all := scenarios.Challenges()
	if err != nil || n < 1 || n > len(all) {
		return "", errUnknown
	}
	c := all[n-1]
	var b strings.Builder
	fmt.Fprintf(&b, "\nWhen you are done, the check ends with\n\n    Challenge %d passed: your lock"+
		" stands on %s.\n\n", n, c.Rung)
	fmt.Fprint(&b, "It runs ")
	if above := flaws.Safety[n-1].Above; above >= 0 {
		fmt.Fprintf(&b, "what challenge %d ran, and ", above+1)
	}
	fmt.Fprint(&b, "these scenarios:\n\n")
	for _, name := range c.New {
		s, err := scenarios.Find(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "- **%s**. %s", s.Name, s.Summary)
		for _, f := range flaws.Of(c.Rung) {
			if f.Scenario == name {
				fmt.Fprintf(&b, " (%s breaks *%s* here, so it isn't counted.)", c.Rung, f.Invariant)
			}
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}
