package scenarios_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// The digests are the same on every machine, with any number of processors and however busy they
// are: their timelines were recorded in an order that package order alone decides.
func TestEveryRungBreaksWhatTheLadderDeclaresWithTheSameTimelineEverywhere(t *testing.T) {
	if !*generated.Update {
		locktest.WhenNamed(t, "it takes ten seconds: go test ./scenarios -run SameTimeline")
	}
	digests := make([]string, len(ladder.Rungs))
	reports := make([]scenarios.Report, len(ladder.Rungs))
	t.Run("rungs", func(t *testing.T) {
		for i, rung := range ladder.Rungs {
			t.Run(rung.Name, func(t *testing.T) {
				t.Parallel()
				report := scenarios.Run(t, rung.Build, append(
					locktest.Options(rung), scenarios.Worlds(0, 0))...)
				fits(t, report)
				digests[i] = digest(rung.Name, report)
				reports[i] = report
			})
		}
	})
	if t.Failed() { // a digest of half a run says nothing
		t.Log("the timelines were neither compared nor recorded. If what breaks above" +
			" is meant, declare it first: in internal/flaws/flaws.go, in the table" +
			", in the order of the catalogue.\n" + rows(reports))
		return
	}
	golden := filepath.Join("testdata", "timelines.sha256")
	got := strings.Join(digests, "")
	if *generated.Update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "every flaw is declared, and a scenario is new or"+
		" went another way than the one whose digest is in %s; if that is meant, run"+
		" with -update", golden)
}

// digest is a line that stands for all timelines of a rung, and for what a timeline
// shows of each entry: two reports with the same line went the same way, to the byte.
func digest(rung string, report scenarios.Report) string {
	sum := sha256.New()
	for _, r := range report {
		fmt.Fprintf(sum, "%s: %s\n%s\n", r.Scenario, r.Invariant, r.Timeline)
		for _, e := range r.Sequence {
			fmt.Fprintf(sum, "%+v\n", columns{e.At, e.Client, e.Node, e.Text, e.Reply,
				e.Command, e.Owner, e.Inside})
		}
	}
	return fmt.Sprintf("%x  %s\n", sum.Sum(nil), rung)
}

// columns are what a timeline shows of an entry.
type columns struct {
	At     time.Duration
	Client string
	Node   int
	Text   string
	Reply  string

	Command string
	Owner   string
	Inside  []string
}

// fits holds what a test prints against a terminal of 80 columns, of which go test takes
// 12. Every scenario says once what happens in it.
func fits(t *testing.T, report scenarios.Report) {
	texts := []string{report.Failures()}
	for _, r := range report {
		texts = append(texts, r.Timeline)
	}
	for line := range strings.Lines(strings.Join(texts, "\n")) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 68, line)
	}
	printed := strings.Join(strings.Fields(texts[0]), " ")
	for _, s := range scenarios.Catalogue {
		said := strings.Count(printed, s.Summary)
		assert.LessOrEqual(t, said, 1, "%s is described %d times", s.Name, said)
		assert.NotEmpty(t, scenarios.InShort(s.Name), "catalogue.txt lacks %s", s.Name)
	}
}

// rows are those of the ladder's table of flaws for the scenarios in which a rung
// does something else than the table says.
func rows(reports []scenarios.Report) string {
	var text strings.Builder
	for _, s := range scenarios.Catalogue {
		var keys []string
		invariants := map[string][]string{} // by the rungs that break them
		differs := false
		for _, invariant := range s.Judged() {
			var rungs []string
			for i, rung := range ladder.Rungs {
				broken := reports[i].Verdict(s.Name, invariant) == scenarios.Breaks
				declared := slices.Contains(rung.Flaws,
					lock.Flaw{Scenario: s.Name, Invariant: invariant})
				differs = differs || broken != declared
				if broken {
					rungs = append(rungs, rung.Name)
				}
			}
			key := strings.Join(rungs, " ")
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
			invariants[key] = append(invariants[key], invariant)
		}
		for _, key := range keys {
			if differs && key != "" {
				fmt.Fprintf(&text, "\t{%q,\n\t\t%q},\n",
					s.Name+": "+strings.Join(invariants[key], ", "), key)
			}
		}
	}
	return text.String()
}

// What a run prints to declare must pass when it is declared, whatever it follows from.
func TestARunPassesWhenAllThatItHasBrokenIsDeclared(t *testing.T) {
	var broken []lock.Flaw
	for _, name := range []string{"late_grant", "overrun_overlap", "hung_worker"} {
		results, err := scenarios.RunOne(t, name, buildMyLock)
		require.NoError(t, err)
		for _, r := range results {
			if r.Verdict == scenarios.Breaks {
				broken = append(broken, lock.Flaw{Scenario: name, Invariant: r.Invariant})
			}
		}
	}
	follows := lock.Flaws("late_grant: false success")
	require.NotContains(t, broken, follows[0], "it follows from another break of the same scenario")
	scenarios.Run(t, buildMyLock, scenarios.Flaws(append(broken, follows...)...),
		scenarios.Only("late_grant", "overrun_overlap", "hung_worker"))
}

// Attempts are counted, and not commands: this one makes 33 a second, of three each.
func TestALockMaySendSeveralCommandsForAnAttempt(t *testing.T) {
	results, err := scenarios.RunOne(t, "prompt_answers",
		wrong.Beside(0, "STRLEN", "lock:stock")(buildMyLock))
	require.NoError(t, err)
	assert.Equal(t, scenarios.Holds, scenarios.Report(results).Verdict("prompt_answers",
		scenarios.BusyWaiting))
}
