package locktest

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Red is the value of the flag -red of a package's tests: the name of the scenario that
// runs, alone, and whose known flaws fail the test; "all" for all of them.
type Red struct {
	tests string // those that run scenarios, as -run names them
	given bool
	name  string
}

// RedFlag defines -red. With it only the named tests run, unless -run names others.
func RedFlag(tests string) *Red {
	r := &Red{tests: tests}
	flag.Var(r, "red", "run this `scenario`, or all, and fail where the lock breaks it")
	return r
}

func (r *Red) String() string { return r.name }

// Set is called while the flags are parsed. Without it the tests of what isn't a scenario
// would run, too.
func (r *Red) Set(name string) error {
	r.given, r.name = true, name
	if named() != "" {
		return nil
	}
	return flag.Set("test.run", r.tests)
}

// bare is the name when there is none.
const bare = "true"

// IsBoolFlag lets a -red without a name through, so that Options can say what to type.
// Package flag would print the usage of every flag instead.
func (r *Red) IsBoolFlag() bool { return true }

// Options lets the failing assertions of the named scenario through. It ends the test
// when there is no such scenario. Flaws are what the lock breaks.
func (r *Red) Options(t *testing.T, flaws []lock.Flaw) []scenarios.Option {
	t.Helper()
	if !r.given {
		return nil
	}
	switch r.name {
	case "all":
		return []scenarios.Option{scenarios.Red(true)}
	case bare, "":
		if flag.NArg() > 0 {
			t.Fatalf("-red %s: write -red=%[1]s, with an equals sign", flag.Arg(0))
		}
		t.Fatalf("\n-red: which scenario? Write -red=all, or -red=NAME. This lock breaks\n%s",
			strings.Join(broken(flaws), "\n"))
	}
	if _, err := scenarios.Find(r.name); err != nil {
		t.Fatalf("\n%s\nThis lock breaks\n%s", strings.Join(terminal.Wrap("-red: "+err.Error(), terminal.Columns, 2), "\n"),
			strings.Join(broken(flaws), "\n"))
	}
	return []scenarios.Option{scenarios.Red(true), scenarios.Only(r.name)}
}

// broken are the scenarios of the flaws, each once.
func broken(flaws []lock.Flaw) []string {
	var names []string
	for _, f := range flaws {
		names = append(names, f.Scenario)
	}
	return slices.Compact(names)
}
