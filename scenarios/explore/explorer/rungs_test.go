package main

import (
	"flag"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios/explore"
)

var all = flag.Bool("all", false, "walk every row of docs/explorer.md, not only"+
	" those that take no time")

// brief says that only what takes no time is walked: with -short, and under the
// race detector, which makes everything ten times as long.
func brief() bool { return testing.Short() || locktest.Race }

func TestThreeClients(t *testing.T) {
	if !*all {
		t.Skip("go test ./scenarios/explore/explorer -run Three -timeout 1h -all")
	}
	var rows []row
	for _, name := range []string{"gold", "diamond", "platinum"} {
		r := row{rung: locktest.Find(t, name), family: "three clients", quick: true}
		r.bounds = rungBounds(r.rung)
		r.bounds.Clients, r.bounds.Expiries, r.bounds.Crashes = 3, 1, 1
		r.bounds.Programs = []explore.Program{explore.Once}
		r.breaks = expected(t, r.rung) // a third client breaks nothing that two can't
		rows = append(rows, r)
	}
	table := table{part: "three", columns: "| rung | program |"}
	table.walk(t, rows, breaksWhatItsRowSays)
}

// once is what the standard row of a rung breaks with the program that locks once; a
// rung that is not named breaks what its parent does. Nobody has told the explorer.
var once = map[string][]explore.Invariant{
	"bronze": {explore.Orphaned},
	"silver": {explore.Orphaned, explore.ForeignRelease, explore.TwoHolders,
		explore.LostUpdate, explore.StaleWrite, explore.FalseSuccess},
	"silver/timestamp": {explore.ForeignRelease, explore.TwoHolders,
		explore.LostUpdate, explore.SelfDeadlock, explore.StaleWrite,
		explore.FalseSuccess},
	"gold": {explore.ForeignRelease, explore.TwoHolders, explore.LostUpdate,
		explore.StaleWrite, explore.FalseSuccess},
	"diamond": {explore.TwoHolders, explore.LostUpdate, explore.StaleWrite,
		explore.FalseSuccess},
	"diamond/watchdog": {explore.TwoHolders, explore.LostUpdate,
		explore.StaleWrite},
	"reentrant/fenced": {explore.TwoHolders},
	"redlock": {explore.TwoHolders, explore.LostUpdate, explore.SelfDeadlock,
		explore.StaleWrite},
	"reentrant/readwrite": {explore.TwoHolders},
}

// expected is what a rung breaks.
func expected(t *testing.T, rung ladder.Rung) []explore.Invariant {
	t.Helper()
	for rung.Name != "" {
		if broken, ok := once[rung.Name]; ok {
			return broken
		}
		rung, _ = ladder.Find(rung.Parent)
	}
	t.Fatal("the explorer has been told nothing of this rung")
	return nil
}

// table is a table of the page that has a line for each row.
type table struct {
	part    string // its name
	run     string // what -run says to have it
	columns string // those before the invariants: rung, bounds and program
	omits   string // what the bounds of every row begin with
	judged  []explore.Invariant
}

// begins is what a row's line says in the columns before the invariants.
func (table table) begins(r row, report explore.Report) string {
	return strings.NewReplacer("rung", r.rung.Name,
		"bounds", strings.TrimPrefix(report.Bounds.String(), table.omits),
		"program", string(report.Walks[0].Program)).Replace(table.columns)
}

// walk walks every row to its end, looks at what was found, and compares the table
// with the page: a line for each row that was walked, or the whole, if all were. In
// that case it returns the findings of all rows.
func (table table) walk(t *testing.T, rows []row,
	look func(*testing.T, row, explore.Report)) []explore.Walk {
	t.Helper()
	lines, walks := make([]string, len(rows)), make([]explore.Walk, len(rows))
	t.Run("rungs", func(t *testing.T) {
		for i, row := range rows {
			t.Run(row.name(), func(t *testing.T) {
				if !row.quick && !*all {
					t.Skipf("go test ./scenarios/explore/explorer -run %s -all", table.run)
				}
				if brief() && row.slow {
					t.Skip("takes too long with -short or -race")
				}
				t.Parallel()
				start := time.Now()
				report := explore.Run(t, row.rung.Build, row.bounds)
				t.Logf("%v\n%s", time.Since(start), report)
				require.True(t, report.Exhausted())
				look(t, row, report)
				walk := report.Walks[0]
				walks[i].Found = walk.Found // the rest of it is large
				lines[i] = fmt.Sprintf("%s%s %v | %d |\n", table.begins(row, report),
					cells(report, table.judged), walk.Schedules(), walk.States)
			})
		}
	})
	if t.Failed() {
		return nil
	}
	if !slices.Contains(lines, "") { // else some were skipped, or -run asks for others
		generated.Compare(t, document, table.part,
			heading(table.columns, table.judged)+strings.Join(lines, ""))
		return walks
	}
	for _, line := range lines {
		if line != "" {
			maker, _ := generated.Find(document, table.part)
			assert.Contains(t, generated.Text(t, document, table.part), line,
				"docs/explorer.md is stale, run go run ./docs -generate "+maker.Name)
		}
	}
	return nil
}

// breaksWhatItsRowSays looks for the invariants of a row, and for no others.
func breaksWhatItsRowSays(t *testing.T, r row, report explore.Report) {
	for _, invariant := range explore.Invariants {
		_, found := report.Failure(invariant)
		assert.Equal(t, slices.Contains(r.breaks, invariant), found, invariant)
	}
}

// An invariant that a row breaks is broken again when its schedule is replayed by
// itself, with nothing inferred and nothing remembered.
func TestEveryRungBreaksWhatTheTableSays(t *testing.T) {
	locktest.Long(t, "it walks every row of the table")
	t.Parallel()
	rows := rows()
	table := table{part: "rows", run: "Table", columns: "| rung | bounds | program |",
		omits: "2 clients, ", judged: asking}
	walks := table.walk(t, rows, func(t *testing.T, r row, report explore.Report) {
		var broken []explore.Invariant
		for _, invariant := range explore.Invariants {
			f, found := report.Failure(invariant)
			if !found {
				continue
			}
			broken = append(broken, invariant)
			replayed := explore.Replay(t, r.rung.Build, r.bounds, f.Schedule)
			assert.True(t, breaks(replayed, invariant), "%s is not broken by %s:\n%s",
				invariant, f.Schedule, replayed.Timeline)
		}
		if r.family == "standard" && r.bounds.Programs[0] == explore.Once {
			assert.Equal(t, expected(t, r.rung), broken)
		}
	})
	if walks != nil {
		generated.Compare(t, document, "verdicts", verdicts(rows, walks))
	}
}

// breaks says whether a schedule has broken an invariant.
func breaks(replayed explore.Replayed, invariant explore.Invariant) bool {
	return slices.ContainsFunc(replayed.Broken, func(b explore.Breach) bool {
		return b.Invariant == invariant
	})
}

// verdicts is the table of rungs and invariants: the cheapest of all rows.
func verdicts(rows []row, walks []explore.Walk) string {
	var b strings.Builder
	fmt.Fprint(&b, "| rung |")
	for _, invariant := range asking {
		fmt.Fprintf(&b, " %s |", invariant)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat(":-:|", len(asking)))
	for _, rung := range ladder.Rungs {
		var whole explore.Report
		for i, row := range rows {
			if row.rung.Name == rung.Name {
				whole.Walks = append(whole.Walks, walks[i])
			}
		}
		fmt.Fprintf(&b, "| %s |%s\n", rung.Name, cells(whole, asking))
	}
	return b.String()
}

// heading is the head of a table that has a line for each row.
func heading(columns string, invariants []explore.Invariant) string {
	var b strings.Builder
	fmt.Fprint(&b, columns)
	for _, invariant := range invariants {
		fmt.Fprintf(&b, " %s |", invariant)
	}
	fmt.Fprintf(&b, " schedules | states |\n%s|%s--:|--:|\n",
		strings.Repeat("|---", strings.Count(columns, "|")-1),
		strings.Repeat(":-:|", len(invariants)))
	return b.String()
}

// cells are a report's verdicts, in the order of the invariants.
func cells(report explore.Report, invariants []explore.Invariant) string {
	var b strings.Builder
	for _, invariant := range invariants {
		if f, found := report.Failure(invariant); found {
			fmt.Fprintf(&b, " **%d+%d** |", f.Adversary, f.Steps)
		} else {
			fmt.Fprint(&b, " ✓ |")
		}
	}
	return b.String()
}

// A stress test runs schedules as they come. These are the shares of those that
// release a foreign lock, with two clients and one expiry.
func TestHowRarelyAScheduleReleasesAForeignLock(t *testing.T) {
	locktest.Long(t, "it walks three graphs")
	t.Parallel()
	var b strings.Builder
	fmt.Fprint(&b, "| rung | schedules | that release a foreign lock | share |"+
		" a random scheduler meets one in |\n|---|--:|--:|--:|--:|\n")
	for _, name := range []string{"gold", "platinum", "diamond"} {
		report := explore.Run(t, locktest.Find(t, name).Build, explore.Bounds{Expiries: 1,
			Programs: []explore.Program{explore.Once}})
		walk := report.Walks[0]
		all, failing := walk.Share(explore.ForeignRelease)
		share, _ := new(big.Rat).SetFrac(failing, all).Float64()
		chance := walk.Chance(explore.ForeignRelease)
		fmt.Fprintf(&b, "| %s | %v | %v | %.2f %% | %.2f %% of its runs |\n", name,
			all, failing, 100*share, 100*chance)
		if name == "platinum" {
			f := walk.Found[explore.ForeignRelease]
			generated.Compare(t, document, "report", generated.Fence("", report.String()))
			generated.Compare(t, document, "timeline", generated.Fence("", explore.Replay(t,
				locktest.Find(t, name).Build, explore.Bounds{}, f.Schedule).Timeline))
		}
	}
	generated.Compare(t, document, "share", b.String())
}

// The example on the page is the one that is tested.
func TestTheExampleOnThePageIsTheOneThatRuns(t *testing.T) {
	source, err := os.ReadFile("../own_lock_test.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "type myLock")
	require.True(t, found)
	generated.Compare(t, document, "own", generated.Fence("go", "type myLock"+code))
}

// document is the page whose generated parts are made here.
const document = "explorer.md"
