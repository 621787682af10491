// Package locktest is the harness of the tests of locks. Rung runs a rung through the
// scenarios, as a user would run a lock of his own:
//
//	var red = locktest.RedFlag("^TestScenarios$")
//
//	func TestScenarios(t *testing.T) { locktest.Rung(t, "gold", red) }
//
// Run has several owners of a lock act in the lab, in one process or in several. A test
// says in one line what an owner does and when. A1 is the first owner in the process A.
// Nothing happens before Play, or Serves, which starts all scripts:
//
//	s.Owner("A1").Section(3 * time.Second)
//	s.Owner("B1").At(time.Second).Tries(false)
//	s.Owner("C1").At(2 * time.Second).Locks().Since(3*time.Second + tie).Unlocks()
//	s.Serves("A1", "C1")
//
// A lock that has a queue is also run by RunScripts, which looks at the keys that its
// scripts leave at the server, and by Processes.
package locktest

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Rung is Scenarios in a process that takes little of the machine: the test of a rung.
func Rung(t *testing.T, name string, red *Red) {
	t.Helper()
	CollectLess()
	OneProcessor()
	report := Scenarios(t, name, red.Options(t, Find(t, name).Flaws)...)
	if flaws.IsStep(name) && named() == "" {
		assert.Equal(t, name, report.Grade().Rung, "its own grade")
	}
}

// Scenarios runs every scenario against a rung, with its flaws as the ladder
// declares them.
func Scenarios(t *testing.T, name string, more ...scenarios.Option) scenarios.Report {
	t.Helper()
	rung := Find(t, name)
	return scenarios.Run(t, rung.Build, append(Options(rung), more...)...)
}

// Find is the rung of that name. Without one the test ends.
func Find(t testing.TB, name string) ladder.Rung {
	t.Helper()
	rung, err := ladder.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return rung
}

// Options is what the scenarios must know of a rung.
func Options(rung ladder.Rung) []scenarios.Option {
	options := []scenarios.Option{
		scenarios.Nodes(rung.Nodes),
		scenarios.Flaws(rung.Flaws...),
	}
	if !rung.Renews {
		options = append(options, scenarios.WithoutFeatures(scenarios.Renewal))
	}
	switch rung.Name {
	case "silver/timestamp":
		options = append(options, scenarios.LeaseInValue(Deadline))
	case "diamond/fenced", "reentrant/fenced":
		options = append(options, scenarios.CountedTokens(),
			scenarios.Keeps(counter))
	case "reentrant/readwrite":
		options = append(options, scenarios.CountedTokens(),
			scenarios.Keeps(counter), scenarios.Readers(Readers))
	case "reentrant/cohort":
		options = append(options, scenarios.Keeps(counter))
	}
	return options
}

// counter is the key of a lock's fencing tokens.
func counter(key string) []string { return []string{lock.SecondKey(key, "token")} }

// Readers is the key of a read-write lock's readers.
func Readers(key string) string { return lock.SecondKey(key, "readers") }

// Deadline reads the value of a timestamp lock.
func Deadline(value string) (time.Time, bool) {
	ms, err := strconv.ParseInt(value, 10, 64)
	return time.UnixMilli(ms), err == nil
}
